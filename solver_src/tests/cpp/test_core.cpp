// Arithmetic, linear assignment, and problems in dense form.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/lap.hpp"
#include "core/vec.hpp"
#include "cpp/problems.hpp"

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
