// A problem with fewer assignments.
#pragma once

#include <vector>

#include "bbgm_solver/problem.hpp"

namespace gm {

// The problem without the assignments that are not kept: (A,). Nodes keep their numbers.
Problem restricted(const Problem& problem, const std::vector<char>& kept);

}  // namespace gm
