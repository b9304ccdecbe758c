// Matching of several graphs: its parts, and the whole against enumeration.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bbgm_solver/solve_multi.hpp"
#include "cpp/sets.hpp"
#include "fuzz/check_multi.hpp"
#include "multi/bound.hpp"
#include "multi/search.hpp"
#include "multi/swap_choice.hpp"
#include "multi/synchronise.hpp"

using namespace gm;
using namespace gm::test;

namespace {

std::vector<std::vector<int>> pair_matchings(const MultiProblem& problem) {
  std::vector<std::vector<int>> matchings;
  for (const GraphPair& e : problem.pairs) matchings.push_back(solve(*e.problem).assignment);
  return matchings;
}

double drift(const MultiProblem& problem, const CliqueSearch& search) {
  return std::fabs(search.value() - problem.evaluate(search.cliques()));
}

}  // namespace

TEST_CASE("swap choice: the cheapest cut") {
  for (int seed = 0; seed < 200; ++seed) {
    Random random{static_cast<std::uint64_t>(seed)};
    const int n = 1 + seed % 7;
    SwapChoice choice;
    choice.reset(n);
    std::vector<double> cost(n * n, 0.0);
    for (int g = 0; g < n; ++g)
      for (int h = g + 1; h < n; ++h) {
        const double c = random();
        const bool allowed = random() < 0.6;
        choice.set(g, h, c, allowed);
        cost[g * n + h] = allowed ? c : 1e9;
      }
    double best = 0;
    for (int mask = 0; mask < 1 << n; ++mask) {
      double sum = 0;
      for (int g = 0; g < n; ++g)
        for (int h = g + 1; h < n; ++h)
          if ((mask >> g & 1) != (mask >> h & 1)) sum += cost[g * n + h];
      best = std::min(best, sum);
    }
    std::vector<char> swapped;
    const double found = choice.solve(swapped);
    CHECK(found == doctest::Approx(best).epsilon(1e-12));
    double sum = 0;
    for (int g = 0; g < n; ++g)
      for (int h = g + 1; h < n; ++h)
        if (swapped[g] != swapped[h]) sum += cost[g * n + h];
    CHECK(sum == doctest::Approx(found).epsilon(1e-12));
  }
  // More graphs than are enumerated: two groups that want to part, tied inside.
  const int n = SwapChoice::enumerated + 3;
  SwapChoice choice;
  choice.reset(n);
  for (int g = 0; g < n; ++g)
    for (int h = g + 1; h < n; ++h) choice.set(g, h, g % 2 == h % 2 ? 1.0 : -1.0, g % 2 != h % 2 || g % 3 > 0);
  std::vector<char> swapped;
  CHECK(choice.solve(swapped) == doctest::Approx(-(n / 2) * ((n + 1) / 2)));
  for (int g = 0; g < n; ++g) CHECK(swapped[g] == (swapped[0] ^ g % 2));
}

TEST_CASE("search: the kept value is the cost of the cliques, and descending lowers it") {
  for (int seed = 0; seed < 30; ++seed) {
    const Set set({3, 5, 4, 5}, seed, seed % 2 ? 0.5 : 1.0, seed % 3 ? 1000 : 4);
    const MultiProblem problem = set.problem();
    CliqueSearch search(problem, {});
    std::uint64_t random = seed;
    for (int build = 0; build < 4; ++build) {
      if (build == 0) search.build_in_order({2, 0, 3, 1});
      if (build == 1) search.build_as_tree({2, 0, 3, 1});
      if (build == 2) search.agree(pair_matchings(problem));
      if (build == 3) search.build_at_random(random);
      CHECK(drift(problem, search) < 1e-9);
      if (build < 2) CHECK(search.value() <= 0);
      const double before = search.value();
      search.descend();
      CHECK(search.value() <= before);
      CHECK(drift(problem, search) < 1e-9);
      const double value = search.value();
      search.start(search.cliques());
      CHECK(search.value() == doctest::Approx(value).epsilon(1e-9));
      search.descend();
      CHECK(search.value() == doctest::Approx(value).epsilon(1e-9));
    }
  }
}

TEST_CASE("synchronise: consistent matchings are kept, others become consistent") {
  for (int seed = 0; seed < 20; ++seed) {
    const Set set({4, 5, 3, 5}, seed, 1);
    const MultiProblem problem = set.problem();
    const Cliques cliques = problem.canonical({{0, 1, 2, 3}, {1, -1, 0, 4}, {2, 0, -1, -1}, {-1, 4, 1, 0}});
    std::vector<std::vector<int>> matchings;
    for (const GraphPair& e : problem.pairs) matchings.push_back(problem.matching(cliques, e.p, e.q));
    CHECK(problem.canonical(synchronise(problem, matchings)) == cliques);
    std::vector<int> used(17, 0);
    for (const std::vector<int>& clique : synchronise(problem, pair_matchings(problem)))
      for (int p = 0; p < 4; ++p)
        if (clique[p] >= 0) CHECK(used[5 * p - (p > 0) - 2 * (p > 2) + clique[p]]++ == 0);
  }
}

TEST_CASE("bound: below the optimum at all prices, and above the pairs' bounds") {
  int risen = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const Set set({3, 2, 3}, seed, seed % 2 ? 0.6 : 1.0);
    const MultiProblem problem = set.problem();
    const double optimum = fuzz::cheapest(problem);
    CycleBound bound(problem, {}, 1);
    const double first = bound.solve();
    double best = first;
    CHECK(first <= optimum + 1e-9);
    for (int step = 0; step < 20 && bound.raise(optimum); ++step) {
      best = std::max(best, bound.solve());
      CHECK(best <= optimum + 1e-9);
      if (step % 5 == 4) bound.shorten();
    }
    risen += best > first + 1e-6;
  }
  CHECK(risen > 10);
}

TEST_CASE("best: the optimum of small sets, and never worse than sync") {
  for (int seed = 0; seed < 60; ++seed) {
    const Set set({seed % 4, 3, seed / 4 % 4}, 1000 + seed, seed % 2 ? 0.6 : 1.0, seed % 5 ? 1000 : 2);
    const MultiProblem problem = set.problem();
    const double optimum = fuzz::cheapest(problem);
    MultiOptions options;
    const MultiResult best = solve_multi(problem, options);
    CHECK(fuzz::broken(problem, options, best, optimum) == "");
    CHECK(best.objective == doctest::Approx(optimum).epsilon(1e-9));
    options.method = MultiMethod::sync;
    const MultiResult sync = solve_multi(problem, options);
    CHECK(fuzz::broken(problem, options, sync, optimum) == "");
    CHECK(best.objective <= sync.objective);
  }
}

TEST_CASE("many graphs, no graphs, no pairs") {
  const Set many(std::vector<int>(SwapChoice::enumerated + 2, 3), 5, 0.7);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  MultiOptions options;
  options.pair.effort = Effort::fast;
  options.starts = 2;
  const MultiProblem problem = many.problem();
  const MultiResult result = solve_multi(problem, options);
  CHECK(fuzz::broken(problem, options, result, nan) == "");
  CHECK(result.objective < 0);
  for (const MultiProblem& empty : {MultiProblem({}, {}), MultiProblem({2, 3}, {}), MultiProblem({2, 3, 1}, {})}) {
    const MultiResult none = solve_multi(empty);
    CHECK(none.optimal);
    CHECK(none.objective == 0);
    CHECK(none.cliques.empty());
  }
}

TEST_CASE("the same result for any number of threads") {
  const Set set({6, 5, 7, 6}, 3, 1);
  const MultiProblem problem = set.problem();
  MultiOptions options;
  const MultiResult one = solve_multi(problem, options);
  for (const int threads : {0, 2, 3}) {
    options.threads = threads;
    const MultiResult other = solve_multi(problem, options);
    CHECK(other.cliques == one.cliques);
    CHECK(other.objective == one.objective);
    CHECK(other.lower_bound == one.lower_bound);
  }
}

TEST_CASE("what the fuzz target checks, on random bytes") {
  Random random{12};
  for (int trial = 0; trial < 150; ++trial) {
    std::vector<std::uint8_t> bytes(20 + 4 * trial);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(128 + 128 * random());
    CHECK(fuzz::check_multi(bytes.data(), bytes.size()) == "");
  }
}
