#include "pair/matchings.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "bbgm_solver/solve.hpp"
#include "core/lap.hpp"

namespace gm {

int count_matches(const std::vector<int>& assignment) {
  return static_cast<int>(std::count_if(assignment.begin(), assignment.end(), [](int j) { return j >= 0; }));
}

std::vector<int> linear_matching(const Problem& p, const std::vector<double>& cost) {
  std::vector<double> table(static_cast<std::size_t>(p.n1) * p.n2, std::numeric_limits<double>::infinity());
  for (int a = 0; a < p.size(); ++a) table[static_cast<std::size_t>(p.left[a]) * p.n2 + p.right[a]] = cost[a];
  LapResult lap;
  solve_lap(p.n1, p.n2, table.data(), lap);
  return lap.match;
}

int largest_matching(const Problem& p) {
  return count_matches(linear_matching(p, std::vector<double>(p.size(), -1.0)));
}

}  // namespace gm
