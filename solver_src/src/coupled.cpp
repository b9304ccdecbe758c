// Coupled dual: the split of the costs, its bound and its rounding.
#include "coupled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "poll.hpp"
#include "vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

CoupledDual::CoupledDual(const Problem& p)
    : problem_(p), alive_(p.size(), 1), label_bound_(p.size(), -inf), idle_bound_(p.n1, -inf) {
  local_[0].resize(p.size());
  local_[1].resize(p.size());
  for (int a = 0; a < p.size(); ++a) local_[0][a] = a - p.row_start[p.left[a]];
  for (int j = 0; j < p.n2; ++j)
    for (int k = p.col_start[j]; k < p.col_start[j + 1]; ++k) local_[1][p.col[k]] = k - p.col_start[j];
  side_[0].n = p.n1;
  side_[1].n = p.n2;
  build_side(0, p.left, local_[0]);
  build_side(1, p.right, local_[1]);
  term_factor_.resize(p.terms.size());
  terms_.reserve(p.terms.size());
  for (const Term& t : p.terms) terms_.push_back({t.a, t.b});
  double squares = 0;
  for (const Term& t : p.terms) squares += t.cost / p.largest_cost * (t.cost / p.largest_cost);
  if (squares > 0) scale_ = std::sqrt(squares / p.terms.size()) * p.largest_cost;
}

void CoupledDual::build_side(int which, const std::vector<int>& node, const std::vector<int>& local) {
  const Problem& p = problem_;
  Side& s = side_[which];
  const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
  s.labels.resize(s.n);
  s.node_at.assign(s.n + 1, 0);
  s.incident.resize(s.n);
  s.dummy.assign(s.n, 1);
  for (int i = 0; i < s.n; ++i) {
    s.labels[i] = start[i + 1] - start[i] + 1;
    s.node_at[i + 1] = s.node_at[i] + vec::padded(s.labels[i]);
  }
  s.u.assign(s.node_at[s.n], inf);
  for (int i = 0; i < s.n; ++i) s.u[s.node_at[i] + s.labels[i] - 1] = 0;
  for (int a = 0; a < p.size(); ++a) s.u[s.node_at[node[a]] + local[a]] = 0.5 * p.cost[a];
  s.log_weight.resize(s.u.size());
  s.node_marginal.resize(s.u.size());

  std::vector<int> id(static_cast<std::size_t>(s.n) * s.n, -1);
  std::size_t total = 0, moves = 0;
  term_at_[which].resize(p.terms.size());
  term_table_[which].resize(p.terms.size());
  for (std::size_t t = 0; t < p.terms.size(); ++t) {
    int a = p.terms[t].a, b = p.terms[t].b;
    if (node[a] > node[b]) std::swap(a, b);
    const int i = node[a], k = node[b];
    int& table = id[static_cast<std::size_t>(i) * s.n + k];
    if (table < 0) {
      table = static_cast<int>(s.tables.size());
      const int rows = s.labels[i], width = static_cast<int>(vec::padded(s.labels[k]));
      s.tables.push_back({i, k, rows, width, total, moves, moves + vec::padded(rows)});
      total += static_cast<std::size_t>(rows) * width;
      moves += vec::padded(rows) + width;
      s.incident[i].push_back({table, true});
      s.incident[k].push_back({table, false});
    }
    term_table_[which][t] = table;
    term_at_[which][t] = s.tables[table].start + static_cast<std::size_t>(local[a]) * s.tables[table].width + local[b];
  }
  const std::int64_t pass = static_cast<std::int64_t>(total);
  poll(8 * static_cast<std::int64_t>(p.terms.size()));
  s.x.assign(total, inf);
  poll(pass);
  s.weight.resize(total);
  poll(pass);
  s.move.resize(moves);
  s.total.resize(s.tables.size());
  s.least.resize(s.tables.size());
  // No cost where there is no term, infinite where both labels are the same node of the other graph.
  const std::vector<int>& other = which == 0 ? p.right : p.left;
  for (const Table& table : s.tables) {
    const int i = table.row_node, k = table.column_node;
    poll(8 * static_cast<std::int64_t>(table.rows) * table.width);
    double* row = s.x.data() + table.start;
    for (int r = 0; r < table.rows; ++r, row += table.width) {
      std::fill_n(row, s.labels[k], 0.0);
      if (r + 1 == table.rows) continue;  // unmatched
      const int j = other[which == 0 ? start[i] + r : p.col[start[i] + r]];
      if (const int b = which == 0 ? p.find(k, j) : p.find(j, k); b >= 0) row[local[b]] = inf;
    }
  }
  for (std::size_t t = 0; t < p.terms.size(); ++t) s.x[term_at_[which][t]] = 0.5 * p.terms[t].cost;
  std::size_t most = 4;
  for (int i = 0; i < s.n; ++i) most = std::max(most, (s.incident[i].size() + 1) * vec::padded(s.labels[i]));
  if (buffer_.size() < most) buffer_.resize(most);
}

double CoupledDual::bound() {
  const Problem& p = problem_;
  for (Side& s : side_) marginals(s);
  lap_costs_.assign(static_cast<std::size_t>(p.n1) * p.n2, inf);
  double constant = 0;
  for (const Side& s : side_) {
    for (const double m : s.least) constant += m;
  }
  // Unmatched labels carry costs too: matching i saves its own. A node that must be matched saves "everything".
  double forced = p.largest_cost > 0 ? p.largest_cost : 1;  // of the costs' order: a constant would swamp tiny ones
  for (const Side& s : side_)
    for (int i = 0; i < s.n; ++i)
      for (int l = 0; l < s.labels[i]; ++l)
        if (const double c = s.u[s.node_at[i] + l]; std::isfinite(c)) forced += 2 * std::fabs(c);
  const auto idle = [forced](const Side& s, int i) {
    return s.dummy[i] ? s.u[s.node_at[i] + s.labels[i] - 1] : forced;
  };
  for (const Side& s : side_)
    for (int i = 0; i < s.n; ++i) constant += idle(s, i);
  for (int a = 0; a < p.size(); ++a)
    if (alive_[a]) {
      const int i = p.left[a], j = p.right[a];
      lap_costs_[static_cast<std::size_t>(i) * p.n2 + j] = side_[0].u[side_[0].node_at[i] + local_[0][a]] +
                                                           side_[1].u[side_[1].node_at[j] + local_[1][a]] -
                                                           idle(side_[0], i) - idle(side_[1], j);
    }
  solve_lap(p.n1, p.n2, lap_costs_.data(), lap_);
  for (int i = 0; i < p.n1; ++i)
    if (!side_[0].dummy[i] && lap_.match[i] < 0) empty_ = true;
  for (int j = 0; j < p.n2; ++j)
    if (!side_[1].dummy[j] && std::find(lap_.match.begin(), lap_.match.end(), j) == lap_.match.end()) empty_ = true;
  bound_ = lap_.value + constant;
  if (!(bound_ < inf) || empty_) bound_ = inf;
  return bound_;
}

GM_CLONES void CoupledDual::marginals(Side& s) {
  poll(2 * static_cast<std::int64_t>(s.x.size()));
  std::fill(s.node_marginal.begin(), s.node_marginal.end(), 0.0);
  double* rows = buffer_.data();
  for (std::size_t e = 0; e < s.tables.size(); ++e) {
    const Table& table = s.tables[e];
    double* row_out = s.node_marginal.data() + s.node_at[table.row_node];
    double* column_out = s.node_marginal.data() + s.node_at[table.column_node];
    double least = inf;
    const double* x = s.x.data() + table.start;
    for (int r = 0; r < table.rows; ++r, x += table.width) {
      vec::Four m, y;
      vec::fill(inf, m);
      for (int c = 0; c < table.width; c += 4) {
        vec::load(x + c, y);
        vec::min(y, m, m);
      }
      rows[r] = std::min(std::min(m[0], m[1]), std::min(m[2], m[3]));
      least = std::min(least, rows[r]);
    }
    s.least[e] = least;
    for (int r = 0; r < table.rows; ++r) row_out[r] += rows[r] - least;
    x = s.x.data() + table.start;
    for (int c = 0; c < table.width; c += 4) {
      vec::Four m, y;
      vec::fill(inf, m);
      for (int r = 0; r < table.rows; ++r) {
        vec::load(x + static_cast<std::size_t>(r) * table.width + c, y);
        vec::min(y, m, m);
      }
      vec::load(column_out + c, y);
      y += m - least;
      vec::store(column_out + c, y);
    }
  }
}

void CoupledDual::rounding_costs(std::vector<double>& costs) const {
  const Problem& p = problem_;
  costs.assign(lap_costs_.size(), inf);
  const auto marginal = [](const Side& s, int i, int l) {
    return 0.5 *
           (s.node_marginal[s.node_at[i] + l] - (s.dummy[i] ? s.node_marginal[s.node_at[i] + s.labels[i] - 1] : 0));
  };
  for (int a = 0; a < p.size(); ++a)
    if (alive_[a]) {
      const int i = p.left[a], j = p.right[a];
      const std::size_t at = static_cast<std::size_t>(i) * p.n2 + j;
      costs[at] = lap_costs_[at] + marginal(side_[0], i, local_[0][a]) + marginal(side_[1], j, local_[1][a]);
    }
}

}  // namespace gm
