// The updates of a sweep, in the inner loop of the coupled dual.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bounds/coupled/ascent.hpp"
#include "bounds/coupled/table_sums.hpp"
#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::coupled {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

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
  const std::size_t all = incident.size() * width;  // the logarithms are behind the sums
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
      y = y - top_log_weight;
      vec::store(at + all, y);
      average += y;
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
      vec::load(f + all, log);
      vec::load(move, old);
      old += removed ? vec::Four{0, 0, 0, 0} : average - log;
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
