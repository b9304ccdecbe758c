#include "multi/swap.hpp"

#include <algorithm>

#include "core/poll.hpp"

namespace gm {

namespace {

// Cost of the term of two assignments, 0 if there is none.
double term(const Problem& p, int a, int b) {
  const auto begin = p.adj.begin() + p.adj_start[a], end = p.adj.begin() + p.adj_start[a + 1];
  const auto at = std::lower_bound(begin, end, b, [](const Neighbour& n, int partner) { return n.a < partner; });
  return at != end && at->a == b ? at->cost : 0;
}

// Two matches of a pair of graphs, each there or not.
struct Matches {
  double gains = 0, term = 0;
  bool allowed = true;
  Matches(const CliqueState& state, int pair, int i, int j, int i2, int j2) {
    const Problem& p = *state.problem.pairs[pair].problem;
    const int a = i < 0 || j < 0 ? -1 : p.find(i, j), b = i2 < 0 || j2 < 0 ? -1 : p.find(i2, j2);
    allowed = (a >= 0 || i < 0 || j < 0) && (b >= 0 || i2 < 0 || j2 < 0);
    if (a >= 0) gains += state.gain(pair, a);
    if (b >= 0) gains += state.gain(pair, b);
    if (a >= 0 && b >= 0) term = gm::term(p, a, b);
  }
};

}  // namespace

bool Swap::swap(int o1, int o2) {
  graphs_.clear();
  for (int p = 0; p < state_.problem.graphs(); ++p)
    if (state_.member(o1, p) >= 0 || state_.member(o2, p) >= 0) graphs_.push_back(p);
  const int n = static_cast<int>(graphs_.size());
  poll(static_cast<std::int64_t>(n) * n);
  choice_.reset(n);
  for (int g = 0; g < n; ++g)
    for (int h = g + 1; h < n; ++h) {
      const int p = graphs_[g], q = graphs_[h], pair = state_.problem.pair(p, q);
      if (pair < 0) continue;
      const int i = state_.member(o1, p), j = state_.member(o1, q), i2 = state_.member(o2, p),
                j2 = state_.member(o2, q);
      const Matches crossed(state_, pair, i, j2, i2, j), now(state_, pair, i, j, i2, j2);
      // The gains of present matches count their term twice, those of absent ones not at all.
      choice_.set(g, h, crossed.gains + crossed.term - (now.gains - now.term), crossed.allowed);
    }
  if (!(choice_.solve(swapped_) < state_.least_change())) return false;
  // First all that move leave: on the way, nothing may be together that is not so before or after.
  nodes_.assign(2 * static_cast<std::size_t>(n), -1);
  for (int g = 0; g < n; ++g) {
    if (!swapped_[g]) continue;
    const int p = graphs_[g];
    nodes_[2 * g] = state_.member(o1, p);
    nodes_[2 * g + 1] = state_.member(o2, p);
    for (const int i : {nodes_[2 * g], nodes_[2 * g + 1]})
      if (i >= 0) state_.detach(p, i);
  }
  for (int g = 0; g < n; ++g) {
    if (nodes_[2 * g] >= 0) state_.attach(graphs_[g], nodes_[2 * g], o2);
    if (nodes_[2 * g + 1] >= 0) state_.attach(graphs_[g], nodes_[2 * g + 1], o1);
  }
  return true;
}

bool Swap::swap_all() {
  bool any = false;
  const int n = state_.objects();
  for (int o1 = 0; o1 < n; ++o1) {
    for (int o2 = o1 + 1; o2 < n; ++o2)
      if (state_.count(o1) > 0 && state_.count(o2) > 0) any |= swap(o1, o2);
    if (const int empty = state_.free_object(); state_.count(o1) > 1 && empty < n) any |= swap(o1, empty);
  }
  return any;
}

}  // namespace gm
