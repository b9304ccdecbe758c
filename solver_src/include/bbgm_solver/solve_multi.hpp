// Matching of several graphs at once: minimises the summed objectives of pairs of graphs over cycle-consistent partial
// matchings.
#pragma once

#include <cstdint>

#include "bbgm_solver/multi_problem.hpp"
#include "bbgm_solver/options.hpp"

namespace gm {

// best: a search among consistent matchings. sync: the pairs' own matchings, made consistent without regard to the
// costs. dual: the solver that BB-GM uses, a dual of all pairs tied by cycle consistency, rounded as in sync.
enum class MultiMethod { best, sync, dual };

struct MultiOptions {
  MultiMethod method = MultiMethod::best;
  Options pair;     // of the problems of two graphs; `full` must be false
  int starts = 16;  // method best: local searches from random orders of the graphs, at most
  std::uint64_t seed = 0;
  int max_iterations = 200;  // method dual: iterations
  int round_every = 10;      // method dual: iterations between roundings
  int threads = 1;           // 0: as many as this process may use
};

struct MultiResult {
  Cliques cliques;  // in the form of MultiProblem::canonical
  double objective = 0;
  double lower_bound = 0;
  bool optimal = false;
  const char* stop_reason = "";
};

// The result does not depend on the number of threads. Two graphs: what `solve` finds, except for method dual.
MultiResult solve_multi(const MultiProblem& problem, const MultiOptions& options = {});

}  // namespace gm
