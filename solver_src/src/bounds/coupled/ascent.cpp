#include "bounds/coupled/ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/poll.hpp"
#include "bounds/coupled/table_sums.hpp"
#include "core/vec.hpp"

namespace gm::coupled {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
// Weights start at e^300 and less, so that costs up to 1000 temperatures above the minimum still count.
constexpr double top_log_weight = 300;

}  // namespace

void Ascent::run(Split& split, double temperature, int sweeps) {
  std::size_t most = 4;
  for (const Side& s : split.side)
    for (int i = 0; i < s.n; ++i) most = std::max(most, (s.incident[i].size() + 1) * vec::padded(s.labels[i]));
  if (buffer_.size() < most) buffer_.resize(most);
  for (const int which : {0, 1}) start(split.side[which], weights_[which], temperature);
  term_factor_.assign(split.terms.size(), 1.0);
  for (int k = 0; k < sweeps; ++k) {
    for (int i = 0; i < split.side[0].n; ++i) star(split.side[0], weights_[0], i);
    tie_nodes(split);
    for (int j = 0; j < split.side[1].n; ++j) star(split.side[1], weights_[1], j);
    tie_terms(split);
    tie_nodes(split);
  }
  for (const int which : {0, 1}) finish(split.side[which], weights_[which], temperature);
  for (std::size_t t = 0; t < term_factor_.size(); ++t) {
    if (term_factor_[t] == 1.0) continue;
    vec::Four f;
    vec::fill(term_factor_[t], f);
    vec::log(f, f);
    const double delta = temperature * f[0];
    split.side[0].x[split.places[0].at[t]] -= delta;
    split.side[1].x[split.places[1].at[t]] += delta;
  }
}

GM_CLONES void Ascent::start(const Side& s, Weights& weights, double temperature) {
  weights.table.resize(s.x.size());
  weights.total.resize(s.tables.size());
  weights.move.assign(s.rows_and_columns, 0.0);
  weights.log_vector.resize(s.u.size());
  weights.log_odds.resize(s.u.size());
  weights.least.resize(s.n);
  const double factor = -1 / temperature;
  for (std::size_t e = 0; e < s.tables.size(); ++e) {
    const Table& table = s.tables[e];
    const double* x = s.x.data() + table.start;
    double* w = weights.table.data() + table.start;
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
    weights.total[e] = vec::sum(total);
  }
  for (int i = 0; i < s.n; ++i) {
    double m = inf;
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) m = std::min(m, s.u[k]);
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) weights.log_vector[k] = (s.u[k] - m) * factor;
    weights.least[i] = m;
  }
}

GM_CLONES void Ascent::finish(Side& s, const Weights& weights, double temperature) {
  poll(static_cast<std::int64_t>(s.x.size()));
  for (const Table& table : s.tables) {
    double* x = s.x.data() + table.start;
    const double* row = weights.move.data() + table.row_at;
    const double* column = weights.move.data() + table.column_at;
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
    const double m = weights.least[i];
    for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) s.u[k] = m - weights.log_vector[k] * temperature;
  }
}

// The soft-min marginals of all tables at a node and the node's own vector are averaged; each gets the average back.
GM_CLONES void Ascent::star(const Side& s, Weights& weights, int node) {
  const auto& incident = s.incident[node];
  if (incident.empty()) return;
  const int labels = s.labels[node];
  const int width = static_cast<int>(vec::padded(labels));
  poll(static_cast<std::int64_t>(incident.size()) * width * width);
  double* sums = buffer_.data();
  for (const Incident& e : incident) {
    const Table& table = s.tables[e.table];
    const double* w = weights.table.data() + table.start;
    if (e.as_row)
      sum_rows(w, labels, table.width, sums);
    else
      sum_columns(w, table.rows, table.width, sums);
    sums += width;
  }
  // factors[l] of each table: average / its own marginal; log factors are remembered in `move`.
  const double share = 1.0 / (static_cast<double>(incident.size()) + 1);
  double* own = weights.log_vector.data() + s.node_at[node];
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
      double* move = weights.move.data() + (incident[e].as_row ? table.row_at : table.column_at) + c;
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
    double* w = weights.table.data() + table.start;
    weights.total[e.table] =
        e.as_row ? scale_rows(w, table.rows, table.width, f) : scale_columns(w, table.rows, table.width, f);
    f += width;
  }
}

// Moves the cost of each term between its two tables, to where the soft-min differences agree.
GM_CLONES void Ascent::tie_terms(const Split& split) {
  double* w0 = weights_[0].table.data();
  double* w1 = weights_[1].table.data();
  double* total0 = weights_[0].total.data();
  double* total1 = weights_[1].total.data();
  constexpr std::size_t block = 256;
  alignas(32) double a[block], b[block], za[block], zb[block], f[block];
  for (std::size_t begin = 0; begin < term_factor_.size(); begin += block) {
    const std::size_t n = std::min(block, term_factor_.size() - begin);
    poll(16 * static_cast<std::int64_t>(n));
    const std::size_t *at0 = split.places[0].at.data() + begin, *at1 = split.places[1].at.data() + begin;
    const int *table0 = split.places[0].table.data() + begin, *table1 = split.places[1].table.data() + begin;
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
GM_CLONES void Ascent::tie_nodes(const Split& split) {
  for (const int which : {0, 1}) {
    const Side& s = split.side[which];
    Weights& weights = weights_[which];
    const double* log_vector = weights.log_vector.data();
    for (int i = 0; i < s.n; ++i) {
      double top = -inf;
      for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; ++k) top = std::max(top, log_vector[k]);
      double* w = buffer_.data();
      vec::Four total{}, y;
      for (std::size_t k = s.node_at[i]; k < s.node_at[i + 1]; k += 4) {
        vec::load(log_vector + k, y);
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
        vec::store(weights.log_odds.data() + k, y);
      }
    }
  }
  for (int a = 0; a < split.problem.size(); ++a) {
    if (!split.alive[a]) continue;
    const std::size_t k0 = split.at(0, a), k1 = split.at(1, a);
    const double delta = 0.5 * (weights_[1].log_odds[k1] - weights_[0].log_odds[k0]);
    weights_[0].log_vector[k0] += delta;
    weights_[1].log_vector[k1] -= delta;
  }
}

}  // namespace gm::coupled
