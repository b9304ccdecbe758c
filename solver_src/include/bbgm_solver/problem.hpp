// Graph matching: minimise  sum_a c_a x_a + sum_{a<b} d_ab x_a x_b  over partial matchings x.
// An assignment a = (i, j) matches node i of graph 1 to node j of graph 2; a pair that is not listed is forbidden.
// A term {a, b} is an unordered pair of assignments without a common node. A node without a match costs nothing, unless
// the problem says what it costs.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace gm {

// Large arrays of both are made in one go and filled later: a new entry is left as it is.
struct Term {
  int a, b;  // a < b
  double cost;
  Term() {}
  Term(int a_, int b_, double cost_) : a(a_), b(b_), cost(cost_) {}
};

struct Neighbour {
  int a;
  double cost;
  Neighbour() {}
  Neighbour(int a_, double cost_) : a(a_), cost(cost_) {}
};

class Problem {
 public:
  // Assignments sorted by (left, right), each once; terms of assignments without a common node, each once.
  Problem(int n1, int n2, std::vector<int> left, std::vector<int> right, std::vector<double> cost,
          std::vector<Term> terms);
  // The same where adj_start and adj are known already.
  Problem(int n1, int n2, std::vector<int> left, std::vector<int> right, std::vector<double> cost,
          std::vector<Term> terms, std::vector<int> adj_start, std::vector<Neighbour> adj);

  int n1, n2;
  std::vector<int> left, right;     // (A,)
  std::vector<double> cost;         // (A,)
  std::vector<Term> terms;          // (T,) sorted by (a, b)
  std::vector<int> row_start;       // (n1 + 1,): assignments of node i are row_start[i] .. row_start[i + 1] - 1
  std::vector<int> col_start, col;  // (n2 + 1,), (A,): assignments of node j, by increasing i
  std::vector<int> adj_start;       // (A + 1,)
  std::vector<Neighbour> adj;       // (2 T,): terms of assignment a, by increasing partner
  double largest_cost = 0;          // largest magnitude of a cost or term
  // (n1,), (n2,): what a node costs that stays unmatched; empty: nothing. solve() knows them, its methods do not.
  std::vector<double> unmatched1, unmatched2;

  // Brings what follows from the assignments and terms up to date: all above but adj_start and adj.
  void index_assignments();
  // Sets what staying unmatched costs: (n1,), (n2,).
  void set_unmatched(std::vector<double> of_graph1, std::vector<double> of_graph2);
  // The objective of the empty matching.
  double empty_objective() const;
  int size() const { return static_cast<int>(cost.size()); }
  // Index of the assignment (i, j), -1 if it is forbidden.
  int find(int i, int j) const;
  // Objective of assignment[i] = j or -1, summed in a fixed order; it must be a matching of allowed assignments.
  double evaluate(const std::vector<int>& assignment) const;
  // Upper bound on the magnitude of what any matching costs, unmatched nodes apart.
  double magnitude() const;

 private:
  void sort_terms();

  std::vector<int> dense_;  // (n1, n2) index of an assignment; empty when the problem is too large and sparse for it
};

// Terms given in any order and orientation: sorts them, adds those of the same pair.
std::vector<Term> merge_terms(std::vector<Term> terms);

// Costs as their owner holds them; float gives the problem of the same numbers as double.
using Costs = std::variant<const double*, const float*>;

// Dense form of BB-GM: unary (n1, n2), directed edges (E, 2), each once, quadratic (E1, E2), all row-major.
// quadratic[e, f] is paid when edges1[e][0] -> edges2[f][0] and edges1[e][1] -> edges2[f][1]. allowed may be null.
Problem from_dense(int n1, int n2, Costs unary, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2,
                   Costs quadratic, const bool* allowed);

}  // namespace gm
