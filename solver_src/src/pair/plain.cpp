#include "pair/plain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bbgm_solver/solve.hpp"

namespace gm {

namespace {

// Far from 1, squares of costs leave the range of a double.
bool out_of_range(double cost) { return cost > 0 && (cost < 1e-3 || cost > 1e100); }

}  // namespace

bool needs_plain(const Problem& problem, bool full) {
  return full || !problem.unmatched1.empty() || !problem.unmatched2.empty() || out_of_range(problem.largest_cost);
}

Plain::Plain(const Problem& given, bool full, double reward) : problem(0, 0, {}, {}, {}, {}) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  std::vector<double> cost(given.cost);
  std::vector<Term> terms(given.terms);
  // Every node pays for staying unmatched; a match gives that back.
  for (int a = 0; a < given.size(); ++a) {
    if (!given.unmatched1.empty()) cost[a] -= given.unmatched1[given.left[a]];
    if (!given.unmatched2.empty()) cost[a] -= given.unmatched2[given.right[a]];
  }
  for (const auto* idle : {&given.unmatched1, &given.unmatched2})
    for (const double c : *idle) resolution += 2 * epsilon * std::fabs(c);
  offset_ = given.empty_objective();
  // Scaling by a power of two is exact.
  double largest = 0;
  for (const double c : cost) largest = std::max(largest, std::fabs(c));
  for (const Term& t : terms) largest = std::max(largest, std::fabs(t.cost));
  if (out_of_range(largest)) {
    exponent_ = std::ilogb(largest);
    for (double& c : cost) c = std::scalbn(c, -exponent_);
    for (Term& t : terms) t.cost = std::scalbn(t.cost, -exponent_);
  }
  problem = Problem(given.n1, given.n2, given.left, given.right, std::move(cost), std::move(terms));
  if (!full) return;
  if (reward == std::numeric_limits<double>::infinity()) {
    const double magnitude = problem.magnitude();
    reward = magnitude > 0 ? 2 * magnitude * (1 + 1e-9) : 1;
  } else {
    reward *= problem.largest_cost;
  }
  matches = largest_matching(problem);
  // Each of a matching's costs is rounded to the resolution of the reward, and so are the sums of the methods.
  if (problem.largest_cost > 0) resolution += std::scalbn(8 * epsilon * matches * reward, exponent_);
  for (double& c : problem.cost) {
    c -= reward;
    problem.largest_cost = std::max(problem.largest_cost, std::fabs(c));
  }
  offset_ += std::scalbn(reward * matches, exponent_);
}

double Plain::as_given(double value) const { return std::scalbn(value, exponent_) + offset_; }

Tolerance Plain::inner(const Tolerance& given) const {
  return {given.relative, std::scalbn(given.largest_cost, -exponent_), std::scalbn(offset_, -exponent_),
          std::scalbn(resolution, -exponent_)};
}

}  // namespace gm
