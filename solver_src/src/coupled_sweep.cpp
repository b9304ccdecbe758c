// Soft-min coordinate ascent of the coupled dual: sweeps over the nodes at one temperature.
#include "coupled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "poll.hpp"
#include "table_sums.hpp"
#include "vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
// Weights start at e^300 and less, so that costs up to 1000 temperatures above the minimum still count.
constexpr double top_log_weight = 300;

}  // namespace

void CoupledDual::anneal(double temperature, int sweeps) {
  if (empty_ || !(temperature > 0)) return;
  for (Side& s : side_) start_level(s, temperature);
  std::fill(term_factor_.begin(), term_factor_.end(), 1.0);
  for (int k = 0; k < sweeps; ++k) {
    for (int i = 0; i < side_[0].n; ++i) star(side_[0], i);
    tie_nodes();
    for (int j = 0; j < side_[1].n; ++j) star(side_[1], j);
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
    poll(static_cast<std::int64_t>(2 * n));
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
  poll(static_cast<std::int64_t>(s.x.size()));
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
  const int width = static_cast<int>(vec::padded(labels));
  poll(static_cast<std::int64_t>(incident.size()) * width * width);
  double* sums = buffer_.data();
  for (const Incident& e : incident) {
    const Table& table = s.tables[e.table];
    const double* w = s.weight.data() + table.start;
    if (e.as_row)
      sum_rows(w, labels, table.width, sums);
    else
      sum_columns(w, table.rows, table.width, sums);
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
    s.total[e.table] =
        e.as_row ? scale_rows(w, table.rows, table.width, f) : scale_columns(w, table.rows, table.width, f);
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
    poll(16 * static_cast<std::int64_t>(n));
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
    for (int i = 0; i < s.n; ++i) {  // u, which is rebuilt after the level, holds log odds meanwhile
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

}  // namespace gm
