// Problems in the dense form of BB-GM, one after the other in the same memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "bbgm_solver/dense_batch.hpp"
#include "bbgm_solver/problem.hpp"

namespace gm {

class DenseMaker {
 public:
  // A problem that is there until the next one is made. allowed: (n1, n2), may be null.
  // Throws TooLarge where it does not fit into the memory.
  const Problem& make(const DenseGraphs& graphs, CostRows unary, CostRows quadratic, const bool* allowed = nullptr);
  // What it holds on to, about.
  std::size_t bytes() const { return problem_.adj.capacity() * (sizeof(Neighbour) + sizeof(Term) / 2); }
  // The last one, moved out.
  Problem take() { return std::move(problem_); }

 private:
  void add_assignments(const DenseGraphs& graphs, CostRows unary, const bool* allowed);
  template <class T>
  void add_terms(const DenseGraphs& graphs, const T* quadratic, std::size_t step);

  Problem problem_{0, 0, {}, {}, {}, {}};
  std::vector<int> index_;        // (n1, n2) number of an assignment, or -1
  std::vector<int> first_above_;  // (A,) where the partners above an assignment begin in Problem::adj
};

}  // namespace gm
