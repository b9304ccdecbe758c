// Bytes -> a small problem and options -> what every result must satisfy. Used by the fuzz target and the unit tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "bbgm_solver/solve.hpp"
#include "bounds/coupled/dual.hpp"
#include "bounds/star.hpp"
#include "cpp/problems.hpp"
#include "pair/method.hpp"
#include "pair/restrict.hpp"
#include "search/local_search.hpp"

namespace gm::fuzz {

// Reads bytes, zeros after the last one.
struct Bytes {
  const std::uint8_t* at;
  std::size_t left;
  int next() { return left ? (--left, *at++) : 0; }
};

// Costs of one kind: small integers (ties everywhere), fractions, or magnitudes that change from cost to cost.
struct Costs {
  int kind, exponent;
  double operator()(Bytes& bytes) const {
    const double c = bytes.next() - 128;
    if (kind == 0) return std::round(c / 50);
    if (kind == 1) return std::ldexp(c + bytes.next() / 256.0, exponent);
    return std::ldexp(c, bytes.next() % 81 - 40);  // 1e-12 to 1e12 in one problem
  }
};

inline Problem read_dense(Bytes& bytes, int n1, int n2, const Costs& costs) {
  std::vector<double> unary, quadratic;
  std::vector<std::int64_t> edges[2];
  const int nodes[2] = {n1, n2};
  for (int side = 0; side < 2; ++side)
    for (int s = 0; s < nodes[side]; ++s)
      for (int t = 0; t < nodes[side]; ++t)
        if (s != t && edges[side].size() < 24 && bytes.next() % 3 == 0) edges[side].insert(edges[side].end(), {s, t});
  const int e1 = static_cast<int>(edges[0].size()) / 2, e2 = static_cast<int>(edges[1].size()) / 2;
  for (int k = 0; k < n1 * n2; ++k) unary.push_back(costs(bytes));
  for (int k = 0; k < e1 * e2; ++k) quadratic.push_back(costs(bytes));
  return from_dense(n1, n2, unary.data(), e1, edges[0].data(), e2, edges[1].data(), quadratic.data(), nullptr);
}

inline Problem read_sparse(Bytes& bytes, int n1, int n2, const Costs& costs) {
  std::vector<int> left, right;
  std::vector<double> cost;
  const int forbidden = bytes.next();  // of 256
  for (int i = 0; i < n1; ++i)
    for (int j = 0; j < n2; ++j) {
      if (bytes.next() < forbidden) continue;
      left.push_back(i);
      right.push_back(j);
      cost.push_back(costs(bytes));
    }
  std::vector<Term> terms;
  const int n = static_cast<int>(cost.size());
  for (int k = 0; n > 0 && k < 400 && bytes.left > 0; ++k) {
    const int a = bytes.next() % n, b = bytes.next() % n;
    const double c = costs(bytes);
    if (left[a] != left[b] && right[a] != right[b]) terms.push_back({a, b, c});
  }
  return Problem(n1, n2, left, right, cost, merge_terms(terms));
}

// Cost of the cheapest matching, by trying all; of as many nodes as possible where `full`.
inline double cheapest(const Problem& p, bool full) {
  const int count = full ? largest_matching(p) : 0;
  double best = std::numeric_limits<double>::infinity();
  test::each_matching(p, [&](const std::vector<int>& match) {
    if (!full || std::count_if(match.begin(), match.end(), [](int j) { return j >= 0; }) == count)
      best = std::min(best, p.evaluate(match));
  });
  return best;
}

// What `r` breaks, "" if nothing. `optimum` is NaN where it is not known.
inline std::string broken(const Problem& p, const Options& options, const Result& r, double optimum) {
  if (r.assignment.size() != static_cast<std::size_t>(p.n1)) return "length of the assignment";
  std::vector<char> used(p.n2, 0);
  int matched = 0;
  for (int i = 0; i < p.n1; ++i) {
    const int j = r.assignment[i];
    if (j == -1) continue;
    if (j < 0 || j >= p.n2) return "node out of range";
    if (p.find(i, j) < 0) return "forbidden match";
    if (used[j]++) return "node matched twice";
    ++matched;
  }
  if (r.objective != p.evaluate(r.assignment)) return "objective is not the cost of the assignment";
  if (!std::isfinite(r.lower_bound)) return "bound is not finite";
  if (r.lower_bound > r.objective) return "bound above the objective";
  const double closed = Tolerance{options.tolerance, p.largest_cost}.gap(r.objective);
  double idle = 0;
  for (const auto* costs : {&p.unmatched1, &p.unmatched2})
    for (const double c : *costs) idle += std::fabs(c);
  // The reward of `full`, above all matches together, is counted once a match.
  const double rounding = 1e-12 * (p.magnitude() + p.largest_cost + idle) * (options.full ? 2 * p.n1 + 2 : 1);
  if (r.optimal && r.objective - r.lower_bound > closed + rounding) return "a proof with a gap";
  if (!options.full && r.objective > p.empty_objective()) return "worse than the empty matching";
  if (options.full && matched != largest_matching(p)) return "not full";
  if (r.lower_bound > optimum + closed + rounding) return "bound above the optimum";
  if (r.objective < optimum - rounding) return "below the optimum";
  if (r.optimal && r.objective > optimum + closed + rounding) return "a proof of what is not optimal";
  return "";
}

inline std::string describe(const Problem& p, const Options& o, const Result& r, double optimum) {
  char text[400];
  std::snprintf(text, sizeof text,
                ": method %d effort %d full %d iterations %d, %d x %d, %d assignments, %zu terms; objective %.17g "
                "bound %.17g optimal %d; optimum %.17g, largest cost %g",
                static_cast<int>(o.method), static_cast<int>(o.effort), o.full, o.max_iterations, p.n1, p.n2, p.size(),
                p.terms.size(), r.objective, r.lower_bound, r.optimal, optimum, p.largest_cost);
  return text;
}

template <class Dual>
std::string check_coupled(const Problem& p, double optimum, double rounding, double upper) {
  Dual dual(p);
  double temperature = 0.3 * dual.scale();
  for (int level = 0; level < 6; ++level, temperature *= 0.4) {
    dual.anneal(temperature, 3);
    if (const double bound = dual.bound(); bound > optimum + rounding) {
      char text[200];
      std::snprintf(text, sizeof text, "coupled bound %.17g above the optimum %.17g: level %d, %d x %d, scale %g",
                    bound, optimum, level, p.n1, p.n2, dual.scale());
      return text;
    }
    if (level >= 2) {
      dual.remove_above(upper);
      if (dual.empty()) return "the coupled dual removed the optimum";
      dual.compact();
    }
  }
  return "";
}

// The two bounds on their own: small problems rarely get past the first inside `solve`, which scales costs below 1e-3.
inline std::string check_bounds(const Problem& p, double optimum) {
  const double rounding = 1e-9 * (p.magnitude() + p.largest_cost);
  const double upper = optimum + 1e-6 * p.largest_cost + 2 * rounding;  // what is cheapest must survive
  LocalSearch search(p);
  search.greedy();
  const StarLayout layout(p);
  StarBound star(p, layout, search.assignment());
  for (int pass = 0; pass < 6; ++pass) {
    if (star.bound() > optimum + rounding) return "star bound above the optimum";
    star.pass(upper, pass % 2 == 0);
  }
  const Problem rest = restricted(p, star.left());
  if (cheapest(rest, false) > optimum + rounding) return "the star bound removed the optimum";
  if (const std::string broken = check_coupled<CoupledDual>(p, optimum, rounding, upper); !broken.empty())
    return broken;
  const std::string broken = check_coupled<ImplicitDual>(p, optimum, rounding, upper);
  return broken.empty() ? broken : "implicit tables: " + broken;
}

inline std::vector<double> read_unmatched(Bytes& bytes, int n, const Costs& costs) {
  std::vector<double> unmatched(n);
  for (double& c : unmatched) c = costs(bytes);
  return unmatched;
}

// Solves the problem that the bytes describe by both methods, all efforts, full and not. "" or what is broken.
inline std::string check(const std::uint8_t* data, std::size_t size) {
  Bytes bytes{data, size};
  const int shape = bytes.next(), kind = bytes.next();
  int n1 = shape % 6, n2 = shape / 6 % 6;
  if (shape >= 216) n1 = 1 + shape % 3, n2 = 30;
  if (shape >= 236) n1 = n2 = 6 + shape % 4;
  static const int exponents[] = {0, 40, -40, 340, -340, 120, -120, 480};
  const Costs costs{kind % 3, exponents[kind / 3 % 8]};
  std::vector<double> unmatched1, unmatched2;
  const int unmatched = bytes.next() % 4;
  if (unmatched == 1 || unmatched == 3) unmatched1 = read_unmatched(bytes, n1, costs);
  if (unmatched >= 2) unmatched2 = read_unmatched(bytes, n2, costs);
  Problem p = kind >= 192 ? read_dense(bytes, n1, n2, costs) : read_sparse(bytes, n1, n2, costs);
  p.set_unmatched(unmatched1, unmatched2);
  const bool small = n1 <= 5 && n2 <= 5;
  for (const bool full : {false, true}) {
    double optimum = std::numeric_limits<double>::quiet_NaN();
    if (small) optimum = cheapest(p, full);
    if (small && !full && unmatched == 0 && !p.terms.empty() && p.largest_cost > 1e-3 && p.largest_cost < 1e100) {
      const std::string what = check_bounds(p, optimum);
      if (!what.empty()) return what;
    }
    for (int run = 0; run < 5; ++run) {
      Options options;
      options.full = full;
      if (run < 3) {
        if (run == 2 && !small) continue;  // its limits are far too wide for a fuzzer
        options.effort = static_cast<Effort>(run);
      } else {
        options.method = Method::dual;
        options.max_iterations = run == 3 ? 30 : kind % 4;
        options.round_every = 1 + kind % 7;
      }
      const Result r = solve(p, options);
      const std::string what = broken(p, options, r, optimum);
      if (!what.empty()) return what + describe(p, options, r, optimum);
    }
  }
  return "";
}

}  // namespace gm::fuzz
