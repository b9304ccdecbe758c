// What holds for the coupled dual, whether its tables are made or implicit.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cpp/problems.hpp"

namespace gm::test {

// Every split is a bound, removal keeps what is better, compacting changes nothing, and choosing a label bounds the
// matchings that have it.
template <class Dual>
void check_splits(const Problem& p) {
  const double best = optimum(p);
  Dual dual(p);
  CHECK(dual.bound() <= best + 1e-12);
  for (const double temperature : {1.0, 0.1, 0.01, 0.001}) {
    dual.anneal(temperature * dual.scale(), 5);
    CHECK(dual.bound() <= best + 1e-9);
    const double before = dual.last_bound();
    Dual copy(dual);
    copy.compact();
    CHECK(copy.bound() == doctest::Approx(before).epsilon(1e-9));
    // An upper bound just above the optimum: the optimum's own labels must survive.
    dual.remove_above(best + 0.05);
    CHECK(!dual.empty());
    dual.compact();
    CHECK(dual.bound() <= best + 1e-9);
  }
  for (int i = 0; i < p.n1; ++i)
    for (const int label : Dual(p).labels_left(i)) {
      double constrained = std::numeric_limits<double>::infinity();
      each_matching(p, [&](const std::vector<int>& match) {
        if (match[i] == (label < 0 ? -1 : p.right[label])) constrained = std::min(constrained, p.evaluate(match));
      });
      Dual child(p);
      child.choose(i, label);
      child.compact();
      child.anneal(0.05 * child.scale(), 5);
      CHECK(child.bound() <= constrained + 1e-9);
    }
}

}  // namespace gm::test
