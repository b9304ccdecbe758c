// The scan of all moves, the inner loop of the local search, for lists of assignments.
#include <algorithm>
#include <limits>

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

}  // namespace gm
