// Which labels are left at the nodes of both graphs, what their removal excludes, and each graph's costs. `Side` has
// the costs of one graph: side.hpp, or bounds/implicit/side.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "bbgm_solver/problem.hpp"

namespace gm::coupled {

template <class Side>
struct Labels {
  const Problem& problem;
  Side side[2];
  std::vector<int> local[2];  // (A,) position of an assignment in its node's vector
  std::vector<char> alive;    // (A,) assignments left
  bool empty = false;         // no matching is left

  explicit Labels(const Problem& p) : problem(p), alive(p.size(), 1) {
    local[0].resize(p.size());
    local[1].resize(p.size());
    for (int a = 0; a < p.size(); ++a) local[0][a] = a - p.row_start[p.left[a]];
    for (int j = 0; j < p.n2; ++j)
      for (int k = p.col_start[j]; k < p.col_start[j + 1]; ++k) local[1][p.col[k]] = k - p.col_start[j];
  }

  // Place of an assignment in the vectors of a side.
  std::size_t at(int which, int a) const {
    return side[which].node_at[which == 0 ? problem.left[a] : problem.right[a]] + local[which][a];
  }

  // Removes an assignment; propagate() follows when all that is to go has gone.
  void remove(int a) {
    alive[a] = 0;
    side[0].forbid(problem.left[a], local[0][a]);
    side[1].forbid(problem.right[a], local[1][a]);
  }

  void remove_idle(int which, int node) {
    Side& s = side[which];
    s.may_be_idle[node] = 0;
    s.forbid(node, s.labels[node] - 1);
  }

  // Removes every label of node i of graph 1 but this one (an assignment, or -1 for staying unmatched).
  void choose(int i, int assignment) {
    if (assignment >= 0) {
      isolate(assignment);
    } else {
      for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
        if (alive[a]) remove(a);
    }
    propagate();
  }

  // Removes what the removals so far exclude: a node with one label left takes that label from its partner in the other
  // graph; repeated until nothing changes.
  void propagate() {
    const Problem& p = problem;
    empty = empty || exhausted();
    for (bool changed = true; changed && !empty;) {
      changed = false;
      for (int which = 0; which < 2; ++which)
        for (int i = 0; i < side[which].n; ++i) {
          if (side[which].may_be_idle[i]) continue;
          const std::vector<int>& start = which == 0 ? p.row_start : p.col_start;
          int only = -1, count = 0;
          for (int k = start[i]; k < start[i + 1]; ++k)
            if (const int a = which == 0 ? k : p.col[k]; alive[a]) {
              only = a;
              ++count;
            }
          if (count == 1) changed |= isolate(only);
        }
      empty = empty || exhausted();
    }
  }

  // Labels left at node i of graph 1: assignments, and -1 if it may stay unmatched.
  std::vector<int> labels_left(int i) const {
    std::vector<int> left;
    for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
      if (alive[a]) left.push_back(a);
    if (side[0].may_be_idle[i]) left.push_back(-1);
    return left;
  }

  int label_count(int i) const {
    int n = side[0].may_be_idle[i];
    for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a) n += alive[a];
    return n;
  }

  // The node of graph 2 that is left for node i, -1 if none is.
  int only_match(int i) const {
    for (int a = problem.row_start[i]; a < problem.row_start[i + 1]; ++a)
      if (alive[a]) return problem.right[a];
    return -1;
  }

 private:
  // Removes all labels that exclude an assignment. True when there were any.
  bool isolate(int assignment) {
    const Problem& p = problem;
    bool changed = false;
    const auto drop = [&](int a) {
      if (a == assignment || !alive[a]) return;
      remove(a);
      changed = true;
    };
    const int node[2] = {p.left[assignment], p.right[assignment]};
    for (int a = p.row_start[node[0]]; a < p.row_start[node[0] + 1]; ++a) drop(a);
    for (int k = p.col_start[node[1]]; k < p.col_start[node[1] + 1]; ++k) drop(p.col[k]);
    for (int which = 0; which < 2; ++which)
      if (side[which].may_be_idle[node[which]]) {
        remove_idle(which, node[which]);
        changed = true;
      }
    return changed;
  }

  // A node without a label is left.
  bool exhausted() const {
    for (const Side& s : side)
      for (int i = 0; i < s.n; ++i) {
        const auto begin = s.u.begin() + s.node_at[i];
        if (std::none_of(begin, begin + s.labels[i],
                         [](double c) { return c < std::numeric_limits<double>::infinity(); }))
          return true;
      }
    return false;
  }
};

}  // namespace gm::coupled
