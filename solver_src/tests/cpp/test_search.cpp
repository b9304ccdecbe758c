// Local search over matchings.
#include <doctest/doctest.h>

#include <limits>

#include "cpp/problems.hpp"
#include "search/local_search.hpp"

using namespace gm;
using namespace gm::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

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

TEST_CASE("both scans make the same moves") {
  for (int seed = 0; seed < 30; ++seed) {
    const int n2 = 3 + seed % 8, n1 = n2 + seed % 3;  // fours of columns, and what is left over
    const Problem all = random_problem(n1, n2, 900 + seed, 1.1);
    const Problem one_more(n1 + 1, n2, all.left, all.right, all.cost, all.terms);  // without assignments
    LocalSearch complete(all), listed(one_more);
    complete.start(std::vector<int>(n1, -1));
    listed.start(std::vector<int>(n1 + 1, -1));
    for (LocalSearch* search : {&complete, &listed}) {
      search->descend();
      search->tabu(300, seed, -inf);
    }
    std::vector<int> expected = complete.assignment();
    expected.push_back(-1);
    CHECK(listed.assignment() == expected);
    CHECK(listed.value() == complete.value());
    CHECK(listed.best_value() == complete.best_value());
  }
}

TEST_CASE("forced assignments: a matching, no worse than the start, and often better than descent") {
  int better = 0;
  for (int seed = 0; seed < 30; ++seed) {
    const Problem p = random_problem(8, 9, 300 + seed, 0.6);
    LocalSearch search(p);
    search.start(std::vector<int>(p.n1, -1));
    search.descend();
    const double before = search.value();
    const std::int64_t trials = search.force_all(10000);
    CHECK(trials < 10000);
    CHECK(search.value() <= before);
    CHECK(search.best_value() == search.value());
    CHECK(search.value() == doctest::Approx(p.evaluate(search.assignment())));
    better += search.value() < before - 1e-9;
    const double value = search.value();
    CHECK(search.force_all(3) <= 3);
    CHECK(search.value() <= value);
  }
  CHECK(better >= 15);
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
