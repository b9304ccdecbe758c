#include "bounds/coupled/ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::coupled {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

void Ascent::run(Split& split, double temperature, int sweeps) {
  std::size_t most = 4;
  for (const Side& s : split.side)
    for (int i = 0; i < s.n; ++i) most = std::max(most, (2 * s.incident[i].size() + 1) * vec::padded(s.labels[i]));
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

}  // namespace gm::coupled
