// What large problems are kept in gives the same as what small ones are kept in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bounds/coupled/dual.hpp"
#include "core/lap.hpp"
#include "cpp/problems.hpp"
#include "cpp/splits.hpp"
#include "pair/need.hpp"
#include "search/local_search.hpp"

using namespace gm;
using namespace gm::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Two rings of n nodes, each joined to the `reach` next ones, all matches allowed.
Problem rings(int n, int reach) {
  std::vector<std::int64_t> edges;
  for (int i = 0; i < n; ++i)
    for (int step = 1; step <= reach; ++step)
      for (const int k : {(i + step) % n, (i + n - step) % n}) edges.insert(edges.end(), {i, k});
  const int n_edges = static_cast<int>(edges.size() / 2);
  const std::vector<float> unary(static_cast<std::size_t>(n) * n, -1),
      quadratic(static_cast<std::size_t>(n_edges) * n_edges, -1);
  return from_dense(n, n, unary.data(), n_edges, edges.data(), n_edges, edges.data(), quadratic.data(), nullptr);
}

}  // namespace

TEST_CASE("linear assignment over lists: the value of the table, potentials that prove it") {
  Random random{5};
  for (int seed = 0; seed < 300; ++seed) {
    const int n1 = seed % 7, n2 = seed / 7 % 8;
    std::vector<double> table(static_cast<std::size_t>(n1) * n2, inf), cost;
    std::vector<int> row_start{0}, column;
    for (int i = 0; i < n1; ++i) {
      for (int j = 0; j < n2; ++j) {
        if (random() > 0.4) continue;
        const double c = seed % 3 ? random() - 0.3 : std::round(3 * random());  // with ties
        const bool removed = random() > 0.9;
        column.push_back(j);
        cost.push_back(removed ? inf : c);
        table[static_cast<std::size_t>(i) * n2 + j] = cost.back();
      }
      row_start.push_back(static_cast<int>(column.size()));
    }
    LapResult dense, listed;
    solve_lap(n1, n2, table.data(), dense);
    solve_listed_lap(n1, n2, row_start.data(), column.data(), cost.data(), listed);
    CHECK(listed.value == doctest::Approx(dense.value));
    double paid = 0;
    for (int i = 0; i < n1; ++i) {
      CHECK(listed.row[i] <= 0);
      if (listed.match[i] >= 0) {
        paid += table[static_cast<std::size_t>(i) * n2 + listed.match[i]];
        CHECK(listed.owner[listed.match[i]] == i);
      }
      for (int j = 0; j < n2; ++j)
        CHECK(listed.row[i] + listed.column[j] <= table[static_cast<std::size_t>(i) * n2 + j] + 1e-12);
    }
    for (int j = 0; j < n2; ++j) CHECK(listed.column[j] <= 0);
    CHECK(paid == doctest::Approx(listed.value));
  }
}

TEST_CASE("local search: lists and remembered rows make the same moves as tables and scans, bit by bit") {
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(6 + seed % 5, 5 + seed % 7, 900 + seed, seed % 3 ? 0.6 : 1.1);
    LocalSearch small(p), large(p, {0, 0});
    std::vector<int> none(p.n1, -1);
    for (LocalSearch* search : {&small, &large}) {
      search->start(none);
      search->greedy();
    }
    CHECK(small.assignment() == large.assignment());
    CHECK(small.value() == large.value());
    for (const std::uint64_t start_seed : {1, 2, 3}) {
      for (LocalSearch* search : {&small, &large}) {
        search->tabu(20, start_seed, -1e9);
        search->descend();
      }
      CHECK(small.assignment() == large.assignment());
      CHECK(small.value() == large.value());
      CHECK(small.best() == large.best());
    }
    for (LocalSearch* search : {&small, &large}) {
      search->start(none);
      search->descend();
    }
    CHECK(small.assignment() == large.assignment());
  }
}

TEST_CASE("implicit tables: the bound of explicit ones before the ascent, and nearly that after it") {
  double most = 0, sum = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const Problem p = random_problem(5, 6, 40 + seed, seed % 2 ? 0.7 : 1.1);
    CoupledDual tables(p);
    ImplicitDual implicit(p);
    CHECK(implicit.bound() == doctest::Approx(tables.bound()).epsilon(1e-12));
    CHECK(implicit.table_entries() == tables.table_entries());
    for (const double temperature : {0.3, 0.1, 0.03}) {
      tables.anneal(temperature * tables.scale(), 5);
      implicit.anneal(temperature * implicit.scale(), 5);
      const double difference = std::fabs(implicit.bound() - tables.bound()) / std::fabs(tables.last_bound());
      most = std::max(most, difference);
      sum += difference;
    }
  }
  CHECK(most < 0.02);
  CHECK(sum / 120 < 0.003);
}

TEST_CASE("implicit tables: every split is a bound, removal keeps what is better, compacting changes nothing") {
  for (int seed = 0; seed < 60; ++seed)
    check_splits<ImplicitDual>(random_problem(4, 5, 100 + seed, seed % 3 ? 0.8 : 1.1));
}

TEST_CASE("memory of the bound: tables for keypoint-size problems, the terms' for two pictures of 500 keypoints") {
  const Problem small = rings(50, 3);
  CHECK(!implicit_tables(small));
  CHECK(coupled_bytes(small) == doctest::Approx(6.4e6).epsilon(0.02));
  CHECK(!implicit_tables(rings(125, 3)));  // 94 MB
  CHECK(implicit_tables(rings(145, 3)));   // 146 MB
  const Problem p = rings(500, 3);
  CHECK(p.terms.size() == 4'500'000);
  CHECK(implicit_tables(p));
  CHECK(table_bytes(p, 0) + table_bytes(p, 1) == doctest::Approx(6.06e9).epsilon(0.01));
  CHECK(coupled_bytes(p) == doctest::Approx(0.31e9).epsilon(0.05));
}
