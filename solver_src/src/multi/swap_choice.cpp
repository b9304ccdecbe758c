#include "multi/swap_choice.hpp"

#include <algorithm>

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

}  // namespace gm
