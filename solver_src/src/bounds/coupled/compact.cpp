// Vectors and tables that shrink with the labels that are left.
#include <cstddef>
#include <limits>
#include <vector>

#include "bounds/coupled/split.hpp"
#include "core/vec.hpp"

namespace gm::coupled {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// The labels of each node that stay, by their present places; new places are given in their order.
struct Kept {
  std::vector<std::vector<int>> labels;  // (n,) ascending, the last is "unmatched"
  std::vector<int> only;                 // (n,) the label that is left, -1 if there are more
  int count(int node) const { return static_cast<int>(labels[node].size()); }
};

// A table at a node with one label left is a vector: it is added to the other node's.
void add_to_vector(Side& s, const Table& table, const Kept& kept) {
  const auto at = [&](int r, int c) { return s.x[table.start + static_cast<std::size_t>(r) * table.width + c]; };
  const int i = table.row_node, k = table.column_node, row = kept.only[i];
  for (const int l : kept.labels[row >= 0 ? k : i]) {
    if (row >= 0)
      s.u[s.node_at[k] + l] += at(row, l);
    else
      s.u[s.node_at[i] + l] += at(l, kept.only[k]);
  }
}

// Returns the new number of each table, -1 for those that have become part of a vector.
std::vector<int> compact_tables(Side& s, const Kept& kept) {
  std::vector<Table> tables;
  std::vector<int> number;
  Array<double> x;
  for (auto& list : s.incident) list.clear();
  s.rows_and_columns = 0;
  for (const Table& old : s.tables) {
    const int i = old.row_node, k = old.column_node;
    if (kept.only[i] >= 0 || kept.only[k] >= 0) {
      number.push_back(-1);
      add_to_vector(s, old, kept);
      continue;
    }
    const int id = static_cast<int>(tables.size()), rows = kept.count(i);
    const int width = static_cast<int>(vec::padded(kept.count(k)));
    number.push_back(id);
    s.incident[i].push_back({id, true});
    s.incident[k].push_back({id, false});
    const Table table{i, k, rows, width, x.size(), s.rows_and_columns, s.rows_and_columns + vec::padded(rows)};
    s.rows_and_columns = table.column_at + table.width;
    x.resize(x.size() + static_cast<std::size_t>(rows) * width, inf);
    double* out = x.data() + table.start;
    for (const int r : kept.labels[i]) {
      const double* row = s.x.data() + old.start + static_cast<std::size_t>(r) * old.width;
      for (int c = 0; c < kept.count(k); ++c) out[c] = row[kept.labels[k][c]];
      out += width;
    }
    tables.push_back(table);
  }
  s.x.swap(x);
  s.tables.swap(tables);
  s.least.resize(s.tables.size());
  return number;
}

void compact_vectors(Side& s, const Kept& kept) {
  std::vector<double> u;
  for (int i = 0; i < s.n; ++i) {
    const std::size_t from = s.node_at[i];
    s.node_at[i] = u.size();
    for (const int l : kept.labels[i]) u.push_back(s.u[from + l]);
    u.resize(vec::padded(static_cast<int>(u.size())), inf);
    s.labels[i] = kept.count(i);
  }
  s.node_at[s.n] = u.size();
  s.u.swap(u);
  s.marginal.assign(s.u.size(), 0.0);
}

}  // namespace

// "Unmatched" stays as the last label, removed or not.
void Split::compact() {
  for (int which = 0; which < 2; ++which) {
    Side& s = side[which];
    const std::vector<int>& start = which == 0 ? problem.row_start : problem.col_start;
    Kept kept{std::vector<std::vector<int>>(s.n), std::vector<int>(s.n, -1)};
    for (int i = 0; i < s.n; ++i) {
      std::vector<int>& labels = kept.labels[i];
      for (int k = start[i]; k < start[i + 1]; ++k)
        if (const int a = which == 0 ? k : problem.col[k]; alive[a]) {
          labels.push_back(local[which][a]);
          local[which][a] = static_cast<int>(labels.size()) - 1;
        }
      labels.push_back(s.labels[i] - 1);
      if (labels.size() == 1 || (labels.size() == 2 && !s.may_be_idle[i])) kept.only[i] = labels[0];
    }
    const std::vector<int> number = compact_tables(s, kept);
    compact_vectors(s, kept);
    for (int& table : places[which].table)
      if (table >= 0) table = number[table];
  }
  compact_terms();
}

// Leaves out the terms that have no entry in a table any more.
void Split::compact_terms() {
  const Problem& p = problem;
  std::size_t n = 0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto [a, b] = terms[t];
    if (!alive[a] || !alive[b] || places[0].table[t] < 0 || places[1].table[t] < 0) continue;
    terms[n] = {a, b};
    for (int which = 0; which < 2; ++which) {
      const int id = places[which].table[t];
      const Table& table = side[which].tables[id];
      const bool in_order = (which == 0 ? p.left[a] : p.right[a]) == table.row_node;
      places[which].table[n] = id;
      places[which].at[n] = table.start + static_cast<std::size_t>(local[which][in_order ? a : b]) * table.width +
                            local[which][in_order ? b : a];
    }
    ++n;
  }
  terms.resize(n);
  for (int which = 0; which < 2; ++which) {
    places[which].table.resize(n);
    places[which].at.resize(n);
  }
}

}  // namespace gm::coupled
