// Many problems in the dense form of BB-GM whose graphs stay the same while their costs change, as in training. What
// depends on the graphs alone is made once; a problem is made in memory that the thread keeps for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bbgm_solver/options.hpp"
#include "bbgm_solver/problem.hpp"

namespace gm {

// A neighbour of a node, with the edges to it and from it; 0 where there is none.
struct End {
  int node, out, in;
  bool has_out, has_in;
};

// Neighbours of each node of a graph, by their numbers.
struct Neighbours {
  // edges: (E, 2) directed, each once, no self-loops.
  Neighbours(int n, int n_edges, const std::int64_t* edges);
  std::vector<int> start;  // (n + 1,)
  std::vector<End> ends;
};

// The two graphs of a problem.
struct DenseGraphs {
  DenseGraphs(int n1, int n2, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2);
  int n1, n2, e1, e2;
  Neighbours graph1, graph2;
};

// A table of costs in the caller's memory: row r begins `step` entries after row r - 1.
struct CostRows {
  Costs first;
  std::size_t step;
};

// One problem to solve, and where its result goes.
struct DenseTask {
  int problem;  // which of the batch
  CostRows unary, quadratic;
  std::int32_t* assignment = nullptr;  // (n1,), or null
  // (n1, n2) and (E1, E2): 1 where nodes and where edges are matched to each other, 0 elsewhere; or null.
  double *matched = nullptr, *matched_edges = nullptr;
  double objective = 0, lower_bound = 0;
  bool optimal = false;
  int iterations = 0;
  const char* stop_reason = "";
};

class DenseBatch {
 public:
  void add(int n1, int n2, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2);
  int size() const { return static_cast<int>(graphs_.size()); }
  const DenseGraphs& graphs(int problem) const { return graphs_[problem]; }

  // The same results as solve() on each. A problem may occur in several tasks. `threads` as in solve_batch.
  void solve(std::vector<DenseTask>& tasks, const Options& options, int threads) const;

 private:
  std::vector<DenseGraphs> graphs_;
};

}  // namespace gm
