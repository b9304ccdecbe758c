// Depth-first branch and bound on the coupled dual, with a work limit.
#pragma once

#include <cstdint>

#include "best/incumbent.hpp"
#include "bounds/coupled/dual.hpp"
#include "search/local_search.hpp"

namespace gm {

// Counted work: table entries that sweeps touch.
struct Budget {
  std::int64_t limit = 0, used = 0;
  int sweeps = 0;     // made so far
  double closed = 0;  // part of the tree that is refuted, each child of a node counting the same
  bool spent() const { return used >= limit; }
  // A quarter of the limit is used, and at this pace it would have to be far larger.
  bool hopeless() const {
    return 4 * used > limit && 8 * closed * static_cast<double>(limit) < static_cast<double>(used);
  }
};

struct BranchOptions {
  double temperatures[2] = {0.03, 0.003};  // of a node, times the scale of the costs
  int sweeps = 3;                          // at each
};

// Bound and removal. True when nothing better than the incumbent is left.
template <class Dual>
bool prune(Dual& dual, const Incumbent& best) {
  for (;;) {
    if (dual.bound() >= best.target()) return true;
    const int removed = dual.remove_above(best.target());
    if (dual.empty()) return true;
    if (8 * removed >= dual.size()) dual.compact();
    if (removed == 0) return false;
  }
}

// The same after sweeps at one temperature.
template <class Dual>
bool refine(Dual& dual, double temperature, int sweeps, const Incumbent& best, Budget& budget) {
  dual.anneal(temperature, sweeps);
  budget.used += (sweeps + 2) * dual.sweep_work();
  budget.sweeps += sweeps;
  return prune(dual, best);
}

// Refutes every matching cheaper than the incumbent, or finds it and goes on. False when the budget ran out before, or
// the part of the tree refuted so far says that it will. `share` is the node's part of the tree.
bool branch(const CoupledDual& node, LocalSearch& search, Incumbent& best, Budget& budget,
            const BranchOptions& options = {}, double share = 1);

}  // namespace gm
