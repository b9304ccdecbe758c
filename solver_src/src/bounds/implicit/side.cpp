#include "bounds/implicit/side.hpp"

#include <algorithm>
#include <limits>

#include "core/available.hpp"
#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::implicit {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

void Excluded::start(const Lines& lines) {
  if (stamp_.size() < static_cast<std::size_t>(lines.crossing)) stamp_.resize(lines.crossing, 0);
  at_ = 0;
}

void Excluded::next(const Lines& lines, int line) {
  ++now_;
  for (int k = lines.begin[line]; k < lines.begin[line + 1]; ++k) stamp_[lines.crossed(lines.entry(k))] = now_;
  const int node = lines.node[line];
  same_ = -1;
  if (node < 0) return;
  while (at_ + 1 < lines.crossing && lines.node_across[at_] < node) ++at_;
  if (lines.node_across[at_] != node) return;
  same_ = at_;
  stamp_[at_] = now_;
}

void Side::build(const Problem& p, int which, const std::vector<int>& local, const Array<int>& term_of,
                 Array<int>& place) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  build_nodes(p, which, local);
  other.assign(node_at[n], -1);
  for (int a = 0; a < p.size(); ++a) other[node_at[node[a]] + local[a]] = which == 0 ? p.right[a] : p.left[a];
  memory::demand(p.terms.size() * (sizeof(Entry) + sizeof(int)));
  make_tables(p, which, local, term_of, place);
  least.resize(tables.size());
  sort_by_column();
}

// Tables and entries node by node; an entry belongs to the smaller of its two nodes.
void Side::make_tables(const Problem& p, int which, const std::vector<int>& local, const Array<int>& term_of,
                       Array<int>& place) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  entries.resize(p.terms.size());
  std::vector<int> id(n, -1), count(n, 0), above;
  int total = 0;
  for (int i = 0; i < n; ++i) {
    above.clear();
    const auto each = [&](auto&& f) {  // neighbours of the assignments of i whose node is larger
      for (int l = start[i]; l < start[i + 1]; ++l) {
        const int a = which == 0 ? l : p.col[l];
        for (int q = p.adj_start[a]; q < p.adj_start[a + 1]; ++q)
          if (const int k = node[p.adj[q].a]; k > i) f(l - start[i], k, q);
      }
    };
    each([&](int, int k, int) {
      if (count[k]++ == 0) above.push_back(k);
    });
    std::sort(above.begin(), above.end());
    for (const int k : above) {
      id[k] = static_cast<int>(tables.size());
      tables.push_back({i, k, labels[i], labels[k], row_begin.size(), column_offset.size()});
      incident[i].push_back({id[k], true});
      incident[k].push_back({id[k], false});
      row_begin.resize(row_begin.size() + labels[i] + 1, total);
      column_offset.resize(column_offset.size() + labels[k] + 1, 0.0);
      total += count[k];
    }
    // Rows come in order; the end of the last one moves on.
    each([&](int row, int k, int q) {
      const Table& table = tables[id[k]];
      const int at = row_begin[table.row_at + table.rows]++;
      --count[k];
      entries[at] = {0.5 * p.adj[q].cost, static_cast<std::uint16_t>(row),
                     static_cast<std::uint16_t>(local[p.adj[q].a]), id[k]};
      place[term_of[q]] = at;
    });
    poll(8 * static_cast<std::int64_t>(labels[i]));
  }
  row_offset.assign(row_begin.size(), 0.0);
  // begin[rows] is right now; the others follow from the entries.
  for (const Table& table : tables) {
    int* begin = row_begin.data() + table.row_at;
    int at = begin[0];
    for (int r = 0; r < table.rows; ++r) {
      begin[r] = at;
      while (at < begin[table.rows] && entries[at].row == r) ++at;
    }
  }
}

void Side::sort_by_column() {
  column_begin.assign(column_offset.size(), 0);
  by_column.resize(entries.size());
  std::vector<int> next;
  for (const Table& table : tables) {
    const int first = row_begin[table.row_at], last = row_begin[table.row_at + table.rows];
    int* begin = column_begin.data() + table.column_at;
    for (int k = first; k < last; ++k) ++begin[entries[k].column + 1];
    begin[0] = first;
    for (int c = 0; c < table.columns; ++c) begin[c + 1] += begin[c];
    next.assign(begin, begin + table.columns);
    for (int k = first; k < last; ++k) by_column[next[entries[k].column]++] = k;
    poll(4 * (last - first) + table.columns);
  }
}

Lines Side::lines(const Table& table, bool rows) {
  const int *node = other.data() + node_at[table.row_node], *across = other.data() + node_at[table.column_node];
  if (rows)
    return {table.rows,
            table.columns,
            row_offset.data() + table.row_at,
            column_offset.data() + table.column_at,
            row_begin.data() + table.row_at,
            node,
            across,
            entries.data(),
            nullptr};
  return {table.columns,
          table.rows,
          column_offset.data() + table.column_at,
          row_offset.data() + table.row_at,
          column_begin.data() + table.column_at,
          across,
          node,
          entries.data(),
          by_column.data()};
}

void Side::forbid(int node, int label) {
  u[node_at[node] + label] = inf;
  for (const Incident& e : incident[node]) {
    const Table& table = tables[e.table];
    (e.as_row ? row_offset[table.row_at + label] : column_offset[table.column_at + label]) = inf;
  }
}

// The minimum of each line: of its entries, and of the lowest offset across that it may be paired with.
void Side::line_minima(const Lines& lines, double* out) {
  lowest_.find(lines.crossing, lines.across);
  excluded_.start(lines);
  for (int line = 0; line < lines.count; ++line) {
    if (lines.offset[line] == inf) {
      out[line] = inf;
      continue;
    }
    excluded_.next(lines, line);
    double m = inf;
    for (int k = lines.begin[line]; k < lines.begin[line + 1]; ++k) {
      const Entry& e = lines.entry(k);
      m = std::min(m, lines.across[lines.crossed(e)] + e.cost);
    }
    int k = 0;
    while (k < lowest_.count && excluded_.has(lowest_.at[k])) ++k;
    if (k < lowest_.count)
      m = std::min(m, lowest_.value[k]);
    else if (lines.crossing > lowest_.count)
      for (int c = 0; c < lines.crossing; ++c)
        if (!excluded_.has(c)) m = std::min(m, lines.across[c]);
    out[line] = lines.offset[line] + m;
  }
}

void Side::minima() {
  std::fill(marginal.begin(), marginal.end(), 0.0);
  line_least_.resize(labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()));
  for (std::size_t e = 0; e < tables.size(); ++e) {
    const Table& table = tables[e];
    poll(4 * static_cast<std::int64_t>(table.rows + table.columns));
    for (const bool rows : {true, false}) {
      const Lines view = lines(table, rows);
      line_minima(view, line_least_.data());
      // Both ways give the same up to rounding: the smaller one is a bound.
      const double lowest = *std::min_element(line_least_.begin(), line_least_.begin() + view.count);
      least[e] = rows ? lowest : std::min(least[e], lowest);
      double* sum = marginal.data() + node_at[rows ? table.row_node : table.column_node];
      for (int line = 0; line < view.count; ++line) sum[line] += line_least_[line] - least[e];
    }
  }
}

}  // namespace gm::implicit
