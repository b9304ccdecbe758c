// The star bound and the coupled dual.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "bounds/coupled/dual.hpp"
#include "bounds/star.hpp"
#include "cpp/problems.hpp"
#include "cpp/splits.hpp"
#include "pair/restrict.hpp"

using namespace gm;
using namespace gm::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("star bound: every split is a bound, passes keep the optimum and never lower the bound") {
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(4, 5, 300 + seed, seed % 3 ? 0.7 : 1.1);
    const double best = optimum(p);
    std::vector<int> optimal;
    each_matching(p, [&](const std::vector<int>& match) {
      if (p.evaluate(match) < best + 1e-12) optimal = match;
    });
    const StarLayout layout(p);
    for (const double above : {1e-6, 0.3, 2.0}) {
      StarBound star(p, layout, seed % 2 ? optimal : std::vector<int>(p.n1, -1));
      double bound = star.bound();
      for (int pass = 0; pass < 12; ++pass) {
        const double before = bound;
        star.pass(best + above, pass % 2 == 0);
        bound = star.bound();
        CHECK(bound >= before - 1e-9);
        CHECK(bound <= best + 1e-9);
      }
      const Problem rest = restricted(p, star.left());
      for (int i = 0; i < p.n1; ++i) CHECK((optimal[i] < 0 || rest.find(i, optimal[i]) >= 0));
      CHECK(optimum(rest) == doctest::Approx(best));
    }
  }
}

TEST_CASE(
    "star bound, quick: at most the bound of the same split, passes keep the optimum, most end with the same bound") {
  int equal = 0, all = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(4, 5, 700 + seed, seed % 3 ? 0.7 : 1.1);
    const double best = optimum(p);
    std::vector<int> optimal;
    each_matching(p, [&](const std::vector<int>& match) {
      if (p.evaluate(match) < best + 1e-12) optimal = match;
    });
    const StarLayout layout(p);
    StarBound first(p, layout, optimal);
    const double quick = first.quick_bound(), bound = first.bound();
    CHECK(quick <= bound + 1e-9);
    ++all;
    equal += quick > bound - 1e-9;
    for (const double above : {1e-6, 0.3, 2.0}) {
      StarBound star(p, layout, optimal);
      for (int pass = 0; pass < 12; ++pass) {
        CHECK(star.quick_bound() <= best + 1e-9);
        star.pass(best + above, pass % 2 == 0);
      }
      const Problem rest = restricted(p, star.left());
      CHECK(optimum(rest) == doctest::Approx(best));
    }
  }
  CHECK(2 * equal > all);
}

TEST_CASE("star layout: a table without gaps is found where every match is allowed, and is the same as cell by cell") {
  for (int seed = 0; seed < 40; ++seed) {
    Random random{static_cast<std::uint64_t>(seed) + 1};
    const int n1 = 3 + seed % 3, n2 = 3 + seed / 3 % 4;
    std::vector<int> left, right;
    std::vector<double> cost;
    for (int i = 0; i < n1; ++i)
      for (int j = 0; j < n2; ++j) {
        left.push_back(i);
        right.push_back(j);
        cost.push_back(random());
      }
    // Terms between neighbours on two rings make tables; leaving out single ones makes gaps.
    std::vector<Term> terms;
    for (int a = 0; a < n1 * n2; ++a)
      for (int b = a + 1; b < n1 * n2; ++b) {
        const int di = (left[b] - left[a] + n1) % n1, dj = (right[b] - right[a] + n2) % n2;
        const bool ring = (di == 1 || di == n1 - 1) && (dj == 1 || dj == n2 - 1);
        if (ring && (seed % 2 || random() > -0.8)) terms.push_back({a, b, random()});
      }
    const Problem p(n1, n2, left, right, cost, terms);
    const StarLayout layout(p);
    for (int a = 0; a < p.size(); ++a) {
      const Star& star = layout.stars[a];
      for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) {
        const StarCell& cell = layout.cells[k];
        CHECK(layout.nodes[star.nodes + cell.row] == p.left[p.adj[k].a]);
        CHECK(layout.nodes[star.nodes + star.rows + cell.column] == p.right[p.adj[k].a]);
        CHECK(p.adj[cell.mirror].a == a);
        CHECK(p.adj[cell.mirror].cost == p.adj[k].cost);
      }
    }
  }
}

TEST_CASE("coupled dual: every split is a bound, removal keeps what is better, compacting changes nothing") {
  for (int seed = 0; seed < 30; ++seed) check_splits<CoupledDual>(random_problem(4, 5, 100 + seed));
}
