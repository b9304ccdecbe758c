// Depth-first branch and bound on the coupled dual, with a work limit.
#pragma once

#include <cstdint>

#include "coupled.hpp"
#include "search.hpp"

namespace gm {

// The best matching so far; `tolerance` is the gap that counts as closed.
struct Incumbent {
  std::vector<int> assignment;
  double value = 0;
  double tolerance = 0;
  double target() const { return value - tolerance; }
};

// Table entries that sweeps may still touch.
struct Budget {
  std::int64_t work = 0;
  int sweeps = 0;  // made so far
};

struct BranchOptions {
  double hot = 0.03, cold = 0.003;  // temperatures of a node, times the scale of the costs
  int levels = 2;
  int sweeps = 4;  // a level
};

// Sweeps at one temperature, then bound and removal. True when nothing better than the incumbent is left.
bool refine(CoupledDual& dual, double temperature, int sweeps, const Incumbent& best, Budget& budget);

// Refutes every matching cheaper than the incumbent, or finds it and goes on. False when the budget ran out before.
bool branch(const CoupledDual& node, LocalSearch& search, Incumbent& best, Budget& budget,
            const BranchOptions& options = {});

}  // namespace gm
