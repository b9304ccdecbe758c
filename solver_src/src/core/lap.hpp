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
  std::vector<int> owner;  // (n2,) row or -1
  // Scratch.
  std::vector<double> open, block, from, padded;
  std::vector<std::pair<int, double>> reached;
};

// cost: (n1, n2) row-major, +inf where forbidden. The result is written into `result`, whose memory is reused.
void solve_lap(int n1, int n2, const double* cost, LapResult& result);

// The same where most pairs are forbidden, in memory and time of those that are listed: those of row i are row_start[i]
// to row_start[i + 1] - 1 in `column` and `cost`. The value is that of the table; of several optima it may be another.
void solve_listed_lap(int n1, int n2, const int* row_start, const int* column, const double* cost, LapResult& result);

}  // namespace gm
