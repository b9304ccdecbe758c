// Matchings that need no search.
#pragma once

#include <vector>

#include "bbgm_solver/problem.hpp"

namespace gm {

int count_matches(const std::vector<int>& assignment);

// (n1,) cheapest matching where each assignment has this cost, (A,), and terms have none.
std::vector<int> linear_matching(const Problem& problem, const std::vector<double>& cost);

}  // namespace gm
