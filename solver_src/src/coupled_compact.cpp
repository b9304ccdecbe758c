// Tables of the coupled dual that shrink with the labels that are left.
#include <cstddef>
#include <limits>
#include <vector>

#include "coupled.hpp"
#include "vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

// Drops the removed labels from vectors and tables; "unmatched" stays as the last label, removed or not. A table at a
// node with one label left is a vector: it is added to the other node's and dropped, and the terms in it with it.
void CoupledDual::compact() {
  std::vector<std::vector<int>> kept;
  for (int which = 0; which < 2; ++which) {
    Side& s = side_[which];
    const std::vector<int>& start = which == 0 ? problem_.row_start : problem_.col_start;
    kept.assign(s.n, {});
    std::vector<int> only(s.n, -1);  // the label that is left, if there is one
    std::vector<double> u;
    Array<double> x;
    for (int i = 0; i < s.n; ++i) {
      for (int k = start[i]; k < start[i + 1]; ++k)
        if (const int a = which == 0 ? k : problem_.col[k]; alive_[a]) {
          kept[i].push_back(local_[which][a]);
          local_[which][a] = static_cast<int>(kept[i].size()) - 1;
        }
      kept[i].push_back(s.labels[i] - 1);
      const int last = static_cast<int>(kept[i].size()) - 1;
      if (last == 0 || (last == 1 && !s.dummy[i])) only[i] = kept[i][0];
    }
    std::vector<Table> tables;
    std::vector<int> new_id;
    for (auto& list : s.incident) list.clear();
    std::size_t moves = 0;
    for (const Table& old : s.tables) {
      const auto at = [&](int r, int c) { return s.x[old.start + static_cast<std::size_t>(r) * old.width + c]; };
      const int i = old.row_node, k = old.column_node;
      if (only[i] >= 0 || only[k] >= 0) {
        new_id.push_back(-1);
        for (const int l : kept[only[i] >= 0 ? k : i]) {
          if (only[i] >= 0)
            s.u[s.node_at[k] + l] += at(only[i], l);
          else
            s.u[s.node_at[i] + l] += at(l, only[k]);
        }
        continue;
      }
      const int id = static_cast<int>(tables.size());
      new_id.push_back(id);
      s.incident[i].push_back({id, true});
      s.incident[k].push_back({id, false});
      Table table{i,
                  k,
                  static_cast<int>(kept[i].size()),
                  static_cast<int>(vec::padded(static_cast<int>(kept[k].size()))),
                  x.size(),
                  moves,
                  moves + vec::padded(static_cast<int>(kept[i].size()))};
      moves = table.column_at + table.width;
      x.resize(x.size() + static_cast<std::size_t>(table.rows) * table.width, inf);
      double* out = x.data() + table.start;
      for (const int r : kept[i]) {
        for (std::size_t c = 0; c < kept[k].size(); ++c) out[c] = at(r, kept[k][c]);
        out += table.width;
      }
      tables.push_back(table);
    }
    for (int i = 0; i < s.n; ++i) {
      const std::size_t from = s.node_at[i];
      s.node_at[i] = u.size();
      for (const int l : kept[i]) u.push_back(s.u[from + l]);
      u.resize(vec::padded(static_cast<int>(u.size())), inf);
      s.labels[i] = static_cast<int>(kept[i].size());
    }
    s.node_at[s.n] = u.size();
    s.u.swap(u);
    s.log_weight.resize(s.u.size());
    s.node_marginal.assign(s.u.size(), 0.0);
    s.x.swap(x);
    s.weight.resize(s.x.size());
    s.move.resize(moves);
    s.tables.swap(tables);
    s.total.resize(s.tables.size());
    s.least.resize(s.tables.size());
    for (int& table : term_table_[which])
      if (table >= 0) table = new_id[table];
  }
  compact_terms();
}

void CoupledDual::compact_terms() {
  const Problem& p = problem_;
  std::size_t n = 0;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const auto [a, b] = terms_[t];
    if (!alive_[a] || !alive_[b] || term_table_[0][t] < 0 || term_table_[1][t] < 0) continue;
    terms_[n] = {a, b};
    for (int which = 0; which < 2; ++which) {
      term_table_[which][n] = term_table_[which][t];
      const Table& table = side_[which].tables[term_table_[which][n]];
      const bool in_order = (which == 0 ? p.left[a] : p.right[a]) == table.row_node;
      term_at_[which][n] = table.start + static_cast<std::size_t>(local_[which][in_order ? a : b]) * table.width +
                           local_[which][in_order ? b : a];
    }
    ++n;
  }
  terms_.resize(n);
  term_factor_.resize(n);
  for (int which = 0; which < 2; ++which) {
    term_table_[which].resize(n);
    term_at_[which].resize(n);
  }
}

}  // namespace gm
