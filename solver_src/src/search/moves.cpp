// The scan of all moves, the inner loop of the local search: for lists of assignments, and faster when all are allowed.
#include <algorithm>
#include <limits>

#include "core/vec.hpp"
#include "search/local_search.hpp"

namespace gm {

// With the row and column of an assignment a = (i, j) free or held by a0 = (i, .) and b0 = (., j):
//   enter a, drop a0 and b0: gain(a) - gain(a0) - gain(b0) + pair(a0, b0), the terms of what is free being 0; for
//   a = a0 = b0 the same expression is the change of a pure drop;
//   swap, when b0's node can take a0's: that + gain(other) + pair(a, other), other = (node of b0, node of a0).
LocalSearch::Move LocalSearch::best_move(bool use_tabu) {
  return complete_ ? best_move_complete(use_tabu) : best_move_listed(use_tabu);
}

LocalSearch::Move LocalSearch::best_move_listed(bool use_tabu) {
  const Problem& p = problem_;
  Move best{std::numeric_limits<double>::infinity()};
  const double aspiration = best_value_ - value_ - 1e-12 * p.largest_cost;
  const std::int64_t now = use_tabu ? time_ : std::numeric_limits<std::int64_t>::max();
  for (int j = 0; j < p.n2; ++j) column_[j] = at2_[j] >= 0 ? -gain_[at2_[j]] : 0.0;
  for (int i = 0; i < p.n1; ++i) scan_row(i, now, aspiration, best);
  return best;
}

// The moves of a row. column_ holds -gain of what holds a column, and is left so.
void LocalSearch::scan_row(int i, std::int64_t now, double aspiration, Move& best) {
  const Problem& p = problem_;
  const int a0 = at1_[i];
  const double row = a0 >= 0 ? -gain_[a0] : 0.0;
  if (a0 >= 0) {
    for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e)
      if (const int b0 = at1_[pair_costs_.links[e].node]; b0 >= 0)
        column_[p.right[b0]] += pair_costs_.cost(pair_costs_.links[e], a0, b0);
  }
  for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
    const int j = p.right[a], b0 = at2_[j];
    const double delta = gain_[a] + column_[j] + row;
    if (delta < best.delta) {
      const bool tabu = a == a0 ? tabu_out_[i] > now : tabu_in_[a] > now;
      if (!tabu || delta < aspiration) best = a == a0 ? Move{delta, -1, -1, i} : Move{delta, a, -1, -1};
    }
    if (a0 < 0 || b0 < 0 || p.left[b0] <= i) continue;  // each swap once
    const int k = p.left[b0], other = p.find(k, p.right[a0]);
    if (other < 0) continue;
    const double swap = delta + gain_[other] + pair_costs_.cost(i, k, a, other);
    if (swap >= best.delta) continue;
    if (tabu_in_[a] > now && tabu_in_[other] > now && swap >= aspiration) continue;
    best = {swap, a, other, -1};
  }
  if (a0 < 0) return;
  for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e)
    if (const int b0 = at1_[pair_costs_.links[e].node]; b0 >= 0) column_[p.right[b0]] = -gain_[b0];
}

// The same when assignment (i, j) is number i n2 + j.
GM_CLONES LocalSearch::Move LocalSearch::best_move_complete(bool use_tabu) {
  const Problem& p = problem_;
  const int n1 = p.n1, n2 = p.n2;
  const double* gain = gain_.data();
  double* column = column_.data();
  double* pair = pair_.data();  // (n1,) cost of the pair that a swap with a node would bring
  const int* at1 = at1_.data();
  constexpr double inf = std::numeric_limits<double>::infinity();
  vec::Four infinite;
  vec::fill(inf, infinite);
  Move best{inf};
  const double aspiration = best_value_ - value_ - 1e-12 * p.largest_cost;
  const std::int64_t now = use_tabu ? time_ : std::numeric_limits<std::int64_t>::max();
  int n_held = 0;
  int *held = held_.data(), *held_column = held_.data() + n1;
  for (int i = 0; i < n1; ++i)
    if (at1[i] >= 0) {
      held[n_held] = i;
      held_column[n_held++] = at1[i] - i * n2;
    }
  for (int j = 0; j < n2; ++j) column[j] = at2_[j] >= 0 ? -gain[at2_[j]] : 0.0;
  int next_held = 0;
  for (int i = 0; i < n1; ++i) {
    const int a0 = at1[i], j0 = a0 - i * n2, first = i * n2;
    const double row = a0 >= 0 ? -gain[a0] : 0.0;
    const double* g = gain + first;
    if (a0 >= 0) {
      ++next_held;
      for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e) {
        const PairCosts::Link& link = pair_costs_.links[e];
        const int b0 = at1[link.node];
        if (b0 < 0) continue;
        const int j = b0 - link.node * n2;
        column[j] += pair_costs_.cost(link, a0, b0);
        pair[link.node] = pair_costs_.cost(link, first + j, link.node * n2 + j0);
      }
    }
    if (a0 >= 0) {
      const double delta = g[j0] + column[j0] + row;
      if (delta < best.delta && !(tabu_out_[i] > now && delta >= aspiration)) best = {delta, -1, -1, i};
      column[j0] = inf;  // what is left are the moves that enter
    }
    const std::int64_t* barred = tabu_in_.data() + first;
    vec::Four least, x, y;
    vec::fill(best.delta, least);
    int j = 0;
    for (; j + 4 <= n2; j += 4) {
      vec::FourBits until;
      vec::load(g + j, x);
      vec::load(column + j, y);
      vec::load(barred + j, until);
      x = x + y + row;
      x = ((until > now) & (x >= aspiration)) ? infinite : x;
      vec::min(x, least, least);
    }
    double smallest = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
    const auto entering = [&](int k) {
      const double delta = g[k] + column[k] + row;
      return barred[k] > now && delta >= aspiration ? inf : delta;
    };
    for (; j < n2; ++j) smallest = std::min(smallest, entering(j));
    if (smallest < best.delta) {
      j = 0;
      while (entering(j) != smallest) ++j;
      best = {smallest, first + j, -1, -1};
    }
    if (a0 < 0) continue;
    column[j0] = row;
    for (int k = next_held; k < n_held; ++k) {  // each swap once
      const int node = held[k], other = node * n2 + j0;
      const double delta = g[held_column[k]] + column[held_column[k]] + row + gain[other] + pair[node];
      if (delta >= best.delta) continue;
      const int a = first + held_column[k];
      if (tabu_in_[a] > now && tabu_in_[other] > now && delta >= aspiration) continue;
      best = {delta, a, other, -1};
    }
    for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e) {
      const int b0 = at1[pair_costs_.links[e].node];
      if (b0 < 0) continue;
      column[b0 - pair_costs_.links[e].node * n2] = -gain[b0];
      pair[pair_costs_.links[e].node] = 0;
    }
  }
  return best;
}

}  // namespace gm
