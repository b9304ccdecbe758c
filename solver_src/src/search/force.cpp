// Forced assignments: each is entered whatever it costs, and what lies around it adapts. In a problem whose terms are
// local, a trial touches few nodes, and a pass over all assignments costs about as much as a hundred moves of tabu().
#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "search/local_search.hpp"

namespace gm {

// The best move that changes node i and leaves node `fixed` as it is; see best_move() for the terms.
LocalSearch::Move LocalSearch::best_move_of(int i, int fixed) const {
  const Problem& p = problem_;
  const int a0 = at1_[i];
  const double row = a0 >= 0 ? -gain_[a0] : 0.0;
  Move best{a0 >= 0 ? row : std::numeric_limits<double>::infinity(), -1, -1, i};
  for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
    const int b0 = at2_[p.right[a]];
    if (a == a0) continue;
    double delta = gain_[a] + row;
    if (b0 < 0) {
      if (delta < best.delta) best = {delta, a, -1, -1};
      continue;
    }
    const int k = p.left[b0];
    if (k == fixed) continue;
    delta -= gain_[b0];
    if (a0 >= 0) delta += pair_costs_.cost(i, k, a0, b0);
    if (delta < best.delta) best = {delta, a, -1, -1};
    const int other = a0 < 0 ? -1 : p.find(k, p.right[a0]);
    if (other < 0) continue;
    delta += gain_[other] + pair_costs_.cost(i, k, a, other);
    if (delta < best.delta) best = {delta, a, other, -1};
  }
  return best;
}

// Applies a move, remembers what it changed and whose moves may pay now.
void LocalSearch::apply_and_note(const Move& move) {
  const Problem& p = problem_;
  int nodes[4], n = 0;
  if (move.drop >= 0) nodes[n++] = move.drop;
  for (const int a : {move.insert1, move.insert2}) {
    if (a < 0) continue;
    nodes[n++] = p.left[a];
    if (at2_[p.right[a]] >= 0) nodes[n++] = p.left[at2_[p.right[a]]];
  }
  const auto wake = [this](int node) {
    if (awake_[node]) return;
    awake_[node] = 1;
    queue_.push_back(node);
  };
  int freed[4];
  for (int k = 0; k < n; ++k) {
    freed[k] = at1_[nodes[k]] < 0 ? -1 : p.right[at1_[nodes[k]]];
    if (changed_[nodes[k]]) continue;
    changed_[nodes[k]] = 1;
    log_.push_back({nodes[k], at1_[nodes[k]]});
  }
  apply(move);
  for (int k = 0; k < n; ++k) {
    wake(nodes[k]);
    for (int e = pair_costs_.start[nodes[k]]; e < pair_costs_.start[nodes[k] + 1]; ++e) wake(pair_costs_.links[e].node);
    if (freed[k] >= 0 && at2_[freed[k]] < 0)
      for (int c = p.col_start[freed[k]]; c < p.col_start[freed[k] + 1]; ++c) wake(p.left[p.col[c]]);
  }
}

// Best moves of the nodes that are awake, until none pays.
void LocalSearch::settle(int fixed) {
  const double least = -1e-12 * (1e-300 + problem_.largest_cost);
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const int i = queue_[next];
    awake_[i] = 0;
    if (i == fixed) continue;
    const Move move = best_move_of(i, fixed);
    if (move.delta < least) apply_and_note(move);
  }
  queue_.clear();
}

bool LocalSearch::force(int a) {
  const Problem& p = problem_;
  const double before = value_;
  const int i = p.left[a];
  apply_and_note({0, a, -1, -1});
  settle(i);
  queue_.push_back(i);
  awake_[i] = 1;
  settle(-1);
  const bool better = value_ < before - 1e-12 * p.largest_cost;
  if (!better) {
    for (const auto& [node, old] : log_)
      if (at1_[node] >= 0) remove(at1_[node]);
    for (const auto& [node, old] : log_)
      if (old >= 0) insert(old);
    value_ = before;
  }
  for (const auto& [node, old] : log_) changed_[node] = 0;
  log_.clear();
  return better;
}

std::int64_t LocalSearch::force_all(std::int64_t trials) {
  const Problem& p = problem_;
  awake_.assign(p.n1, 0);
  changed_.assign(p.n1, 0);
  std::int64_t made = 0;
  int idle = 0;  // trials since the last that paid
  for (int a = 0; idle < p.size() && made < trials; a = a + 1 == p.size() ? 0 : a + 1) {
    ++idle;
    if (at1_[p.left[a]] == a) continue;
    ++made;
    poll(64 * (pair_costs_.start[p.left[a] + 1] - pair_costs_.start[p.left[a]] + 1));
    if (force(a)) idle = 0;
  }
  keep_if_best();
  return made;
}

}  // namespace gm
