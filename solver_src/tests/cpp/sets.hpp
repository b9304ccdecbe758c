// Random sets of several graphs.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "bbgm_solver/multi_problem.hpp"
#include "cpp/problems.hpp"

namespace gm::test {

// Random problems on all pairs of graphs, or on those up to `most`.
struct Set {
  std::deque<Problem> problems;
  std::vector<GraphPair> pairs;
  std::vector<int> size;
  Set(std::vector<int> size_, std::uint64_t seed, double density = 0.8, std::size_t most = 1000)
      : size(std::move(size_)) {
    const int d = static_cast<int>(size.size());
    for (int q = 1; q < d; ++q)
      for (int p = 0; p < q && pairs.size() < most; ++p) {
        problems.push_back(random_problem(size[p], size[q], 97 * seed + pairs.size(), density));
        pairs.push_back({p, q, &problems.back()});
      }
  }
  MultiProblem problem() const { return MultiProblem(size, pairs); }
};

}  // namespace gm::test
