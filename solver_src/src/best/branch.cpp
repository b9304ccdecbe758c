#include "best/branch.hpp"

#include <algorithm>

#include "core/poll.hpp"

namespace gm {

namespace {

// The node of graph 1 whose labels promise the smallest tree: each counts less the nearer its bound is to the
// incumbent. -1 when every node has one label.
int branching_node(const CoupledDual& dual, int n1, double target) {
  const double gap = std::max(target - dual.last_bound(), 1e-300);
  int best = -1;
  double least = 0;
  for (int i = 0; i < n1; ++i) {
    const std::vector<int> labels = dual.labels_left(i);
    if (labels.size() < 2) continue;
    double size = 0;
    for (const int label : labels) {
      const double closed = (dual.label_bound(i, label) - dual.last_bound()) / gap;
      const double open = 1 - std::min(1.0, std::max(0.0, closed));
      size += 0.5 + open * open;
    }
    if (best < 0 || size < least) {
      best = i;
      least = size;
    }
  }
  return best;
}

}  // namespace

bool branch(const CoupledDual& node, LocalSearch& search, Incumbent& best, Budget& budget, const BranchOptions& options,
            double share) {
  const int n1 = static_cast<int>(best.assignment.size());
  const int i = branching_node(node, n1, best.target());
  if (i < 0) {  // one matching is left
    std::vector<int> only(n1, -1);
    for (int k = 0; k < n1; ++k) only[k] = node.only_match(k);
    search.start(only);
    search.descend();
    if (search.best_value() < best.value) {
      best.value = search.best_value();
      best.assignment = search.best();
    }
    budget.closed += share;
    return true;
  }
  const std::vector<int> labels = node.labels_left(i);
  share /= static_cast<double>(labels.size());
  for (const int label : labels) {
    if (budget.spent() || budget.hopeless()) return false;
    poll(node.sweep_work());
    CoupledDual child(node);
    child.choose(i, label);
    bool refuted = child.empty() || prune(child, best);  // a quarter of the children end here
    if (!refuted) child.compact();
    for (const double temperature : options.temperatures) {
      if (refuted) break;
      refuted = refine(child, child.scale() * temperature, options.sweeps, best, budget);
    }
    if (refuted)
      budget.closed += share;
    else if (!branch(child, search, best, budget, options, share))
      return false;
  }
  return true;
}

}  // namespace gm
