// The dual of several graphs: its factors and its updates against enumeration, and method "dual".
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bbgm_solver/solve.hpp"
#include "bbgm_solver/solve_multi.hpp"
#include "cpp/sets.hpp"
#include "fuzz/check_multi.hpp"
#include "multi/dual/joint_dual.hpp"
#include "multi/dual/triplet.hpp"

using namespace gm;
using namespace gm::test;

namespace {

// A triplet with the four vectors that it is tied to, all at random.
struct TripletStar {
  Random random;
  std::vector<int> nodes1, nodes2;
  std::vector<double> first, second, left, right;  // the last two: i and k in each other's vectors, at label 0
  bool allowed;
  Triplet triplet;

  static std::vector<int> some(Random& random) {
    std::vector<int> nodes;
    for (int j = 0; j < 4; ++j)
      if (random() < 0.5) nodes.push_back(j);
    return nodes;
  }
  std::vector<double> costs(std::size_t labels) {
    std::vector<double> x(labels + 1);
    for (double& c : x) c = random();
    return x;
  }
  static NodeCosts at(std::vector<double>& x) { return {x.data(), static_cast<int>(x.size()) - 1}; }

  explicit TripletStar(std::uint64_t seed)
      : random{seed}, nodes1(some(random)), nodes2(some(random)), first(costs(nodes1.size())),
        second(costs(nodes2.size())), left(costs(2)), right(costs(1)), allowed(random() < 0.6),
        triplet(at(first), at(second), nodes1, nodes2,
                allowed ? std::vector<Triplet::Entry>{{at(left), 0}, {at(right), 0}} : std::vector<Triplet::Entry>{}) {
    if (!allowed) left[0] = right[0] = 10;  // no label at all
  }

  // The bound without the constant, and the least cost of what is consistent.
  double bound() const {
    double sum = triplet.least();
    for (const auto* x : {&first, &second, &left, &right}) sum += *std::min_element(x->begin(), x->end());
    return sum;
  }
  // x, y: label or none; apart: i and k do not match each other.
  double cheapest() const {
    double best = std::numeric_limits<double>::infinity();
    const double apart = std::min(left[1], left[2]) + right[1], together = left[0] + right[0];
    for (std::size_t x = 0; x < first.size(); ++x)
      for (std::size_t y = 0; y < second.size(); ++y) {
        const bool none1 = x == nodes1.size(), none2 = y == nodes2.size();
        const bool same = !none1 && !none2 && nodes1[x] == nodes2[y];
        if (!same) best = std::min(best, first[x] + second[y] + apart);
        if (allowed && (same || (none1 && none2))) best = std::min(best, first[x] + second[y] + together);
      }
    return best;
  }
};

}  // namespace

TEST_CASE("triplet: an update finds the least cost of its star, and promises no more than it gains") {
  int gained = 0;
  for (int seed = 0; seed < 500; ++seed) {
    TripletStar star(seed);
    const double before = star.bound(), best = star.cheapest(), gain = star.triplet.gain();
    CHECK(before <= best + 1e-12);
    CHECK(gain >= -1e-12);
    double constant = star.triplet.update();
    CHECK(star.bound() + constant >= before + gain - 1e-12);
    CHECK(star.bound() + constant == doctest::Approx(best).epsilon(1e-9));
    // The costs that moved are those of every consistent choice.
    constant += star.triplet.update();
    CHECK(star.bound() + constant == doctest::Approx(best).epsilon(1e-9));
    gained += gain > 1e-9;
  }
  CHECK(gained > 100);
}

TEST_CASE("message passing with tables of both graphs: a bound that never falls") {
  for (int seed = 0; seed < 60; ++seed) {
    const Problem p = random_problem(4, 3 + seed % 3, 900 + seed, seed % 2 ? 0.7 : 1.1);
    const double best = optimum(p);
    MessagePassing dual(p, TablesOf::both);
    double bound = dual.bound();
    for (int k = 0; k < 20; ++k) {
      if (k % 4 == 0) dual.pass_forward(k % 8 ? -1 : 0.4);
      if (k % 4 == 1) dual.pass_backward(k % 8 ? -1 : 0.4);
      if (k % 4 == 2) dual.gather();
      CHECK(dual.bound() >= bound - 1e-12);
      bound = dual.bound();
      CHECK(bound <= best + 1e-9);
    }
    CHECK(bound == doctest::Approx(best).epsilon(0.5));
  }
}

TEST_CASE("joint dual: sum of pair bounds <= bound <= optimum, monotone") {
  int risen = 0, tight = 0;
  for (int seed = 0; seed < 500; ++seed) {
    const std::vector<int> size =
        seed % 10 ? std::vector<int>{2 + seed % 3, 2 + seed / 3 % 3, 2 + seed / 9 % 3} : std::vector<int>{2, 2, 3, 2};
    const Set set(size, 7000 + seed, seed % 2 ? 0.7 : 1.0, seed % 7 ? 1000 : 2);
    const MultiProblem problem = set.problem();
    const double optimum = fuzz::cheapest(problem);
    JointDual dual(problem);
    double bound = dual.bound(), alone = 0;
    for (int k = 1; k <= 60; ++k) {
      if (k == 30) alone = bound;
      if (k >= 30 && k % 3 == 0) dual.tighten(1000);
      dual.iterate();
      CHECK(dual.bound() >= bound - 1e-11);
      bound = dual.bound();
      CHECK(bound <= optimum + 1e-11);
    }
    CHECK(bound >= alone - 1e-11);
    risen += dual.triplets() > 0 && bound > alone + 1e-3;
    tight += bound > optimum - 1e-3;
  }
  CHECK(risen > 100);
  CHECK(tight > 250);
}

TEST_CASE("dual: against enumeration, sync and its own course") {
  for (int seed = 0; seed < 60; ++seed) {
    const Set set({seed % 4, 3, 2 + seed / 4 % 3}, 8000 + seed, seed % 2 ? 0.6 : 1.0, seed % 5 ? 1000 : 2);
    const MultiProblem problem = set.problem();
    const double optimum = fuzz::cheapest(problem);
    MultiOptions options;
    options.method = MultiMethod::sync;
    const MultiResult sync = solve_multi(problem, options);
    options.method = MultiMethod::dual;
    MultiResult before = sync;
    for (const int iterations : {0, 1, 10, 40}) {
      options.max_iterations = iterations;
      options.threads = 1 + iterations % 3;
      const MultiResult dual = solve_multi(problem, options);
      CHECK(fuzz::broken(problem, options, dual, optimum) == "");
      CHECK(dual.objective <= before.objective);
      CHECK(dual.lower_bound >= before.lower_bound);
      before = dual;
    }
  }
}
