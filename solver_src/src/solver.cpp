#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plain.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Without terms, one linear assignment is the optimum.
Result solve_linear(const Problem& problem) {
  Result result;
  result.assignment = linear_matching(problem, problem.cost);
  result.objective = result.lower_bound = problem.evaluate(result.assignment);
  result.optimal = true;
  result.stop_reason = "optimal";
  return result;
}

Result solve_partial(const Problem& problem, const Options& options) {
  if (problem.terms.empty()) return solve_linear(problem);
  return options.method == Method::dual ? solve_dual(problem, options) : solve_best(problem, options);
}

// Rewards of a match that are tried first for a full matching, in units of the largest cost. With any reward, the best
// of all matchings is the best full one if it is full, and the methods are the quicker the smaller the reward is.
constexpr double small_rewards[] = {0, 1.0 / 16, 1.0 / 4, 1};

// Solves `plain` in place of the problem that it stands for.
Result solve_plain(const Problem& problem, const Options& options, const Plain& plain) {
  const std::size_t first = options.events ? options.events->size() : 0;
  Result result = solve_partial(plain.problem, plain.inner(problem, options));
  const bool met = result.lower_bound >= result.objective;
  if (options.method == Method::dual && count_matches(result.assignment) < plain.matches) {  // before it rounds
    result.assignment = linear_matching(plain.problem, plain.problem.cost);
    result.optimal = false;
  }
  result.objective = problem.evaluate(result.assignment);
  if (!options.full && result.objective > problem.empty_objective()) {  // by rounding
    result.assignment.assign(problem.n1, -1);
    result.objective = problem.evaluate(result.assignment);
  }
  result.lower_bound = std::min(plain.as_given(result.lower_bound) - plain.resolution, result.objective);
  if (result.optimal) {
    // A tolerance below the resolution is not reached; otherwise it is, up to the last bits of what is compared here.
    const double stated = gap_tolerance(problem, options, result.objective);
    result.optimal = 2 * plain.resolution <= stated;
    if (result.optimal)
      result.lower_bound = met ? result.objective : std::max(result.lower_bound, result.objective - stated);
    else
      result.stop_reason = "stalled";
  }
  if (options.events)
    for (std::size_t k = first; k < options.events->size(); ++k) {
      Event& event = (*options.events)[k];
      event.lower_bound = plain.as_given(event.lower_bound) - plain.resolution;
    }
  return result;
}

}  // namespace

double gap_tolerance(const Problem& problem, const Options& options, double objective) {
  const double unit = options.unit < 0 ? problem.largest_cost : options.unit;
  // The methods' values are off by least_gap: what they call closed is that much tighter.
  const double stated = options.tolerance * std::max(std::fabs(objective + options.offset), unit);
  return std::max(stated - options.least_gap, options.least_gap);
}

int largest_matching(const Problem& p) {
  return count_matches(linear_matching(p, std::vector<double>(p.size(), -1.0)));
}

Result solve(const Problem& problem, const Options& options) {
  const PollScope scope(options.give_up);
  if (!needs_plain(problem, options)) return solve_partial(problem, options);
  if (options.full && options.method == Method::best && !problem.terms.empty()) {
    for (const double reward : small_rewards) {
      const Plain plain(problem, options, reward);
      const Result result = solve_plain(problem, options, plain);
      if (count_matches(result.assignment) == plain.matches) return result;
      if (!result.optimal) break;  // hard, and not what is asked for
    }
  }
  return solve_plain(problem, options, Plain(problem, options, inf));
}

std::vector<TracePoint> trace(const Problem& problem, Options options) {
  std::vector<Event> events;
  options.events = &events;
  const Result result = solve(problem, options);
  const int matches = options.full ? largest_matching(problem) : 0;
  std::vector<TracePoint> points;
  for (const Event& e : events)
    points.push_back(
        {e.iterations, e.lower_bound, count_matches(e.assignment) < matches ? inf : problem.evaluate(e.assignment)});
  points.push_back({result.iterations, result.lower_bound, result.objective});
  for (std::size_t k = points.size() - 1; k-- > 0;) {  // the last bits of sums need not be in order
    points[k].lower_bound = std::min(points[k].lower_bound, points[k + 1].lower_bound);
    points[k].objective = std::max(points[k].objective, points[k + 1].objective);
  }
  return points;
}

}  // namespace gm
