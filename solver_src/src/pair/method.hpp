// The methods, and what solve() tells them beside the problem. The problem that they see may not be the one that was
// given: staying unmatched is free in it, and its costs may have been shifted and scaled.
#pragma once

#include <ctime>
#include <vector>

#include "bbgm_solver/options.hpp"
#include "bbgm_solver/problem.hpp"
#include "bbgm_solver/result.hpp"

namespace gm {

// Which gap counts as closed, in the units of the costs that a method sees.
struct Tolerance {
  double relative;       // Options::tolerance
  double largest_cost;   // of the given problem
  double offset = 0;     // what a given objective is more than that of the problem seen
  double least_gap = 0;  // what rounding leaves open anyway
  double gap(double objective) const;
};

// The bound and the incumbent at some point of a solve.
struct Event {
  int iterations;
  double lower_bound;
  std::vector<int> assignment;
  std::clock_t clock;  // processor time of this process
};

struct Task {
  const Options& options;
  Tolerance tolerance;
  std::vector<Event>* events = nullptr;  // filled in the course of the solve

  void note(int iterations, double lower_bound, const std::vector<int>& assignment) const {
    if (events) events->push_back({iterations, lower_bound, assignment, std::clock()});
  }
};

Result solve_best(const Problem& problem, const Task& task);
Result solve_dual(const Problem& problem, const Task& task);

// solve() of bbgm_solver/solve.hpp that also fills `events`, which may be null.
Result solve_with_events(const Problem& problem, const Options& options, std::vector<Event>* events);

}  // namespace gm
