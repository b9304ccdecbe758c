#include "bounds/implicit/split.hpp"

#include <limits>
#include <vector>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::implicit {

Split::Split(const Problem& p) : Labels(p) {
  // Terms are sorted by (a, b), partners of an assignment too: those below it come first.
  Array<int> term_of(p.adj.size()), place[2];
  std::vector<int> next(p.adj_start.begin(), p.adj_start.end() - 1);
  for (std::size_t t = 0; t < p.terms.size(); ++t) term_of[next[p.terms[t].b]++] = static_cast<int>(t);
  for (std::size_t t = 0; t < p.terms.size(); ++t) term_of[next[p.terms[t].a]++] = static_cast<int>(t);
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
  for (const int which : {0, 1}) {
    place[which].resize(p.terms.size());
    side[which].build(p, which, local[which], term_of, place[which]);
  }
  link.resize(p.terms.size());
  for (std::size_t t = 0; t < p.terms.size(); ++t) link[place[0][t]] = place[1][t];
}

void Split::compact() {
  Array<int> moved[2];
  for (const int which : {0, 1}) {
    Side& s = side[which];
    std::vector<char> kept(s.u.size(), 0);
    for (int i = 0; i < s.n; ++i) kept[s.node_at[i] + s.labels[i] - 1] = 1;
    for (int a = 0; a < problem.size(); ++a)
      if (alive[a]) kept[at(which, a)] = 1;
    s.compact(kept, moved[which]);
    const std::vector<int>& start = which == 0 ? problem.row_start : problem.col_start;
    for (int i = 0; i < s.n; ++i) {
      int label = 0;
      for (int k = start[i]; k < start[i + 1]; ++k)
        if (const int a = which == 0 ? k : problem.col[k]; alive[a]) local[which][a] = label++;
    }
  }
  for (std::size_t k = 0; k < link.size(); ++k)
    if (moved[0][k] >= 0) link[moved[0][k]] = moved[1][link[k]];
  link.resize(side[0].entries.size());
}

void Side::compact(const std::vector<char>& kept, Array<int>& moved) {
  std::vector<int> label(u.size(), -1);  // new ones
  std::vector<double> new_u;
  std::vector<int> new_other;
  for (int i = 0; i < n; ++i) {
    const std::size_t from = node_at[i];
    node_at[i] = new_u.size();
    int count = 0;
    for (int l = 0; l < labels[i]; ++l) {
      if (!kept[from + l]) continue;
      label[from + l] = count++;
      new_u.push_back(u[from + l]);
      new_other.push_back(other[from + l]);
    }
    new_u.resize(vec::padded(static_cast<int>(new_u.size())), std::numeric_limits<double>::infinity());
    new_other.resize(new_u.size(), -1);
  }
  // node_at has the new places; the old ones follow from the old numbers of labels.
  std::vector<std::size_t> from(n + 1, 0);
  for (int i = 0; i < n; ++i) from[i + 1] = from[i] + vec::padded(labels[i]);
  node_at[n] = new_u.size();
  moved.assign(entries.size(), -1);
  std::size_t row_at = 0, column_at = 0;
  int size = 0;
  for (std::size_t e = 0; e < tables.size(); ++e) {  // in place: nothing moves up
    Table& t = tables[e];
    const int *row = label.data() + from[t.row_node], *column = label.data() + from[t.column_node];
    const Table old = t;
    t.row_at = row_at;
    t.column_at = column_at;
    t.rows = t.columns = 0;
    int begin = row_begin[old.row_at];
    for (int r = 0; r < old.rows; ++r) {
      const int end = row_begin[old.row_at + r + 1];
      if (row[r] >= 0) {
        row_offset[row_at + t.rows] = row_offset[old.row_at + r];
        row_begin[row_at + t.rows++] = size;
        for (int k = begin; k < end; ++k) {
          const Entry& entry = entries[k];
          if (column[entry.column] < 0) continue;
          moved[k] = size;
          entries[size++] = {entry.cost, static_cast<std::uint16_t>(row[r]),
                             static_cast<std::uint16_t>(column[entry.column]), entry.table};
        }
      }
      begin = end;
    }
    row_begin[row_at + t.rows] = size;
    row_at += t.rows + 1;
    for (int c = 0; c < old.columns; ++c)
      if (column[c] >= 0) column_offset[column_at + t.columns++] = column_offset[old.column_at + c];
    column_at += t.columns + 1;
    poll(4 * (old.rows + old.columns));
  }
  row_offset.resize(row_at);
  row_begin.resize(row_at);
  column_offset.resize(column_at);
  entries.resize(size);
  u.swap(new_u);
  other.swap(new_other);
  for (int i = 0; i < n; ++i) {
    int count = 0;
    for (std::size_t k = from[i]; k < from[i + 1]; ++k) count += label[k] >= 0;
    labels[i] = count;
  }
  marginal.assign(u.size(), 0.0);
  sort_by_column();
}

std::int64_t Split::work() const {
  std::int64_t sum = 0;
  for (const Side& s : side)
    sum += static_cast<std::int64_t>(8 * s.entries.size() + 4 * (s.row_offset.size() + s.column_offset.size()));
  return sum;
}

}  // namespace gm::implicit
