#include "coupled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
// Weights start at e^300 and less, so that costs up to 1000 temperatures above the minimum still count.
constexpr double top_log_weight = 300;
std::size_t padded(int n) { return static_cast<std::size_t>(n + 3) / 4 * 4; }

}  // namespace

CoupledDual::CoupledDual(const Problem& p) : problem_(p), alive_(p.size(), 1), label_bound_(p.size(), -inf), idle_bound_(p.n1, -inf) {
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
    s.node_at[i + 1] = s.node_at[i] + padded(s.labels[i]);
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
      const int rows = s.labels[i], width = static_cast<int>(padded(s.labels[k]));
      s.tables.push_back({i, k, rows, width, total, moves, moves + padded(rows)});
      total += static_cast<std::size_t>(rows) * width;
      moves += padded(rows) + width;
      s.incident[i].push_back({table, true});
      s.incident[k].push_back({table, false});
    }
    term_table_[which][t] = table;
    term_at_[which][t] = s.tables[table].start + static_cast<std::size_t>(local[a]) * s.tables[table].width + local[b];
  }
  s.x.assign(total, inf);
  s.weight.resize(total);
  s.move.resize(moves);
  s.total.resize(s.tables.size());
  s.least.resize(s.tables.size());
  // No cost where there is no term, infinite where both labels are the same node of the other graph.
  const std::vector<int>& other = which == 0 ? p.right : p.left;
  const auto assignment = [&](int i, int label) { return which == 0 ? start[i] + label : p.col[start[i] + label]; };
  for (const Table& table : s.tables)
    for (int r = 0; r < table.rows; ++r)
      for (int c = 0; c < s.labels[table.column_node]; ++c) {
        const bool same = r + 1 < table.rows && c + 1 < s.labels[table.column_node] &&
                          other[assignment(table.row_node, r)] == other[assignment(table.column_node, c)];
        if (!same) s.x[table.start + static_cast<std::size_t>(r) * table.width + c] = 0;
      }
  for (std::size_t t = 0; t < p.terms.size(); ++t) s.x[term_at_[which][t]] = 0.5 * p.terms[t].cost;
  std::size_t most = 4;
  for (int i = 0; i < s.n; ++i) most = std::max(most, (s.incident[i].size() + 1) * padded(s.labels[i]));
  if (buffer_.size() < most) buffer_.resize(most);
}

void CoupledDual::anneal(double temperature, int sweeps) {
  if (empty_ || !(temperature > 1e-280)) return;  // costs next to denormal: the bound stays as it is
  for (Side& s : side_) start_level(s, temperature);
  std::fill(term_factor_.begin(), term_factor_.end(), 1.0);
  for (int k = 0; k < sweeps; ++k)
    for (Side& s : side_) {
      for (int i = 0; i < s.n; ++i) star(s, i);
      tie_terms();
      tie_nodes();
    }
  for (Side& s : side_) finish_level(s, temperature);
  for (std::size_t t = 0; t < term_factor_.size(); ++t) {
    if (term_factor_[t] == 1.0) continue;
    vec::Four f;
    vec::fill(term_factor_[t], f);
    vec::log(f, f);
    const double delta = temperature * f[0];
    side_[0].x[term_at_[0][t]] -= delta;
    side_[1].x[term_at_[1][t]] += delta;
  }
}

GM_CLONES void CoupledDual::start_level(Side& s, double temperature) {
  const double factor = -1 / temperature;
  for (std::size_t e = 0; e < s.tables.size(); ++e) {
    const Table& table = s.tables[e];
    const double* x = s.x.data() + table.start;
    double* w = s.weight.data() + table.start;
    const std::size_t n = static_cast<std::size_t>(table.rows) * table.width;
    vec::Four least, y;
    vec::fill(inf, least);
    for (std::size_t k = 0; k < n; k += 4) {
      vec::load(x + k, y);
      vec::min(y, least, least);
    }
    const double m = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
    vec::Four total{};
    for (std::size_t k = 0; k < n; k += 4) {
      vec::load(x + k, y);
      y = (y - m) * factor + top_log_weight;
      vec::exp(y, y);
      total += y;
      vec::store(w + k, y);
    }
    s.total[e] = vec::sum(total);
  }
  for (int i = 0; i < s.n; ++i) {
    double m = inf;
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) m = std::min(m, s.u[k]);
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) s.log_weight[k] = (s.u[k] - m) * factor;
    // The costs are rebuilt from log_weight and this minimum; node_marginal is free during anneal.
    s.node_marginal[s.node_at[i]] = m;
  }
  std::fill(s.move.begin(), s.move.end(), 0.0);
}

GM_CLONES void CoupledDual::finish_level(Side& s, double temperature) {
  for (const Table& table : s.tables) {
    double* x = s.x.data() + table.start;
    const double* row = s.move.data() + table.row_at;
    const double* column = s.move.data() + table.column_at;
    for (int r = 0; r < table.rows; ++r, x += table.width)
      for (int c = 0; c < table.width; c += 4) {
        vec::Four y, f;
        vec::load(x + c, y);
        vec::load(column + c, f);
        y = y - (f + row[r]) * temperature;
        vec::store(x + c, y);
      }
  }
  for (int i = 0; i < s.n; ++i) {
    const double m = s.node_marginal[s.node_at[i]];
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) s.u[k] = m - s.log_weight[k] * temperature;
  }
}

// The soft-min marginals of all tables at a node and the node's own vector are averaged; each gets the average back.
GM_CLONES void CoupledDual::star(Side& s, int node) {
  const auto& incident = s.incident[node];
  if (incident.empty()) return;
  const int labels = s.labels[node];
  const int width = static_cast<int>(padded(labels));
  double* sums = buffer_.data();
  for (const Incident& e : incident) {
    const Table& table = s.tables[e.table];
    const double* w = s.weight.data() + table.start;
    if (e.as_row) {
      for (int r = 0; r < labels; ++r, w += table.width) {
        vec::Four total{}, y;
        for (int c = 0; c < table.width; c += 4) {
          vec::load(w + c, y);
          total += y;
        }
        sums[r] = vec::sum(total);
      }
      for (int r = labels; r < width; ++r) sums[r] = 0;
    } else {
      for (int c = 0; c < width; c += 4) {
        vec::Four total{}, y;
        for (int r = 0; r < table.rows; ++r) {
          vec::load(w + static_cast<std::size_t>(r) * table.width + c, y);
          total += y;
        }
        vec::store(sums + c, total);
      }
    }
    sums += width;
  }
  // factors[l] of each table: average / its own marginal; log factors are remembered in `move`.
  const double share = 1.0 / (static_cast<double>(incident.size()) + 1);
  double* own = s.log_weight.data() + s.node_at[node];
  for (int c = 0; c < width; c += 4) {
    vec::Four average, y, weight;
    vec::load(own + c, average);
    const vec::FourBits removed = average < -1e100;
    double* at = buffer_.data() + c;
    for (std::size_t e = 0; e < incident.size(); ++e, at += width) {
      vec::load(at, y);
      y = y < 1e-290 ? vec::Four{1e-290, 1e-290, 1e-290, 1e-290} : y;
      vec::store(at, y);
      vec::log(y, y);
      average += y - top_log_weight;
    }
    average = average * share;
    vec::store(own + c, average);
    y = average + top_log_weight;
    y = y > 690.0 ? vec::Four{690, 690, 690, 690} : y;
    vec::exp(y, weight);
    double* f = buffer_.data() + c;
    for (std::size_t e = 0; e < incident.size(); ++e, f += width) {
      const Table& table = s.tables[incident[e].table];
      double* move = s.move.data() + (incident[e].as_row ? table.row_at : table.column_at) + c;
      vec::Four sum, log, old;
      vec::load(f, sum);
      vec::log(sum, log);
      vec::load(move, old);
      old += removed ? vec::Four{0, 0, 0, 0} : average - (log - top_log_weight);
      vec::store(move, old);
      sum = weight / sum;
      vec::store(f, sum);
    }
  }
  const double* f = buffer_.data();
  for (const Incident& e : incident) {
    const Table& table = s.tables[e.table];
    double* w = s.weight.data() + table.start;
    vec::Four total{};
    for (int r = 0; r < table.rows; ++r, w += table.width)
      for (int c = 0; c < table.width; c += 4) {
        vec::Four y, g;
        vec::load(w + c, y);
        if (e.as_row) {
          y = y * f[r];
        } else {
          vec::load(f + c, g);
          y = y * g;
        }
        total += y;
        vec::store(w + c, y);
      }
    s.total[e.table] = vec::sum(total);
    f += width;
  }
}

// Moves the cost of each term between its two tables, to where the soft-min differences agree.
GM_CLONES void CoupledDual::tie_terms() {
  double* w0 = side_[0].weight.data();
  double* w1 = side_[1].weight.data();
  double* total0 = side_[0].total.data();
  double* total1 = side_[1].total.data();
  constexpr std::size_t block = 256;
  alignas(32) double a[block], b[block], za[block], zb[block], f[block];
  for (std::size_t begin = 0; begin < term_factor_.size(); begin += block) {
    const std::size_t n = std::min(block, term_factor_.size() - begin);
    const std::size_t *at0 = term_at_[0].data() + begin, *at1 = term_at_[1].data() + begin;
    const int *table0 = term_table_[0].data() + begin, *table1 = term_table_[1].data() + begin;
    for (std::size_t k = 0; k < n; ++k) {
      a[k] = w0[at0[k]];
      b[k] = w1[at1[k]];
      za[k] = total0[table0[k]];
      zb[k] = total1[table1[k]];
    }
    for (std::size_t k = 0; k < n; ++k) {
      const double low_a = 1e-12 * za[k], low_b = 1e-12 * zb[k];
      double rest_a = za[k] - a[k], rest_b = zb[k] - b[k];
      rest_a = rest_a < low_a ? low_a : rest_a;
      rest_b = rest_b < low_b ? low_b : rest_b;
      double ratio = (b[k] / a[k]) * (rest_a / rest_b);
      ratio = ratio < 1e24 ? ratio : 1e24;
      ratio = ratio > 1e-24 ? ratio : 1e-24;
      ratio = a[k] > 1e-290 ? ratio : 1.0;  // removed, or too dear to matter at this temperature
      ratio = b[k] > 1e-290 ? ratio : 1.0;
      f[k] = std::sqrt(ratio);
    }
    double* factor = term_factor_.data() + begin;
    for (std::size_t k = 0; k < n; ++k) {
      factor[k] *= f[k];
      za[k] = a[k] * f[k];
      zb[k] = b[k] / f[k];
    }
    for (std::size_t k = 0; k < n; ++k) {
      w0[at0[k]] = za[k];
      w1[at1[k]] = zb[k];
      total0[table0[k]] += za[k] - a[k];
      total1[table1[k]] += zb[k] - b[k];
    }
  }
}

// The same for the assignments' costs between the nodes' vectors.
GM_CLONES void CoupledDual::tie_nodes() {
  for (Side& s : side_)
    for (int i = 0; i < s.n; ++i) {  // node_marginal is free during anneal but for its first entry: keep log odds there
      double top = -inf;
      for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) top = std::max(top, s.log_weight[k]);
      double* w = buffer_.data();
      vec::Four total{}, y;
      for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; k += 4) {
        vec::load(s.log_weight.data() + k, y);
        y = y - top;
        vec::exp(y, y);
        vec::store(w + (k - s.node_at[i]), y);
        total += y;
      }
      const double z = vec::sum(total);
      for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; k += 4) {
        vec::load(w + (k - s.node_at[i]), y);
        vec::Four rest = z - y;
        rest = rest < 1e-12 * z ? vec::Four{1, 1, 1, 1} * (1e-12 * z) : rest;
        y = y < 1e-200 ? vec::Four{1, 1, 1, 1} * 1e-200 : y;
        y = y / rest;
        vec::log(y, y);
        vec::store(s.u.data() + k, y);
      }
    }
  for (int a = 0; a < problem_.size(); ++a) {
    if (!alive_[a]) continue;
    const std::size_t k0 = side_[0].node_at[problem_.left[a]] + local_[0][a];
    const std::size_t k1 = side_[1].node_at[problem_.right[a]] + local_[1][a];
    const double delta = 0.5 * (side_[1].u[k1] - side_[0].u[k0]);
    side_[0].log_weight[k0] += delta;
    side_[1].log_weight[k1] -= delta;
  }
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
  double forced = 1;
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
      lap_costs_[static_cast<std::size_t>(i) * p.n2 + j] =
          side_[0].u[side_[0].node_at[i] + local_[0][a]] + side_[1].u[side_[1].node_at[j] + local_[1][a]] -
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

int CoupledDual::remove_above(double upper) {
  if (empty_) return 0;
  const Problem& p = problem_;
  int removed = 0;
  const Side &s0 = side_[0], &s1 = side_[1];
  std::vector<int> doomed;
  for (int a = 0; a < p.size(); ++a) {
    if (!alive_[a]) continue;
    const int i = p.left[a], j = p.right[a];
    const double reduced = lap_costs_[static_cast<std::size_t>(i) * p.n2 + j] - lap_.row[i] - lap_.column[j];
    const double with = bound_ + std::max(0.0, reduced) + s0.node_marginal[s0.node_at[i] + local_[0][a]] +
                        s1.node_marginal[s1.node_at[j] + local_[1][a]];
    label_bound_[a] = with;
    if (with >= upper) doomed.push_back(a);
  }
  for (const int a : doomed) kill(a);
  removed += static_cast<int>(doomed.size());
  for (int which = 0; which < 2; ++which) {
    Side& s = side_[which];
    const std::vector<double>& potential = which == 0 ? lap_.row : lap_.column;
    for (int i = 0; i < s.n; ++i) {
      if (!s.dummy[i]) continue;
      const int last = s.labels[i] - 1;
      const double with = bound_ - potential[i] + s.node_marginal[s.node_at[i] + last];
      if (which == 0) idle_bound_[i] = with;
      if (with >= upper) {
        s.dummy[i] = 0;
        forbid(s, i, last);
        ++removed;
      }
    }
  }
  check_empty();
  propagate();
  return removed;
}

void CoupledDual::check_empty() {
  for (const Side& s : side_)
    for (int i = 0; i < s.n; ++i) {
      const auto begin = s.u.begin() + s.node_at[i];
      if (std::none_of(begin, begin + s.labels[i], [](double c) { return c < inf; })) empty_ = true;
    }
}

void CoupledDual::forbid(Side& s, int node, int label) {
  s.u[s.node_at[node] + label] = inf;
  for (const Incident& e : s.incident[node]) {
    const Table& table = s.tables[e.table];
    double* x = s.x.data() + table.start;
    if (e.as_row)
      std::fill_n(x + static_cast<std::size_t>(label) * table.width, table.width, inf);
    else
      for (int r = 0; r < table.rows; ++r) x[static_cast<std::size_t>(r) * table.width + label] = inf;
  }
}

void CoupledDual::kill(int a) {
  alive_[a] = 0;
  forbid(side_[0], problem_.left[a], local_[0][a]);
  forbid(side_[1], problem_.right[a], local_[1][a]);
}

void CoupledDual::choose(int i, int assignment) {
  if (assignment >= 0) {
    isolate(assignment);
  } else {
    for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
      if (alive_[a]) kill(a);
  }
  check_empty();
  propagate();
}

void CoupledDual::rounding_costs(std::vector<double>& costs) const {
  const Problem& p = problem_;
  costs.assign(lap_costs_.size(), inf);
  const auto marginal = [](const Side& s, int i, int l) {
    return 0.5 * (s.node_marginal[s.node_at[i] + l] - (s.dummy[i] ? s.node_marginal[s.node_at[i] + s.labels[i] - 1] : 0));
  };
  for (int a = 0; a < p.size(); ++a)
    if (alive_[a]) {
      const int i = p.left[a], j = p.right[a];
      const std::size_t at = static_cast<std::size_t>(i) * p.n2 + j;
      costs[at] = lap_costs_[at] + marginal(side_[0], i, local_[0][a]) + marginal(side_[1], j, local_[1][a]);
    }
}

std::vector<int> CoupledDual::labels_left(int i) const {
  std::vector<int> left;
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
    if (alive_[a]) left.push_back(a);
  if (side_[0].dummy[i]) left.push_back(-1);
  return left;
}

double CoupledDual::label_bound(int i, int label) const { return label < 0 ? idle_bound_[i] : label_bound_[label]; }

int CoupledDual::label_count(int i) const {
  int n = side_[0].dummy[i];
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a) n += alive_[a];
  return n;
}

int CoupledDual::only_match(int i) const {
  for (int a = problem_.row_start[i]; a < problem_.row_start[i + 1]; ++a)
    if (alive_[a]) return problem_.right[a];
  return -1;
}

int CoupledDual::size() const {
  int n = 0;
  for (int i = 0; i < problem_.n1; ++i) n += label_count(i);
  return n;
}

// A node with one label left takes that label from its partner in the other graph; repeated until nothing changes.
void CoupledDual::propagate() {
  const Problem& p = problem_;
  for (bool changed = true; changed && !empty_;) {
    changed = false;
    for (int which = 0; which < 2; ++which)
      for (int i = 0; i < side_[which].n; ++i) {
        if (side_[which].dummy[i]) continue;
        const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
        int only = -1, count = 0;
        for (int k = start[i]; k < start[i + 1]; ++k)
          if (const int a = which == 0 ? k : p.col[k]; alive_[a]) {
            only = a;
            ++count;
          }
        if (count == 1) changed |= isolate(only);
      }
    check_empty();
  }
}

// Removes all labels that exclude an assignment. True when there were any.
bool CoupledDual::isolate(int assignment) {
  const Problem& p = problem_;
  bool changed = false;
  const auto drop = [&](int a) {
    if (a == assignment || !alive_[a]) return;
    kill(a);
    changed = true;
  };
  const int node[2] = {p.left[assignment], p.right[assignment]};
  for (int a = p.row_start[node[0]]; a < p.row_start[node[0] + 1]; ++a) drop(a);
  for (int k = p.col_start[node[1]]; k < p.col_start[node[1] + 1]; ++k) drop(p.col[k]);
  for (int which = 0; which < 2; ++which)
    if (Side& s = side_[which]; s.dummy[node[which]]) {
      s.dummy[node[which]] = 0;
      forbid(s, node[which], s.labels[node[which]] - 1);
      changed = true;
    }
  return changed;
}

// Drops the removed labels from vectors and tables; "unmatched" stays as the last label, removed or not. A table at a
// node with one label left is a vector: it is added to the other node's and dropped, and the terms in it with it.
void CoupledDual::compact() {
  std::vector<std::vector<int>> kept;
  for (int which = 0; which < 2; ++which) {
    Side& s = side_[which];
    const std::vector<int>& start = which == 0 ? problem_.row_start : problem_.col_start;
    kept.assign(s.n, {});
    std::vector<int> only(s.n, -1);  // the label that is left, if there is one
    std::vector<double> u, x;
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
      Table table{i, k, static_cast<int>(kept[i].size()), static_cast<int>(padded(static_cast<int>(kept[k].size()))),
                  x.size(), moves, moves + padded(static_cast<int>(kept[i].size()))};
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
      u.resize(padded(static_cast<int>(u.size())), inf);
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
