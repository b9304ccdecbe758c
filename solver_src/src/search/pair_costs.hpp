// Costs of the terms between two nodes of graph 1, in tables over the labels of both: a local search looks them up at
// every move.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/memory.hpp"

namespace gm {

class PairCosts {
 public:
  // A node that has terms with another one; the table belongs to both directions.
  struct Link {
    int node;  // the other end
    const double* table;
    int row, column, width;  // first assignment of the smaller and of the larger node, labels of the larger
    bool reversed;           // this end is the larger node
    // Cost of the term of assignment a of this end and assignment b of the other, 0 if there is none.
    double cost(int a, int b) const {
      if (reversed) std::swap(a, b);
      return table[static_cast<std::size_t>(a - row) * width + (b - column)];
    }
  };

  explicit PairCosts(const Problem& problem);
  PairCosts(const PairCosts&) = delete;  // links point into the table
  PairCosts& operator=(const PairCosts&) = delete;

  std::vector<Link> links;  // grouped by node of graph 1
  std::vector<int> start;   // (n1 + 1,): links of node i are start[i] .. start[i + 1] - 1
  std::vector<int> of;      // (n1, n1) index in links, or -1

 private:
  Array<double> table_;
};

}  // namespace gm
