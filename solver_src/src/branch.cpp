#include "branch.hpp"

#include <algorithm>
#include <cmath>

namespace gm {

bool refine(CoupledDual& dual, double temperature, int sweeps, const Incumbent& best, Budget& budget) {
  dual.anneal(temperature, sweeps);
  budget.work -= (sweeps + 2) * dual.sweep_work();
  budget.sweeps += sweeps;
  for (;;) {
    if (dual.bound() >= best.target()) return true;
    const int removed = dual.remove_above(best.target());
    if (dual.empty()) return true;
    if (8 * removed >= dual.size()) dual.compact();
    if (removed == 0) return false;
  }
}

namespace {

// The node of graph 1 with the fewest labels, but more than one; -1 when every node has one.
int branching_node(const CoupledDual& dual, int n1) {
  int best = -1, least = 0;
  for (int i = 0; i < n1; ++i) {
    const int count = dual.label_count(i);
    if (count > 1 && (best < 0 || count < least)) {
      best = i;
      least = count;
    }
  }
  return best;
}

}  // namespace

bool branch(const CoupledDual& node, LocalSearch& search, Incumbent& best, Budget& budget,
            const BranchOptions& options) {
  const int n1 = static_cast<int>(best.assignment.size());
  const int i = branching_node(node, n1);
  if (i < 0) {  // one matching is left
    std::vector<int> only(n1, -1);
    for (int k = 0; k < n1; ++k) only[k] = node.only_match(k);
    search.start(only);
    search.descend();
    if (search.best_value() < best.value) {
      best.value = search.best_value();
      best.assignment = search.best();
    }
    return true;
  }
  for (const int label : node.labels_left(i)) {
    if (budget.work <= 0) return false;
    CoupledDual child(node);
    child.choose(i, label);
    if (child.empty()) continue;
    child.compact();
    bool refuted = false;
    for (int k = 0; k < options.levels && !refuted; ++k) {
      const double t = options.levels > 1 ? static_cast<double>(k) / (options.levels - 1) : 1.0;
      const double temperature = options.hot * std::pow(options.cold / options.hot, t);
      refuted = refine(child, child.scale() * temperature, options.sweeps, best, budget);
    }
    if (!refuted && !branch(child, search, best, budget, options)) return false;
  }
  return true;
}

}  // namespace gm
