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
