// One graph of the coupled dual: a vector of costs for each node and a table for each two nodes with a common term,
// over the nodes' labels. The last label of a node is "unmatched". What is removed costs +inf.
#pragma once

#include <cstddef>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/memory.hpp"

namespace gm::coupled {

struct Table {
  int row_node, column_node, rows, width;  // width: columns rounded up to four
  std::size_t start;                       // in Side::x
  std::size_t row_at, column_at;           // of its rows and of its columns in an array with a value for each
};

struct Incident {
  int table;
  bool as_row;
};

// Where the terms' costs are in the tables of one graph.
struct TermPlaces {
  Array<std::size_t> at;  // (T,) in Side::x
  Array<int> table;       // (T,)
};

// What a graph has whether its tables are made or implicit: a vector of costs for each node.
struct Nodes {
  int n = 0;
  std::vector<int> labels;                      // (n,) with "unmatched"
  std::vector<std::size_t> node_at;             // (n + 1,) start of a node's vector in u, padded to four
  std::vector<double> u;                        // costs of labels
  std::vector<char> may_be_idle;                // (n,) may stay unmatched
  std::vector<std::vector<Incident>> incident;  // (n,) tables of a node
  std::vector<double> marginal;  // like u, from minima(): sum over tables of (row minimum - table minimum)

  // Half of the costs of assignments; see Side::build.
  void build_nodes(const Problem& problem, int which, const std::vector<int>& local);
};

struct Side : Nodes {
  std::vector<Table> tables;
  std::size_t rows_and_columns = 0;  // of all tables, padded to four
  Array<double> x;                   // costs in tables
  // From minima():
  std::vector<double> least;  // (tables,) minimum

  // Half of the problem's costs. which: 0 for graph 1, 1 for graph 2; local: (A,) position of an assignment in the
  // vector of its node.
  void build(const Problem& problem, int which, const std::vector<int>& local, TermPlaces& places);
  // Removes a label of a node.
  void forbid(int node, int label);
  void minima();

 private:
  std::vector<double> row_least_;  // scratch of minima
};

}  // namespace gm::coupled
