// The public face of the core: options, result, solve, solve_batch.
#pragma once

#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace gm {

enum class Method { best, dual };
enum class Effort { fast, normal, thorough };

struct Options {
  Method method = Method::best;
  Effort effort = Effort::normal;
  bool full = false;         // match as many nodes as the allowed assignments permit
  int max_iterations = 100;  // method dual: iterations
  int round_every = 10;      // method dual: iterations between roundings
  double tolerance = 1e-9;   // a gap below tolerance * max(|objective|, largest cost) is a proof
};

struct Result {
  std::vector<int> assignment;  // (n1,) node of graph 2, or -1
  double objective = 0;         // from the original costs
  double lower_bound = 0;
  bool optimal = false;
  int iterations = 0;       // of the dual
  const char* stop_reason = "";
};

Result solve(const Problem& problem, const Options& options = {});

// threads = 0: as many as this process may use. The results do not depend on the number of threads.
std::vector<Result> solve_batch(const std::vector<const Problem*>& problems, const Options& options, int threads);

// The largest matching that the allowed assignments permit: its number of assignments.
int largest_matching(const Problem& problem);

// The two methods, on a problem in which staying unmatched is free.
Result solve_best(const Problem& problem, const Options& options);
Result solve_dual(const Problem& problem, const Options& options);

// A gap that counts as closed.
double gap_tolerance(const Problem& problem, const Options& options, double objective);

}  // namespace gm
