// The stars of all assignments: which rows and columns the terms of an assignment make a table of.
#pragma once

#include <cstddef>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/memory.hpp"

namespace gm {

// The terms of an assignment with others, as a table of the neighbours of its two nodes.
struct Star {
  int rows, columns;  // neighbours of its node of graph 1 and of its node of graph 2 that occur in its terms
  int width;          // columns rounded up to four
  std::size_t nodes;  // where they begin in StarLayout::nodes: rows, then columns
};

// A term in the star of one of its assignments.
struct StarCell {
  int row, column;
  int mirror;  // the same term in the star of its other assignment
};

struct StarLayout {
  explicit StarLayout(const Problem& problem);

  Array<Star> stars;  // (A,)
  std::vector<int> nodes;
  Array<StarCell> cells;  // (2 T,) like Problem::adj

 private:
  void place_cells(const Problem& problem);
};

}  // namespace gm
