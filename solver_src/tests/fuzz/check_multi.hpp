// Bytes -> a few small graphs -> what every result of solve_multi must satisfy. Used by the fuzz target and the unit
// tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bbgm_solver/solve_multi.hpp"
#include "fuzz/check_solve.hpp"

namespace gm::fuzz {

// Calls f for every set of objects in which no two nodes forbid each other; nodes may be alone.
inline void each_consistent(const MultiProblem& problem, const std::function<void(const Cliques&)>& f) {
  Cliques objects;
  const std::function<void(int, int)> place = [&](int p, int i) {
    if (p == problem.graphs()) return f(objects);
    if (i == problem.size[p]) return place(p + 1, 0);
    for (std::size_t o = 0; o < objects.size(); ++o) {
      bool allowed = objects[o][p] < 0;
      for (int q = 0; q < p && allowed; ++q)
        allowed = objects[o][q] < 0 || problem.pair(q, p) < 0 || problem.find(q, objects[o][q], p, i) >= 0;
      if (!allowed) continue;
      objects[o][p] = i;
      place(p, i + 1);
      objects[o][p] = -1;
    }
    objects.emplace_back(problem.graphs(), -1);
    objects.back()[p] = i;
    place(p, i + 1);
    objects.pop_back();
  };
  place(0, 0);
}

// Cost of the cheapest consistent matching, by trying all.
inline double cheapest(const MultiProblem& problem) {
  std::vector<std::map<std::vector<int>, double>> values(problem.pairs.size());
  double best = std::numeric_limits<double>::infinity();
  each_consistent(problem, [&](const Cliques& objects) {
    double sum = 0;
    for (std::size_t e = 0; e < problem.pairs.size(); ++e) {
      const auto& [p, q, pair] = problem.pairs[e];
      const std::vector<int> match = problem.matching(objects, p, q);
      const auto at = values[e].find(match);
      sum += at != values[e].end() ? at->second : values[e][match] = pair->evaluate(match);
    }
    best = std::min(best, sum);
  });
  return best;
}

// What `r` breaks, "" if nothing. `optimum` is NaN where it is not known.
inline std::string broken(const MultiProblem& problem, const MultiOptions& options, const MultiResult& r,
                          double optimum) {
  std::vector<std::vector<char>> used;
  for (const int n : problem.size) used.emplace_back(n, 0);
  for (const std::vector<int>& clique : r.cliques) {
    if (clique.size() != problem.size.size()) return "length of a clique";
    int nodes = 0;
    for (int p = 0; p < problem.graphs(); ++p) {
      const int i = clique[p];
      if (i == -1) continue;
      if (i < 0 || i >= problem.size[p]) return "node out of range";
      if (used[p][i]++) return "node in two cliques";
      ++nodes;
      for (int q = 0; q < p; ++q)
        if (clique[q] >= 0 && problem.pair(q, p) >= 0 && problem.find(q, clique[q], p, i) < 0) return "forbidden match";
    }
    if (nodes < 2) return "clique of one node";
  }
  if (problem.canonical(r.cliques) != r.cliques) return "cliques are not in their canonical form";
  double magnitude = problem.largest_cost;
  for (const GraphPair& e : problem.pairs) {
    magnitude += e.problem->magnitude();
    for (const auto* costs : {&e.problem->unmatched1, &e.problem->unmatched2})
      for (const double c : *costs) magnitude += std::fabs(c);
  }
  // Each pair's proof has the tolerance, relative to prices too, which the first gap limits.
  const double closed = options.pair.tolerance * magnitude * (1 + static_cast<double>(problem.pairs.size()));
  const double rounding = 1e-12 * magnitude + closed;
  if (std::fabs(r.objective - problem.evaluate(r.cliques)) > 1e-12 * magnitude)
    return "objective is not the cost of the cliques";
  if (r.objective > problem.empty_objective()) return "worse than the empty matching";
  if (!std::isfinite(r.lower_bound)) return "bound is not finite";
  if (r.lower_bound > r.objective) return "bound above the objective";
  if (r.optimal && r.objective - r.lower_bound > rounding) return "a proof with a gap";
  if (r.lower_bound > optimum + rounding) return "bound above the optimum";
  if (r.objective < optimum - rounding) return "below the optimum";
  if (r.optimal && r.objective > optimum + rounding) return "a proof of what is not optimal";
  return "";
}

// Solves the graphs that the bytes describe by all methods. "" or what is broken.
inline std::string check_multi(const std::uint8_t* data, std::size_t size) {
  Bytes bytes{data, size};
  const int shape = bytes.next(), kind = bytes.next();
  const int d = 2 + shape % 3;
  static const int exponents[] = {0, 40, -40, 340, -340, 120};
  const Costs costs{kind % 3, exponents[kind / 3 % 6]};
  std::vector<int> sizes;
  for (int p = 0; p < d; ++p) sizes.push_back(bytes.next() % (d == 4 ? 3 : 4));
  const int missing = bytes.next() % 3 == 0 ? 100 : 0;  // of 256
  const int unmatched = bytes.next() % 5;
  std::vector<Problem> problems;
  std::vector<std::pair<int, int>> names;
  for (int p = 0; p < d; ++p)
    for (int q = p + 1; q < d; ++q) {
      if (bytes.next() < missing) continue;
      names.push_back({p, q});
      problems.push_back(kind >= 192 ? read_dense(bytes, sizes[p], sizes[q], costs)
                                     : read_sparse(bytes, sizes[p], sizes[q], costs));
      if (unmatched == 0) problems.back().set_unmatched(read_unmatched(bytes, sizes[p], costs), {});
      if (unmatched == 1) problems.back().set_unmatched({}, read_unmatched(bytes, sizes[q], costs));
    }
  std::vector<GraphPair> pairs;
  for (std::size_t e = 0; e < names.size(); ++e) pairs.push_back({names[e].first, names[e].second, &problems[e]});
  const MultiProblem problem(sizes, pairs);
  const double optimum = cheapest(problem);
  double synchronised = std::numeric_limits<double>::infinity();
  for (const MultiMethod method : {MultiMethod::sync, MultiMethod::best, MultiMethod::dual})
    for (const Effort effort : {Effort::normal, Effort::fast}) {
      MultiOptions options;
      options.method = method;
      options.pair.effort = effort;
      options.seed = static_cast<std::uint64_t>(kind);
      options.max_iterations = 30;
      const MultiResult r = solve_multi(problem, options);
      std::string what = broken(problem, options, r, optimum);
      if (effort == Effort::normal && method == MultiMethod::sync) synchronised = r.objective;
      if (effort == Effort::normal && r.objective > synchronised) what = "worse than sync";
      if (what.empty()) continue;
      char text[300];
      std::snprintf(text, sizeof text,
                    ": method %d effort %d, %d graphs, %zu pairs; objective %.17g bound %.17g optimal %d; "
                    "optimum %.17g, largest cost %g",
                    static_cast<int>(method), static_cast<int>(effort), d, pairs.size(), r.objective, r.lower_bound,
                    r.optimal, optimum, problem.largest_cost);
      return what + text;
    }
  return "";
}

}  // namespace gm::fuzz
