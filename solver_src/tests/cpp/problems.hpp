// Random problems, and what is known of a problem by trying every matching.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "bbgm_solver/problem.hpp"

namespace gm::test {

struct Random {
  std::uint64_t state;
  double operator()() {  // uniform in [-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
  }
};

inline Problem random_problem(int n1, int n2, std::uint64_t seed, double density = 0.8) {
  Random random{seed};
  std::vector<int> left, right;
  std::vector<double> cost;
  for (int i = 0; i < n1; ++i)
    for (int j = 0; j < n2; ++j) {
      if (random() > 2 * density - 1) continue;
      left.push_back(i);
      right.push_back(j);
      cost.push_back(random());
    }
  std::vector<Term> terms;
  const int n = static_cast<int>(cost.size());
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (left[a] != left[b] && right[a] != right[b] && random() > 0.2) terms.push_back({a, b, random()});
  return Problem(n1, n2, left, right, cost, merge_terms(terms));
}

// Calls f for every matching of allowed assignments.
inline void each_matching(const Problem& p, const std::function<void(const std::vector<int>&)>& f) {
  std::vector<int> match(p.n1, -1), used(p.n2, 0);
  const std::function<void(int)> next = [&](int i) {
    if (i == p.n1) return f(match);
    next(i + 1);
    for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
      if (used[p.right[a]]) continue;
      used[p.right[a]] = 1;
      match[i] = p.right[a];
      next(i + 1);
      match[i] = -1;
      used[p.right[a]] = 0;
    }
  };
  next(0);
}

inline double optimum(const Problem& p) {
  double best = 0;
  each_matching(p, [&](const std::vector<int>& match) { best = std::min(best, p.evaluate(match)); });
  return best;
}

}  // namespace gm::test
