// Linear assignment with the freedom to leave nodes unmatched at cost 0 (shortest augmenting paths, O(n^3)).
#pragma once

#include <utility>
#include <vector>

namespace gm {

struct LapResult {
  double value = 0;         // of the dual solution: sum of row and column potentials
  std::vector<int> match;   // (n1,) column or -1
  std::vector<double> row;  // (n1,) potentials <= 0, with row[i] + column[j] <= cost[i, j]
  std::vector<double> column;
  // Scratch of solve_lap.
  std::vector<int> owner;
  std::vector<double> open, block, from, padded;
  std::vector<std::pair<int, double>> reached;
};

// cost: (n1, n2) row-major, +inf where forbidden. The result is written into `result`, whose memory is reused.
void solve_lap(int n1, int n2, const double* cost, LapResult& result);

}  // namespace gm
