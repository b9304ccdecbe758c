// Unit tests of the parts: arithmetic, linear assignment, local search, bounds.
// Build: cmake -S solver_src -B build/solver -DBBGM_SOLVER_PYTHON=OFF -DBBGM_SOLVER_TESTS=ON
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupled.hpp"
#include "lap.hpp"
#include "problems.hpp"
#include "search.hpp"
#include "solver.hpp"
#include "star.hpp"
#include "vec.hpp"

using namespace gm;
using namespace gm::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

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
      StarBound star(p, seed % 2 ? optimal : std::vector<int>(p.n1, -1));
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
