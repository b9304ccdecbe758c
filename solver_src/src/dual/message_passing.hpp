// The iterations of method "dual", the solver that BB-GM uses: asymmetric message passing (Swoboda et al., CVPR
// 2017), block coordinate ascent on a Lagrangian bound, with roundings by linear assignment.
//
// Factors: a vector per node over its labels and "unmatched" (costs on graph 1, graph 2 starts at 0), and a table per
// pair of nodes of graph 1 with a term. With tables of both graphs, as in the solver of several graphs, each has half
// of the terms' costs. Every update moves costs between factors, changes no matching's total and never lowers the
// bound. Differences to the public implementation:
// 1. a table's update is done at the nodes' visits; tables are not visited themselves;
// 2. before a rounding, a node keeps 0.4 of its costs and sends the rest to the tables ahead ("uniform:0.5" there);
// 3. ties break by the smallest index everywhere.
#pragma once

#include <optional>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/lap.hpp"
#include "dual/tables.hpp"

namespace gm {

enum class TablesOf { graph1, both };

// The vector of a node: what its labels cost, the nodes of the other graph that it may match by their order, then
// "unmatched".
struct NodeCosts {
  double* costs;  // (labels + 1,)
  int labels;
};

class MessagePassing {
 public:
  explicit MessagePassing(const Problem& problem, TablesOf tables = TablesOf::graph1);

  // An iteration: the linear part to optimality and a pass forward, then a pass backward. `share` < 0: anisotropic
  // weights, as in SRMP and TRW-S; otherwise that part of a node's costs stays with it.
  void pass_forward(double share);
  void pass_backward(double share);

  double bound() const;
  std::size_t tables() const { return tables_.tables() + (tables2_ ? tables2_->tables() : 0); }
  // Pulls everything out of the tables, then a linear assignment over what the nodes hold: (n1,).
  const std::vector<int>& round();
  // Pulls everything out of the tables; then the linear part to optimality, its costs in equal parts at both ends.
  void gather();
  // The vectors, which others may change as well. Their place in memory stays.
  NodeCosts node1(int i) { return {u_.data() + at1_[i], at1_[i + 1] - at1_[i] - 1}; }
  NodeCosts node2(int j) { return {v_.data() + p_.col_start[j] + j, p_.col_start[j + 1] - p_.col_start[j]}; }

 private:
  void empty_tables();
  void visit(DualTables& tables, int node, NodeCosts at, bool forward, double share);
  void pull_from_graph1(int j);
  void pull_from_graph2(int i);
  void assign();
  void linear_step();
  double& idle1(int i) { return u_[at1_[i + 1] - 1]; }
  double& idle2(int j) { return v_[p_.col_start[j + 1] + j]; }

  const Problem& p_;
  DualTables tables_;
  std::optional<DualTables> tables2_;  // of graph 2
  std::vector<int> at1_, at2_;         // (n1 + 1,) start of a node's vector in u_; (A,) position of an assignment in v_
  std::vector<double> u_, v_;          // costs of the labels of graph 1's and of graph 2's nodes
  std::vector<double> message_, lap_costs_;
  LapResult lap_;
  double constant_ = 0;
};

}  // namespace gm
