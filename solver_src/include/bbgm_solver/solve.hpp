// Matching of two graphs.
#pragma once

#include <vector>

#include "bbgm_solver/options.hpp"
#include "bbgm_solver/problem.hpp"
#include "bbgm_solver/result.hpp"

namespace gm {

Result solve(const Problem& problem, const Options& options = {});

// A point after each step of a solve that may change the bound or the objective; the last one is the result.
// Bounds never fall, objectives never rise.
std::vector<TracePoint> trace(const Problem& problem, const Options& options = {});

// Solves many problems in threads. threads = 0: as many as this process may use. The results do not depend on the
// number of threads. Only the calling thread asks options.give_up.
std::vector<Result> solve_batch(const std::vector<const Problem*>& problems, const Options& options, int threads);

// The largest matching that the allowed assignments permit: its number of assignments.
int largest_matching(const Problem& problem);

}  // namespace gm
