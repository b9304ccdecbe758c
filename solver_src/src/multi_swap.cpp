// Swaps between two objects.
#include "multi_swap.hpp"

#include <algorithm>

#include "multi_state.hpp"
#include "poll.hpp"

namespace gm {

void SwapChoice::reset(int graphs) {
  n_ = graphs;
  cost_.assign(static_cast<std::size_t>(n_) * n_, 0.0);
  barred_.assign(static_cast<std::size_t>(n_) * n_, 0);
}

void SwapChoice::set(int g, int h, double cost, bool allowed) {
  cost_[g * n_ + h] = cost_[h * n_ + g] = allowed ? cost : 0;
  barred_[g * n_ + h] = barred_[h * n_ + g] = !allowed;
}

double SwapChoice::solve(std::vector<char>& swapped) const {
  swapped.assign(n_, 0);
  return n_ <= enumerated ? enumerate(swapped) : descend(swapped);
}

void SwapChoice::flip(std::vector<char>& swapped, int g, double& value, int& bars) const {
  for (int h = 0; h < n_; ++h) {
    const int sign = swapped[g] == swapped[h] ? 1 : -1;  // g and h itself: no cost
    value += sign * cost_[g * n_ + h];
    bars += sign * barred_[g * n_ + h];
  }
  swapped[g] ^= 1;
}

// All choices, one flip from each to the next. Graph 0 stays, since a swap of all changes nothing.
double SwapChoice::enumerate(std::vector<char>& best) const {
  std::vector<char> swapped(n_, 0);
  double value = 0, least = 0;
  int bars = 0;
  for (int step = 1; step < 1 << std::max(0, n_ - 1); ++step) {
    int g = 1;
    while (!(step >> (g - 1) & 1)) ++g;
    flip(swapped, g, value, bars);
    if (bars > 0 || !(value < least)) continue;
    least = value;
    best = swapped;
  }
  return least;
}

// Passes in which every graph flips once, the best of those left first, also where that does not pay (Kernighan and Lin
// 1970); each pass begins at the best choice so far.
double SwapChoice::descend(std::vector<char>& best) const {
  double least = 0;
  bool better = true;
  for (int pass = 0; better && pass < n_; ++pass) {
    better = false;
    std::vector<char> swapped(best), flipped(n_, 0);
    double value = least;
    int bars = 0;
    for (int step = 1; step < n_; ++step) {  // all flips together would change nothing
      int next = -1, fewest = 0;
      double lowest = 0;
      for (int g = 0; g < n_; ++g) {
        if (flipped[g]) continue;
        double other = value;
        int left = bars;
        flip(swapped, g, other, left);
        swapped[g] ^= 1;
        if (next >= 0 && (left > fewest || (left == fewest && !(other < lowest)))) continue;
        next = g;
        fewest = left;
        lowest = other;
      }
      if (next < 0) break;
      flip(swapped, next, value, bars);
      flipped[next] = 1;
      if (bars > 0 || !(value < least)) continue;
      least = value;
      best = swapped;
      better = true;
    }
  }
  return least;
}

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
  Matches(const Problem& p, const std::vector<double>& gain, int i, int j, int i2, int j2) {
    const int a = i < 0 || j < 0 ? -1 : p.find(i, j), b = i2 < 0 || j2 < 0 ? -1 : p.find(i2, j2);
    allowed = (a >= 0 || i < 0 || j < 0) && (b >= 0 || i2 < 0 || j2 < 0);
    if (a >= 0) gains += gain[a];
    if (b >= 0) gains += gain[b];
    if (a >= 0 && b >= 0) term = gm::term(p, a, b);
  }
};

}  // namespace

bool MultiState::swap(int o1, int o2) {
  graphs_.clear();
  for (int p = 0; p < d_; ++p)
    if (member(o1, p) >= 0 || member(o2, p) >= 0) graphs_.push_back(p);
  const int n = static_cast<int>(graphs_.size());
  poll(static_cast<std::int64_t>(n) * n);
  choice_.reset(n);
  for (int g = 0; g < n; ++g)
    for (int h = g + 1; h < n; ++h) {
      const int p = graphs_[g], q = graphs_[h], pair = problem_.pair(p, q);
      if (pair < 0) continue;
      const Problem& problem = *problem_.pairs[pair].problem;
      const int i = member(o1, p), j = member(o1, q), i2 = member(o2, p), j2 = member(o2, q);
      const Matches crossed(problem, gain_[pair], i, j2, i2, j), now(problem, gain_[pair], i, j, i2, j2);
      // The gains of present matches count their term twice, those of absent ones not at all.
      choice_.set(g, h, crossed.gains + crossed.term - (now.gains - now.term), crossed.allowed);
    }
  if (!(choice_.solve(swapped_) < least_)) return false;
  // First all that move leave: on the way, nothing may be together that is not so before or after.
  nodes_.assign(2 * static_cast<std::size_t>(n), -1);
  for (int g = 0; g < n; ++g) {
    if (!swapped_[g]) continue;
    const int p = graphs_[g];
    nodes_[2 * g] = member(o1, p);
    nodes_[2 * g + 1] = member(o2, p);
    for (const int i : {nodes_[2 * g], nodes_[2 * g + 1]})
      if (i >= 0) detach(p, i);
  }
  for (int g = 0; g < n; ++g) {
    if (nodes_[2 * g] >= 0) attach(graphs_[g], nodes_[2 * g], o2);
    if (nodes_[2 * g + 1] >= 0) attach(graphs_[g], nodes_[2 * g + 1], o1);
  }
  return true;
}

bool MultiState::swap_all() {
  bool any = false;
  const int n = static_cast<int>(count_.size());
  for (int o1 = 0; o1 < n; ++o1) {
    for (int o2 = o1 + 1; o2 < n; ++o2)
      if (count_[o1] > 0 && count_[o2] > 0) any |= swap(o1, o2);
    if (const int empty = free_object(); count_[o1] > 1 && empty < n) any |= swap(o1, empty);
  }
  return any;
}

}  // namespace gm
