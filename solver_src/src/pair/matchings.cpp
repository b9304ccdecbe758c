#include "pair/matchings.hpp"

#include <algorithm>
#include "bbgm_solver/solve.hpp"
#include "pair/linear.hpp"

namespace gm {

int count_matches(const std::vector<int>& assignment) {
  return static_cast<int>(std::count_if(assignment.begin(), assignment.end(), [](int j) { return j >= 0; }));
}

std::vector<int> linear_matching(const Problem& p, const std::vector<double>& cost) {
  LinearAssignment linear;
  return linear.solve(p, cost).match;
}

int largest_matching(const Problem& p) {
  return count_matches(linear_matching(p, std::vector<double>(p.size(), -1.0)));
}

}  // namespace gm
