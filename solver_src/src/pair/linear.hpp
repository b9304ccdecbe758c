// Linear assignment over a problem's assignments.
#pragma once

#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/lap.hpp"

namespace gm {

class LinearAssignment {
 public:
  // cost: (A,), +inf where an assignment is left out. The result is there until the next call.
  const LapResult& solve(const Problem& problem, const std::vector<double>& cost);
  const LapResult& last() const { return lap_; }

 private:
  std::vector<double> table_;  // (n1, n2) where it is made
  LapResult lap_;
};

}  // namespace gm
