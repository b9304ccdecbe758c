// Several graphs, and costs for pairs of them. A cycle-consistent partial matching, X_pq X_qr <= X_pr, is a set of
// cliques: a node lies in at most one, a clique has at most one node of each graph, and nodes are matched when they
// share a clique.
#pragma once

#include <vector>

#include "bbgm_solver/problem.hpp"

namespace gm {

// Graphs p < q; graph 1 of the problem is p, graph 2 is q.
struct GraphPair {
  int p, q;
  const Problem* problem;
};

// (K, d) node of each graph, or -1.
using Cliques = std::vector<std::vector<int>>;

class MultiProblem {
 public:
  // size: (d,) nodes of each graph. Each pair at most once; pairs may be missing: they cost and forbid nothing.
  MultiProblem(std::vector<int> size, std::vector<GraphPair> pairs);

  std::vector<int> size;         // (d,)
  std::vector<GraphPair> pairs;  // sorted by (p, q)
  double largest_cost = 0;       // of all pairs: matches and terms, as in Problem

  int graphs() const { return static_cast<int>(size.size()); }
  // Index of the pair of two graphs in either order, -1 if it is not given.
  int pair(int p, int q) const { return pair_[static_cast<std::size_t>(p) * graphs() + q]; }
  // Assignment of pair(p, q) that matches node i of p to node j of q; p and q in either order. -1 if it is forbidden.
  int find(int p, int i, int q, int j) const {
    const Problem& problem = *pairs[pair(p, q)].problem;
    return p < q ? problem.find(i, j) : problem.find(j, i);
  }
  // (n_p,) node of graph q that shares the clique of a node of graph p, or -1. The pair need not be given.
  std::vector<int> matching(const Cliques& cliques, int p, int q) const;
  // Sum of the pairs' objectives, from the original costs.
  double evaluate(const Cliques& cliques) const;
  // That of no cliques at all.
  double empty_objective() const;
  // Splits cliques where no given pair holds them together, leaves out those of one node, sorts (-1 last).
  Cliques canonical(const Cliques& cliques) const;

 private:
  std::vector<int> pair_;  // (d, d)
};

}  // namespace gm
