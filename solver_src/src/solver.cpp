#include "solver.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "lap.hpp"

namespace gm {

namespace {

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

// Estimated work, to start the large ones first.
double weight(const Problem& p) { return static_cast<double>(p.terms.size()) * (p.n1 + p.n2) + p.size(); }

Problem scaled(const Problem& p, int exponent) {
  std::vector<double> cost(p.cost);
  std::vector<Term> terms(p.terms);
  for (double& c : cost) c = std::scalbn(c, exponent);
  for (Term& t : terms) t.cost = std::scalbn(t.cost, exponent);
  return Problem(p.n1, p.n2, p.left, p.right, std::move(cost), std::move(terms));
}

int count_matches(const std::vector<int>& match) {
  return static_cast<int>(std::count_if(match.begin(), match.end(), [](int j) { return j >= 0; }));
}

// Cheapest matching where each assignment has this cost and terms have none.
std::vector<int> linear_matching(const Problem& p, const std::vector<double>& cost) {
  std::vector<double> table(static_cast<std::size_t>(p.n1) * p.n2, std::numeric_limits<double>::infinity());
  for (int a = 0; a < p.size(); ++a) table[static_cast<std::size_t>(p.left[a]) * p.n2 + p.right[a]] = cost[a];
  LapResult lap;
  solve_lap(p.n1, p.n2, table.data(), lap);
  return lap.match;
}

Result solve_partial(const Problem& problem, const Options& options) {
  return options.method == Method::dual ? solve_dual(problem, options) : solve_best(problem, options);
}

}  // namespace

double gap_tolerance(const Problem& problem, const Options& options, double objective) {
  return options.tolerance * std::max(std::fabs(objective), problem.largest_cost);
}

int largest_matching(const Problem& p) {
  return count_matches(linear_matching(p, std::vector<double>(p.size(), -1.0)));
}

Result solve(const Problem& problem, const Options& options) {
  // Far from 1, squares of costs leave the range of a double. Scaling by a power of two is exact.
  if (problem.largest_cost > 0 && (problem.largest_cost < 1e-3 || problem.largest_cost > 1e100)) {
    const int exponent = std::ilogb(problem.largest_cost);
    Result result = solve(scaled(problem, -exponent), options);
    result.objective = problem.evaluate(result.assignment);
    result.lower_bound = result.optimal ? result.objective : std::scalbn(result.lower_bound, exponent);
    return result;
  }
  if (!options.full) return solve_partial(problem, options);
  // Full: a reward for each match that no costs can outweigh, taken back afterwards.
  const double reward = std::max(2 * problem.magnitude() * (1 + 1e-9), 1e-300);
  const int count = largest_matching(problem);
  std::vector<double> cost(problem.cost);
  for (double& c : cost) c -= reward;
  const Problem shifted(problem.n1, problem.n2, problem.left, problem.right, std::move(cost), problem.terms);
  Options inner = options;
  inner.full = false;
  // The tolerance is relative to the costs that were given, not to the reward.
  inner.tolerance = std::max(1e-14, options.tolerance * problem.largest_cost / std::max(shifted.largest_cost, 1e-300));
  Result result = solve_partial(shifted, inner);
  if (count_matches(result.assignment) < count) {  // method dual before its first rounding
    result.assignment = linear_matching(shifted, shifted.cost);
    result.optimal = false;
  }
  result.lower_bound += reward * count;
  result.objective = problem.evaluate(result.assignment);
  result.lower_bound = std::min(result.lower_bound, result.objective);
  return result;
}

std::vector<Result> solve_batch(const std::vector<const Problem*>& problems, const Options& options, int threads) {
  const int n = static_cast<int>(problems.size());
  std::vector<Result> results(n);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int s, int t) { return weight(*problems[s]) > weight(*problems[t]); });
  std::atomic<int> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto work = [&] {
    for (int k = next++; k < n; k = next++) {
      try {
        results[order[k]] = solve(*problems[order[k]], options);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(failure_lock);
        failure = std::current_exception();
      }
    }
  };
  const int n_threads = std::min(threads > 0 ? threads : usable_cores(), n);
  std::vector<std::thread> pool;
  pool.reserve(n_threads);
  try {
    for (int t = 1; t < n_threads; ++t) pool.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads are to be had: those that there are do the work.
  }
  work();
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace gm
