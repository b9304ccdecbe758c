#include "bbgm_solver/solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/poll.hpp"
#include "pair/matchings.hpp"
#include "pair/method.hpp"
#include "pair/need.hpp"
#include "pair/plain.hpp"

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

Result solve_partial(const Problem& problem, const Task& task) {
  if (problem.terms.empty()) return solve_linear(problem);
  return task.options.method == Method::dual ? solve_dual(problem, task) : solve_best(problem, task);
}

// Rewards of a match that are tried first for a full matching, in units of the largest cost. With any reward, the best
// of all matchings is the best full one if it is full, and the methods are the quicker the smaller the reward is.
constexpr double small_rewards[] = {0, 1.0 / 16, 1.0 / 4, 1};

// Solves `plain` in place of the problem that it stands for.
Result solve_plain(const Problem& problem, const Task& task, const Plain& plain) {
  const std::size_t first = task.events ? task.events->size() : 0;
  Result result = solve_partial(plain.problem, {task.options, plain.inner(task.tolerance), task.events});
  const bool met = result.lower_bound >= result.objective;
  if (task.options.method == Method::dual && count_matches(result.assignment) < plain.matches) {  // before it rounds
    result.assignment = linear_matching(plain.problem, plain.problem.cost);
    result.optimal = false;
  }
  result.objective = problem.evaluate(result.assignment);
  if (!task.options.full && result.objective > problem.empty_objective()) {  // by rounding
    result.assignment.assign(problem.n1, -1);
    result.objective = problem.evaluate(result.assignment);
  }
  result.lower_bound = std::min(plain.as_given(result.lower_bound) - plain.resolution, result.objective);
  if (result.optimal) {
    // A tolerance below the resolution is not reached; otherwise it is, up to the last bits of what is compared here.
    const double stated = task.tolerance.gap(result.objective);
    result.optimal = 2 * plain.resolution <= stated;
    if (result.optimal)
      result.lower_bound = met ? result.objective : std::max(result.lower_bound, result.objective - stated);
    else
      result.stop_reason = "stalled";
  }
  if (task.events)
    for (std::size_t k = first; k < task.events->size(); ++k) {
      Event& event = (*task.events)[k];
      event.lower_bound = plain.as_given(event.lower_bound) - plain.resolution;
    }
  return result;
}

Result solve_with_room(const Problem& problem, const Options& options, std::vector<Event>* events) {
  const PollScope scope(options.give_up);
  const Task task{options, {options.tolerance, problem.largest_cost}, events};
  if (!needs_plain(problem, options.full)) return solve_partial(problem, task);
  if (options.full && options.method == Method::best && !problem.terms.empty()) {
    for (const double reward : small_rewards) {
      const Plain plain(problem, true, reward);
      const Result result = solve_plain(problem, task, plain);
      if (count_matches(result.assignment) == plain.matches) return result;
      if (!result.optimal) break;  // hard, and not what is asked for
    }
  }
  return solve_plain(problem, task, Plain(problem, options.full, inf));
}

}  // namespace

double Tolerance::gap(double objective) const {
  // The methods' values are off by least_gap: what they call closed is that much tighter.
  const double stated = relative * std::max(std::fabs(objective + offset), largest_cost);
  return std::max(stated - least_gap, least_gap);
}

Result solve_with_events(const Problem& problem, const Options& options, std::vector<Event>* events) {
  try {
    return solve_with_room(problem, options, events);
  } catch (const TooLarge&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw too_large_to_solve(problem, options.method);
  }
}

Result solve(const Problem& problem, const Options& options) { return solve_with_events(problem, options, nullptr); }

}  // namespace gm
