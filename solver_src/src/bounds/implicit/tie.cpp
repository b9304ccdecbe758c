// What the two graphs share, in the ascent on implicit tables: each term, and each assignment's own cost.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bounds/implicit/ascent.hpp"
#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm::implicit {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr int block = 64;

void prefetch(const void* place) {
#ifdef __GNUC__
  __builtin_prefetch(place, 1);
#else
  (void)place;
#endif
}

// How much of a term's cost is moved: a and b are, for the tables of graph 1 and of graph 2, its cost less the soft-min
// of the table, on input; on output what its weight becomes less, as a part of its table's. moved: what graph 1 gives.
GM_CLONES void balance(double temperature, double* a, double* b, const double* total_a, const double* total_b,
                       double* moved) {
  const double factor = -1 / temperature;
  for (int k = 0; k < block; k += 4) {
    vec::Four wa, wb, za, zb;
    vec::load(a + k, wa);
    vec::load(b + k, wb);
    vec::load(total_a + k, za);
    vec::load(total_b + k, zb);
    wa = wa * factor;
    wb = wb * factor;
    wa = wa > 300.0 ? vec::Four{300, 300, 300, 300} : wa;
    wb = wb > 300.0 ? vec::Four{300, 300, 300, 300} : wb;
    vec::exp(wa, wa);
    vec::exp(wb, wb);
    vec::Four rest_a = za - wa, rest_b = zb - wb;
    rest_a = rest_a < 1e-12 * za ? 1e-12 * za : rest_a;
    rest_b = rest_b < 1e-12 * zb ? 1e-12 * zb : rest_b;
    const vec::FourBits matters = (wa > 1e-290) & (wb > 1e-290);  // removed, or too expensive at this temperature
    const vec::Four one = {1, 1, 1, 1};
    vec::Four ratio = ((matters ? wb : one) / (matters ? wa : one)) * (rest_a / rest_b);
    ratio = ratio < 1e24 ? ratio : one * 1e24;
    ratio = ratio > 1e-24 ? ratio : one * 1e-24;
    ratio = matters ? ratio : one;
    vec::Four f, log;
    for (int c = 0; c < 4; ++c) f[c] = std::sqrt(ratio[c]);
    vec::log(f, log);
    log = matters ? log * temperature : one * 0.0;
    vec::store(moved + k, log);
    vec::store(a + k, matters ? wa * (f - 1.0) : one * 0.0);
    vec::store(b + k, matters ? wb * (1.0 / f - 1.0) : one * 0.0);
  }
}

// Logarithm of a label's weight in its node's vector over that of the others.
GM_CLONES void node_odds(const double* u, int width, double least, double temperature, double* odds) {
  const double factor = -1 / temperature;
  vec::Four total{}, y;
  for (int k = 0; k < width; k += 4) {
    vec::load(u + k, y);
    y = (y - least) * factor;
    vec::exp(y, y);
    total += y;
    vec::store(odds + k, y);
  }
  const double z = vec::sum(total);
  const vec::Four one = {1, 1, 1, 1};
  for (int k = 0; k < width; k += 4) {
    vec::load(odds + k, y);
    vec::Four rest = z - y;
    rest = rest < 1e-12 * z ? one * (1e-12 * z) : rest;
    y = y < 1e-200 ? one * 1e-200 : y;
    y = y / rest;
    vec::log(y, y);
    vec::store(odds + k, y);
  }
}

}  // namespace

// Moves the cost of each term between its two tables, to where the soft-min differences agree.
void Ascent::tie_terms(Split& split) {
  Side& s1 = split.side[1];
  total_.assign(s1.tables.size(), 1.0);
  // What is needed of graph 2's entries, beside each other: the terms of a table of graph 1 are scattered there.
  shared_.resize(s1.entries.size());
  for (const Table& table : s1.tables) {
    const double least = soft_least_[1][table.column_node];
    const int begin = s1.row_begin[table.row_at], end = s1.row_begin[table.row_at + table.rows];
    poll(2 * (end - begin));
    for (int k = begin; k < end; ++k) {
      const Entry& e = s1.entries[k];
      shared_[k] = {e.cost + s1.row_offset[table.row_at + e.row] + s1.column_offset[table.column_at + e.column] - least,
                    e.table};
    }
  }
  for (const Table& table : split.side[0].tables) tie_table(split, table);
  for (std::size_t k = 0; k < shared_.size(); ++k) s1.entries[k].cost += shared_[k].cost;
}

void Ascent::tie_table(Split& split, const Table& table) {
  Side& s0 = split.side[0];
  const int n_entries = static_cast<int>(s0.entries.size());
  double total = 1;
  const int begin = s0.row_begin[table.row_at], end = s0.row_begin[table.row_at + table.rows];
  const double least0 = soft_least_[0][table.column_node];
  alignas(32) double a[block], b[block], za[block], zb[block], moved[block];
  for (int first = begin; first < end; first += block) {
    const int n = std::min(block, end - first);
    poll(32 * n);
    for (int k = first + block; k < std::min(first + 2 * block, n_entries); ++k) prefetch(&shared_[split.link[k]]);
    for (int k = 0; k < n; ++k) {
      const Entry& e0 = s0.entries[first + k];
      const Shared& e1 = shared_[split.link[first + k]];
      a[k] = e0.cost + s0.row_offset[table.row_at + e0.row] + s0.column_offset[table.column_at + e0.column] - least0;
      b[k] = e1.cost;
      za[k] = total;
      zb[k] = total_[e1.table];
    }
    for (int k = n; k < block; ++k) {
      a[k] = b[k] = inf;
      za[k] = zb[k] = 1;
    }
    balance(temperature_, a, b, za, zb, moved);
    for (int k = 0; k < n; ++k) {
      Shared& e1 = shared_[split.link[first + k]];
      s0.entries[first + k].cost -= moved[k];
      e1.cost = moved[k];
      total += a[k];
      total_[e1.table] += b[k];
    }
  }
}

// The same for the assignments' costs between the nodes' vectors.
void Ascent::tie_nodes(Split& split) {
  for (const int which : {0, 1}) {
    const Side& s = split.side[which];
    for (int i = 0; i < s.n; ++i) {
      const double* u = s.u.data() + s.node_at[i];
      double* odds = log_odds_[which].data() + s.node_at[i];
      const int width = static_cast<int>(s.node_at[i + 1] - s.node_at[i]);
      const double least = *std::min_element(u, u + width);
      if (least == inf) continue;
      node_odds(u, width, least, temperature_, odds);
    }
  }
  for (int a = 0; a < split.problem.size(); ++a) {
    if (!split.alive[a]) continue;
    const std::size_t k0 = split.at(0, a), k1 = split.at(1, a);
    const double delta = 0.5 * temperature_ * (log_odds_[1][k1] - log_odds_[0][k0]);
    split.side[0].u[k0] -= delta;
    split.side[1].u[k1] += delta;
  }
}

}  // namespace gm::implicit
