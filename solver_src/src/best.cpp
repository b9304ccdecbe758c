#include <algorithm>
#include <cmath>
#include <limits>

#include "lap.hpp"
#include "search.hpp"
#include "solver.hpp"

namespace gm {

Result solve_best(const Problem& problem, const Options& options) {
  const Problem& p = problem;
  const double inf = std::numeric_limits<double>::infinity();
  Result result;
  result.assignment.assign(p.n1, -1);
  std::vector<double> w(static_cast<std::size_t>(p.n1) * p.n2, inf);
  for (int a = 0; a < p.size(); ++a) {
    double c = p.cost[a], lowest = 0;
    for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) {
      if (k > p.adj_start[a] && p.left[p.adj[k].a] != p.left[p.adj[k - 1].a]) { c += 0.5 * lowest; lowest = 0; }
      lowest = std::min(lowest, p.adj[k].cost);
    }
    w[static_cast<std::size_t>(p.left[a]) * p.n2 + p.right[a]] = c + 0.5 * lowest;
  }
  LapResult lap;
  solve_lap(p.n1, p.n2, w.data(), lap);
  result.lower_bound = lap.value;
  LocalSearch search(p);
  const auto take = [&] {
    if (search.best_value() < result.objective) {
      result.objective = search.best_value();
      result.assignment = search.best();
    }
  };
  const auto proved = [&] {
    return result.objective - result.lower_bound <= gap_tolerance(p, options, result.objective);
  };
  search.start(lap.match);
  search.descend();
  take();
  if (!proved()) {
    search.start(std::vector<int>(p.n1, -1));
    search.greedy();
    search.descend();
    take();
  }
  if (!proved() && p.size() > 0) {
    search.start(result.assignment);
    search.tabu(4000, 1, result.lower_bound);
    take();
  }
  result.objective = p.evaluate(result.assignment);
  if (result.objective > 0) {
    result.assignment.assign(p.n1, -1);
    result.objective = 0;
  }
  result.lower_bound = std::min(result.lower_bound, result.objective);
  result.optimal = proved();
  result.stop_reason = result.optimal ? "optimal" : "work limit";
  return result;
}

Result solve_dual(const Problem& problem, const Options& options) { return solve_best(problem, options); }

}  // namespace gm
