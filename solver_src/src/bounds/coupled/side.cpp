#include "bounds/coupled/side.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "core/available.hpp"
#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::coupled {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// The number of the table of two nodes, -1 at first: in a matrix or, where that would be mostly empty, in a map.
class TableNumbers {
 public:
  TableNumbers(int n, std::size_t n_terms) : n_(n) {
    const std::size_t cells = static_cast<std::size_t>(n) * n;
    if (cells <= 1'000'000 || cells <= 4 * n_terms) matrix_.assign(cells, -1);
  }
  int& of(int i, int k) {
    const std::size_t cell = static_cast<std::size_t>(i) * n_ + k;
    return matrix_.empty() ? map_.try_emplace(cell, -1).first->second : matrix_[cell];
  }

 private:
  int n_;
  std::vector<int> matrix_;
  std::unordered_map<std::size_t, int> map_;
};

}  // namespace

void Nodes::build_nodes(const Problem& p, int which, const std::vector<int>& local) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  n = which == 0 ? p.n1 : p.n2;
  labels.resize(n);
  node_at.assign(n + 1, 0);
  incident.resize(n);
  may_be_idle.assign(n, 1);
  for (int i = 0; i < n; ++i) {
    labels[i] = start[i + 1] - start[i] + 1;
    node_at[i + 1] = node_at[i] + vec::padded(labels[i]);
  }
  u.assign(node_at[n], inf);
  for (int i = 0; i < n; ++i) u[node_at[i] + labels[i] - 1] = 0;
  for (int a = 0; a < p.size(); ++a) u[node_at[node[a]] + local[a]] = 0.5 * p.cost[a];
  marginal.resize(u.size());
}

void Side::build(const Problem& p, int which, const std::vector<int>& local, TermPlaces& places) {
  const std::vector<int>& node = which == 0 ? p.left : p.right;
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  build_nodes(p, which, local);

  TableNumbers numbers(n, p.terms.size());
  std::size_t total = 0;
  places.at.resize(p.terms.size());
  places.table.resize(p.terms.size());
  for (std::size_t t = 0; t < p.terms.size(); ++t) {
    int a = p.terms[t].a, b = p.terms[t].b;
    if (node[a] > node[b]) std::swap(a, b);
    const int i = node[a], k = node[b];
    int& table = numbers.of(i, k);
    if (table < 0) {
      table = static_cast<int>(tables.size());
      const int rows = labels[i], width = static_cast<int>(vec::padded(labels[k]));
      tables.push_back({i, k, rows, width, total, rows_and_columns, rows_and_columns + vec::padded(rows)});
      total += static_cast<std::size_t>(rows) * width;
      rows_and_columns += vec::padded(rows) + width;
      incident[i].push_back({table, true});
      incident[k].push_back({table, false});
    }
    places.table[t] = table;
    places.at[t] = tables[table].start + static_cast<std::size_t>(local[a]) * tables[table].width + local[b];
  }
  poll(8 * static_cast<std::int64_t>(p.terms.size()));
  memory::demand(total * sizeof(double));
  x.assign(total, inf);
  poll(2 * static_cast<std::int64_t>(total));
  least.resize(tables.size());
  // No cost where there is no term, infinite where both labels are the same node of the other graph.
  const std::vector<int>& other = which == 0 ? p.right : p.left;
  for (const Table& table : tables) {
    const int i = table.row_node, k = table.column_node;
    poll(8 * static_cast<std::int64_t>(table.rows) * table.width);
    double* row = x.data() + table.start;
    for (int r = 0; r < table.rows; ++r, row += table.width) {
      std::fill_n(row, labels[k], 0.0);
      if (r + 1 == table.rows) continue;  // unmatched
      const int j = other[which == 0 ? start[i] + r : p.col[start[i] + r]];
      if (const int b = which == 0 ? p.find(k, j) : p.find(j, k); b >= 0) row[local[b]] = inf;
    }
  }
  for (std::size_t t = 0; t < p.terms.size(); ++t) x[places.at[t]] = 0.5 * p.terms[t].cost;
  row_least_.resize(labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()));
}

void Side::forbid(int node, int label) {
  u[node_at[node] + label] = inf;
  for (const Incident& e : incident[node]) {
    const Table& table = tables[e.table];
    double* entries = x.data() + table.start;
    if (e.as_row)
      std::fill_n(entries + static_cast<std::size_t>(label) * table.width, table.width, inf);
    else
      for (int r = 0; r < table.rows; ++r) entries[static_cast<std::size_t>(r) * table.width + label] = inf;
  }
}

GM_CLONES void Side::minima() {
  poll(2 * static_cast<std::int64_t>(x.size()));
  std::fill(marginal.begin(), marginal.end(), 0.0);
  double* rows = row_least_.data();
  for (std::size_t e = 0; e < tables.size(); ++e) {
    const Table& table = tables[e];
    double* row_out = marginal.data() + node_at[table.row_node];
    double* column_out = marginal.data() + node_at[table.column_node];
    double lowest = inf;
    const double* entries = x.data() + table.start;
    for (int r = 0; r < table.rows; ++r, entries += table.width) {
      vec::Four m, y;
      vec::fill(inf, m);
      for (int c = 0; c < table.width; c += 4) {
        vec::load(entries + c, y);
        vec::min(y, m, m);
      }
      rows[r] = std::min(std::min(m[0], m[1]), std::min(m[2], m[3]));
      lowest = std::min(lowest, rows[r]);
    }
    least[e] = lowest;
    for (int r = 0; r < table.rows; ++r) row_out[r] += rows[r] - lowest;
    entries = x.data() + table.start;
    for (int c = 0; c < table.width; c += 4) {
      vec::Four m, y;
      vec::fill(inf, m);
      for (int r = 0; r < table.rows; ++r) {
        vec::load(entries + static_cast<std::size_t>(r) * table.width + c, y);
        vec::min(y, m, m);
      }
      vec::load(column_out + c, y);
      y += m - lowest;
      vec::store(column_out + c, y);
    }
  }
}

}  // namespace gm::coupled
