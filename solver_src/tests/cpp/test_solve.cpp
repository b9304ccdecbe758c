// The methods as a whole: proofs, full matchings, scales of costs, batches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bbgm_solver/dense_batch.hpp"
#include "bbgm_solver/solve.hpp"
#include "cpp/problems.hpp"
#include "fuzz/check_solve.hpp"

using namespace gm;
using namespace gm::test;

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

TEST_CASE("full: as many matches as possible, whatever they cost") {
  // From matches that pay anyway to such that no reward near their own costs brings about.
  for (int seed = 0; seed < 30; ++seed)
    for (const double dearer : {-0.5, 0.0, 0.3, 1.0, 30.0}) {
      Problem p = random_problem(4, 3 + seed % 3, 900 + seed, 0.5);
      std::vector<Term> terms(p.terms);
      for (Term& t : terms) t.cost += dearer;
      p = Problem(p.n1, p.n2, p.left, p.right, p.cost, terms);
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

TEST_CASE("dense batch: the results of solve on each problem, indicators of what is matched") {
  Random random{17};
  struct Given {
    int n1, n2;
    std::vector<std::int64_t> edges1, edges2;
    std::vector<double> unary, quadratic;
  };
  std::vector<Given> given;
  DenseBatch batch;
  for (int b = 0; b < 12; ++b) {
    Given g{b % 5, 1 + b % 4, {}, {}, {}, {}};
    const auto draw_edges = [&](int n, std::vector<std::int64_t>& edges) {
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          if (i != j && random() > -0.2) edges.insert(edges.end(), {i, j});
    };
    draw_edges(g.n1, g.edges1);
    draw_edges(g.n2, g.edges2);
    for (int k = 0; k < g.n1 * g.n2; ++k) g.unary.push_back(random());
    for (std::size_t k = 0; k < g.edges1.size() / 2 * (g.edges2.size() / 2); ++k) g.quadratic.push_back(random());
    given.push_back(g);
    batch.add(g.n1, g.n2, static_cast<int>(g.edges1.size() / 2), given.back().edges1.data(),
              static_cast<int>(g.edges2.size() / 2), given.back().edges2.data());
  }
  for (const int threads : {1, 2}) {
    std::vector<DenseTask> tasks(given.size());
    std::vector<std::vector<double>> matched(given.size()), pairs(given.size());
    for (std::size_t b = 0; b < given.size(); ++b) {
      const Given& g = given[b];
      matched[b].assign(g.unary.size() + 1, 7);
      pairs[b].assign(g.quadratic.size() + 1, 7);
      tasks[b].problem = static_cast<int>(b);
      tasks[b].unary = {g.unary.data(), static_cast<std::size_t>(g.n2)};
      tasks[b].quadratic = {g.quadratic.data(), g.edges2.size() / 2};
      tasks[b].matched = matched[b].data();
      tasks[b].matched_edges = pairs[b].data();
    }
    batch.solve(tasks, {}, threads);
    for (std::size_t b = 0; b < given.size(); ++b) {
      const Given& g = given[b];
      const int e1 = static_cast<int>(g.edges1.size() / 2), e2 = static_cast<int>(g.edges2.size() / 2);
      const Problem p =
          from_dense(g.n1, g.n2, g.unary.data(), e1, g.edges1.data(), e2, g.edges2.data(), g.quadratic.data(), nullptr);
      const Result alone = solve(p);
      CHECK(tasks[b].objective == alone.objective);
      CHECK(tasks[b].lower_bound == alone.lower_bound);
      double value = 0;  // of the indicators
      for (std::size_t k = 0; k < g.unary.size(); ++k) value += g.unary[k] * matched[b][k];
      for (std::size_t k = 0; k < g.quadratic.size(); ++k) value += g.quadratic[k] * pairs[b][k];
      CHECK(value == doctest::Approx(alone.objective));
      CHECK(matched[b].back() == 7);  // nothing is written behind
      CHECK(pairs[b].back() == 7);
    }
  }
}

TEST_CASE("who waits for a solve is asked; giving up ends it, anything else changes nothing") {
  const Problem p = random_problem(16, 16, 5);
  const std::vector<const Problem*> batch(4, &p);
  for (const Method method : {Method::best, Method::dual})
    for (const bool full : {false, true}) {
      Options options;
      options.method = method;
      options.full = full;
      options.max_iterations = 300;
      const Result alone = solve(p, options);
      int asked = 0, patience = 1 << 30;
      const GiveUp give_up = [&] { return ++asked > patience; };
      options.give_up = &give_up;
      const Result watched = solve(p, options);
      CHECK(asked > 5);
      CHECK(watched.assignment == alone.assignment);
      CHECK(watched.lower_bound == alone.lower_bound);
      patience = asked / 2;
      asked = 0;
      CHECK_THROWS_AS(solve(p, options), Interrupted);
      CHECK(asked == patience + 1);
      for (const int threads : {1, 2}) {
        asked = 0;
        CHECK_THROWS_AS(solve_batch(batch, options, threads), Interrupted);
      }
    }
}
