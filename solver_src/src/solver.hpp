// The public face of the core: options, result, solve, solve_batch.
#pragma once

#include <cstdint>
#include <vector>

#include "poll.hpp"
#include "problem.hpp"

namespace gm {

enum class Method { best, dual };
enum class Effort { fast, normal, thorough };

// The bound and the incumbent at some point of a solve.
struct Event {
  int iterations;
  double lower_bound;
  std::vector<int> assignment;
};

struct Options {
  Method method = Method::best;
  Effort effort = Effort::normal;
  bool full = false;                     // match as many nodes as the allowed assignments permit
  int max_iterations = 100;              // method dual: iterations
  int round_every = 10;                  // method dual: iterations between roundings
  double tolerance = 1e-9;               // a gap below tolerance * max(|objective|, largest cost) is a proof
  const GiveUp* give_up = nullptr;       // solve() throws Interrupted where it says so; see poll.hpp
  std::vector<Event>* events = nullptr;  // filled in the course of the solve
  // Set by solve() for the methods: what the tolerance is relative to when they see other costs than were given.
  double offset = 0;     // of the objective
  double unit = -1;      // largest cost; negative: the problem's own
  double least_gap = 0;  // what rounding leaves open anyway
};

struct Result {
  std::vector<int> assignment;  // (n1,) node of graph 2, or -1
  double objective = 0;         // from the original costs
  double lower_bound = 0;
  bool optimal = false;
  int iterations = 0;  // of the dual
  const char* stop_reason = "";
};

Result solve(const Problem& problem, const Options& options = {});

struct TracePoint {
  int iterations;
  double lower_bound, objective;  // objective: +inf before the first full matching, where options.full asks for one
};

// How a solve goes: a point after each step that may change the bound or the incumbent; the last one is the result.
// Bounds never fall, objectives never rise.
std::vector<TracePoint> trace(const Problem& problem, Options options = {});

// threads = 0: as many as this process may use. The results do not depend on the number of threads.
// Only the calling thread asks options.give_up; options.events is for single solves.
std::vector<Result> solve_batch(const std::vector<const Problem*>& problems, const Options& options, int threads);

// The largest matching that the allowed assignments permit: its number of assignments.
int largest_matching(const Problem& problem);

// The two methods, on a problem in which staying unmatched is free.
Result solve_best(const Problem& problem, const Options& options);
Result solve_dual(const Problem& problem, const Options& options);

// A gap that counts as closed.
double gap_tolerance(const Problem& problem, const Options& options, double objective);

}  // namespace gm
