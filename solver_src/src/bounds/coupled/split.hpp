// How the coupled dual splits the costs, and which labels are left.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "bounds/coupled/side.hpp"
#include "core/memory.hpp"

namespace gm::coupled {

struct Split {
  const Problem& problem;
  Side side[2];
  std::vector<int> local[2];         // (A,) position of an assignment in its node's vector
  Array<std::pair<int, int>> terms;  // (T,) of those with both assignments left, as is `places`
  TermPlaces places[2];
  std::vector<char> alive;  // (A,) assignments left
  bool empty = false;       // no matching is left

  explicit Split(const Problem& problem);

  // Place of an assignment in the vectors of a side.
  std::size_t at(int which, int a) const {
    return side[which].node_at[which == 0 ? problem.left[a] : problem.right[a]] + local[which][a];
  }

  // Removes an assignment; propagate() follows when all that is to go has gone.
  void remove(int assignment);
  void remove_idle(int which, int node);
  // Removes every label of node i of graph 1 but this one (an assignment, or -1 for staying unmatched).
  void choose(int i, int assignment);
  // Removes what the removals so far exclude.
  void propagate();
  // Frees the memory and the time that removed labels take.
  void compact();

  // Labels left at node i of graph 1: assignments, and -1 if it may stay unmatched.
  std::vector<int> labels_left(int i) const;
  int label_count(int i) const;
  // The node of graph 2 that is left for node i, -1 if none is.
  int only_match(int i) const;

 private:
  bool isolate(int assignment);
  void compact_terms();
};

}  // namespace gm::coupled
