// The course of a solve, from the events that its method reports.
#include <algorithm>
#include <ctime>
#include <limits>

#include "bbgm_solver/solve.hpp"
#include "pair/matchings.hpp"
#include "pair/method.hpp"

namespace gm {

std::vector<TracePoint> trace(const Problem& problem, const Options& options) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::clock_t begin = std::clock();
  const auto since = [begin](std::clock_t now) { return static_cast<double>(now - begin) / CLOCKS_PER_SEC; };
  std::vector<Event> events;
  const Result result = solve_with_events(problem, options, &events);
  const std::clock_t end = std::clock();
  const int matches = options.full ? largest_matching(problem) : 0;
  std::vector<TracePoint> points;
  for (const Event& e : events)
    points.push_back({e.iterations, e.lower_bound,
                      count_matches(e.assignment) < matches ? inf : problem.evaluate(e.assignment), since(e.clock)});
  points.push_back({result.iterations, result.lower_bound, result.objective, since(end)});
  for (std::size_t k = points.size() - 1; k-- > 0;) {  // the last bits of sums need not be in order
    points[k].lower_bound = std::min(points[k].lower_bound, points[k + 1].lower_bound);
    points[k].objective = std::max(points[k].objective, points[k + 1].objective);
  }
  return points;
}

}  // namespace gm
