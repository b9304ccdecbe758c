// Unit tests of the core. Build: cmake -S solver_src -B build/solver -DBBGM_SOLVER_PYTHON=OFF -DBBGM_SOLVER_TESTS=ON
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "coupled.hpp"
#include "fuzz_problem.hpp"
#include "lap.hpp"
#include "search.hpp"
#include "solver.hpp"
#include "star.hpp"
#include "vec.hpp"

using namespace gm;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Random {
  std::uint64_t state;
  double operator()() {  // uniform in [-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
  }
};

Problem random_problem(int n1, int n2, std::uint64_t seed, double density = 0.8) {
  Random random{seed};
  std::vector<int> left, right;
  std::vector<double> cost;
  for (int i = 0; i < n1; ++i)
    for (int j = 0; j < n2; ++j) {
      if (random() > 2 * density - 1) continue;
      left.push_back(i);
      right.push_back(j);
      cost.push_back(random());
    }
  std::vector<Term> terms;
  const int n = static_cast<int>(cost.size());
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (left[a] != left[b] && right[a] != right[b] && random() > 0.2) terms.push_back({a, b, random()});
  return Problem(n1, n2, left, right, cost, merge_terms(terms));
}

// Calls f for every matching of allowed assignments.
void each_matching(const Problem& p, const std::function<void(const std::vector<int>&)>& f) {
  std::vector<int> match(p.n1, -1), used(p.n2, 0);
  const std::function<void(int)> next = [&](int i) {
    if (i == p.n1) return f(match);
    next(i + 1);
    for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
      if (used[p.right[a]]) continue;
      used[p.right[a]] = 1;
      match[i] = p.right[a];
      next(i + 1);
      match[i] = -1;
      used[p.right[a]] = 0;
    }
  };
  next(0);
}

double optimum(const Problem& p) {
  double best = 0;
  each_matching(p, [&](const std::vector<int>& match) { best = std::min(best, p.evaluate(match)); });
  return best;
}

}  // namespace

TEST_CASE("exponential and logarithm are accurate") {
  for (double x = -690; x < 690; x += 0.37) {
    vec::Four v, y;
    vec::fill(x, v);
    vec::exp(v, y);
    CHECK(y[0] == doctest::Approx(std::exp(x)).epsilon(1e-8));
    vec::log(y, v);
    CHECK(v[2] == doctest::Approx(std::log(y[2])).epsilon(1e-9));
  }
  vec::Four v, y;
  vec::fill(-inf, v);
  vec::exp(v, y);
  CHECK(y[1] == 0);
}

TEST_CASE("linear assignment: optimal, with potentials that prove it") {
  Random random{1};
  for (int trial = 0; trial < 200; ++trial) {
    const int n1 = trial % 6, n2 = trial / 6 % 6;
    std::vector<double> cost(n1 * n2);
    std::vector<int> left, right;
    std::vector<double> allowed;
    for (int k = 0; k < n1 * n2; ++k) {
      cost[k] = random() > 0.6 ? inf : random();
      if (cost[k] == inf) continue;
      left.push_back(k / n2);
      right.push_back(k % n2);
      allowed.push_back(cost[k]);
    }
    LapResult lap;
    solve_lap(n1, n2, cost.data(), lap);
    double value = 0;
    for (int i = 0; i < n1; ++i) {
      CHECK(lap.row[i] <= 0);
      if (lap.match[i] >= 0) value += cost[i * n2 + lap.match[i]];
      for (int j = 0; j < n2; ++j) CHECK(lap.row[i] + lap.column[j] <= cost[i * n2 + j] + 1e-12);
    }
    for (int j = 0; j < n2; ++j) CHECK(lap.column[j] <= 0);
    CHECK(value == doctest::Approx(lap.value).epsilon(1e-12));
    CHECK(value == doctest::Approx(optimum(Problem(n1, n2, left, right, allowed, {}))).epsilon(1e-12));
  }
}

TEST_CASE("dense form: directed entries of a pair of edges add up") {
  const double unary[4] = {1, 2, 3, 4}, quadratic[4] = {10, 20, 30, 40};
  const std::int64_t edges[4] = {0, 1, 1, 0};
  const Problem p = from_dense(2, 2, unary, 2, edges, 2, edges, quadratic, nullptr);
  CHECK(p.evaluate({0, 1}) == 1 + 4 + 10 + 40);
  CHECK(p.evaluate({1, 0}) == 2 + 3 + 20 + 30);
  CHECK(p.evaluate({0, -1}) == 1);
  CHECK(p.terms.size() == 2);
}

TEST_CASE("local search keeps its value") {
  for (int seed = 0; seed < 30; ++seed) {
    const Problem p = random_problem(6, 7, seed, seed % 2 ? 0.8 : 1.1);  // with all assignments, the scan is another
    LocalSearch search(p);
    search.start(std::vector<int>(6, -1));
    search.greedy();
    search.descend();
    CHECK(search.value() == doctest::Approx(p.evaluate(search.assignment())));
    search.tabu(200, seed, -inf);
    CHECK(search.value() == doctest::Approx(p.evaluate(search.assignment())));
    CHECK(search.best_value() == doctest::Approx(p.evaluate(search.best())));
    CHECK(search.best_value() <= search.value() + 1e-12);
  }
}

TEST_CASE("fusion of two matchings: a matching, no worse than the start") {
  for (int seed = 0; seed < 30; ++seed) {
    const Problem p = random_problem(7, 6, 600 + seed, 0.7);
    LocalSearch search(p);
    search.start(std::vector<int>(7, -1));
    search.tabu(20, seed, -inf);
    const std::vector<int> other = search.assignment();
    search.start(std::vector<int>(7, -1));
    search.tabu(35, 1000 + seed, -inf);
    const double before = search.value();
    search.start(search.assignment());
    search.fuse(other);
    CHECK(search.value() <= before + 1e-12);
    CHECK(search.value() == doctest::Approx(p.evaluate(search.assignment())));
    std::vector<int> used(p.n2, 0);
    for (const int j : search.assignment()) CHECK((j < 0 || ++used[j] == 1));
  }
}

TEST_CASE("star bound: every split is a bound, passes keep the optimum and never lower the bound") {
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(4, 5, 300 + seed, seed % 3 ? 0.7 : 1.1);
    const double best = optimum(p);
    std::vector<int> optimal;
    each_matching(p, [&](const std::vector<int>& match) {
      if (p.evaluate(match) < best + 1e-12) optimal = match;
    });
    for (const double above : {1e-6, 0.3, 2.0}) {
      StarBound star(p);
      double bound = star.bound();
      for (int pass = 0; pass < 12; ++pass) {
        const double before = bound;
        star.pass(best + above, pass % 2 == 0);
        bound = star.bound();
        CHECK(bound >= before - 1e-9);
        CHECK(bound <= best + 1e-9);
      }
      const Problem rest = star.remainder();
      for (int i = 0; i < p.n1; ++i) CHECK((optimal[i] < 0 || rest.find(i, optimal[i]) >= 0));
      CHECK(optimum(rest) == doctest::Approx(best));
    }
  }
}

TEST_CASE("coupled dual: every split is a bound, removal keeps what is better, compacting changes nothing") {
  for (int seed = 0; seed < 30; ++seed) {
    const Problem p = random_problem(4, 5, 100 + seed);
    const double best = optimum(p);
    CoupledDual dual(p);
    CHECK(dual.bound() <= best + 1e-12);
    for (const double temperature : {1.0, 0.1, 0.01, 0.001}) {
      dual.anneal(temperature * dual.scale(), 5);
      CHECK(dual.bound() <= best + 1e-9);
      const double before = dual.last_bound();
      CoupledDual copy(dual);
      copy.compact();
      CHECK(copy.bound() == doctest::Approx(before).epsilon(1e-9));
      // An upper bound just above the optimum: the optimum's own labels must survive.
      dual.remove_above(best + 0.05);
      CHECK(!dual.empty());
      dual.compact();
      CHECK(dual.bound() <= best + 1e-9);
    }
    // Choosing a label bounds the matchings that have it.
    for (int i = 0; i < p.n1; ++i)
      for (const int label : CoupledDual(p).labels_left(i)) {
        double constrained = inf;
        each_matching(p, [&](const std::vector<int>& match) {
          if (match[i] == (label < 0 ? -1 : p.right[label])) constrained = std::min(constrained, p.evaluate(match));
        });
        CoupledDual child(p);
        child.choose(i, label);
        child.compact();
        child.anneal(0.05 * child.scale(), 5);
        CHECK(child.bound() <= constrained + 1e-9);
      }
  }
}

TEST_CASE("both methods: bound <= optimum <= value, and best proves it") {
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(seed % 6, seed / 6 % 6, 500 + seed, 0.7);
    const double best = optimum(p);
    Options options;
    const Result result = solve(p, options);
    CHECK(result.optimal);
    CHECK(result.objective == doctest::Approx(best).epsilon(1e-9));
    options.method = Method::dual;
    const Result dual = solve(p, options);
    CHECK(dual.lower_bound <= best + 1e-9);
    CHECK(dual.objective >= best - 1e-9);
  }
}

TEST_CASE("full: as many matches as possible") {
  for (int seed = 0; seed < 30; ++seed) {
    const Problem p = random_problem(4, 4, 900 + seed, 0.5);
    std::size_t most = 0;
    double best = 0;
    each_matching(p, [&](const std::vector<int>& match) {
      const std::size_t count = match.size() - std::count(match.begin(), match.end(), -1);
      const double value = p.evaluate(match);
      if (count > most || (count == most && value < best)) {
        most = count;
        best = value;
      }
    });
    Options options;
    options.full = true;
    const Result result = solve(p, options);
    CHECK(static_cast<int>(most) == largest_matching(p));
    CHECK(result.objective == doctest::Approx(best).epsilon(1e-9));
    CHECK(result.optimal);
  }
}

TEST_CASE("what the fuzz target checks, on random bytes") {
  Random random{11};
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::uint8_t> bytes(20 + 2 * trial);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(128 + 128 * random());
    CHECK(fuzz::check(bytes.data(), bytes.size()) == "");
  }
}

TEST_CASE("tiny and huge costs: the proofs of the problem with costs near 1") {
  Random random{3};
  for (int seed = 0; seed < 40; ++seed) {
    const Problem p = random_problem(7, 7, 2000 + seed, 1);
    std::vector<Term> terms;
    for (const Term& t : p.terms)
      if (random() > 0.4) terms.push_back(t);
    const Problem sparse(7, 7, p.left, p.right, p.cost, terms);
    const Result result = solve(sparse);
    for (const int exponent : {-400, -60, -40, -12, 40, 400}) {
      std::vector<double> cost(p.cost);
      std::vector<Term> scaled(terms);
      for (double& c : cost) c = std::ldexp(c, exponent);
      for (Term& t : scaled) t.cost = std::ldexp(t.cost, exponent);
      const Result other = solve(Problem(7, 7, p.left, p.right, cost, scaled));
      CHECK(other.optimal == result.optimal);
      CHECK(std::ldexp(other.objective, -exponent) == doctest::Approx(result.objective).epsilon(1e-9));
    }
  }
}

TEST_CASE("full: dual that never rounds is full too") {
  const Problem p = random_problem(3, 4, 1, 1);
  Options options;
  options.method = Method::dual;
  options.full = true;
  options.max_iterations = 0;
  const Result result = solve(p, options);
  CHECK(std::count(result.assignment.begin(), result.assignment.end(), -1) == 0);
  CHECK(!result.optimal);
  CHECK(result.objective == p.evaluate(result.assignment));
}

TEST_CASE("batch: the same results for any number of threads") {
  std::vector<Problem> problems;
  for (int seed = 0; seed < 20; ++seed) problems.push_back(random_problem(3 + seed % 5, 6, seed));
  std::vector<const Problem*> pointers;
  for (const Problem& p : problems) pointers.push_back(&p);
  const std::vector<Result> one = solve_batch(pointers, {}, 1);
  for (const int threads : {0, 2, 3}) {
    const std::vector<Result> many = solve_batch(pointers, {}, threads);
    for (std::size_t k = 0; k < one.size(); ++k) {
      CHECK(one[k].assignment == many[k].assignment);
      CHECK(one[k].objective == many[k].objective);
      CHECK(one[k].lower_bound == many[k].lower_bound);
    }
  }
}
