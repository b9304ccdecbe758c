// Method "dual": bound and roundings of the iterations, and when they end.
#include <algorithm>

#include "dual/message_passing.hpp"
#include "pair/method.hpp"

namespace gm {

namespace {

constexpr double stays = 0.4;  // part of a node's costs that it keeps in a pass that is rounded

}  // namespace

Result solve_dual(const Problem& problem, const Task& task) {
  const Options& options = task.options;
  Result result;
  result.assignment.assign(problem.n1, -1);
  MessagePassing dual(problem);
  result.lower_bound = dual.bound();
  result.stop_reason = "iteration limit";
  const auto closed = [&] { return result.objective - result.lower_bound <= task.tolerance.gap(result.objective); };
  const auto round = [&] {
    const std::vector<int>& match = dual.round();
    if (const double value = problem.evaluate(match); value < result.objective) {
      result.objective = value;
      result.assignment = match;
    }
  };
  for (int k = 1; k <= options.max_iterations && !closed(); ++k) {
    task.note(k - 1, result.lower_bound, result.assignment);
    const bool rounding = k == 1 || k % options.round_every == 0 || k == options.max_iterations;
    const double share = rounding ? stays : -1;
    dual.pass_forward(share);
    if (rounding) round();
    dual.pass_backward(share);
    if (rounding) round();
    result.iterations = k;
    result.lower_bound = std::max(result.lower_bound, dual.bound());
  }
  result.optimal = closed();
  if (result.optimal) {
    result.stop_reason = "optimal";
    result.lower_bound = std::min(result.lower_bound, result.objective);
  }
  return result;
}

}  // namespace gm
