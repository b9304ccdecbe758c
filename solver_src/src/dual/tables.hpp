// The tables of method "dual": one for each pair of nodes of graph 1 with a term, over the labels of both nodes, the
// last of which is "unmatched".
#pragma once

#include <cstddef>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "core/memory.hpp"

namespace gm {

class DualTables {
 public:
  struct Incident {
    int table;
    bool as_row;  // the node is the table's first
  };

  // `part` of each term's cost goes into the tables.
  explicit DualTables(const Problem& problem, double part = 1);

  // Tables at a node, by their order of appearance.
  const std::vector<Incident>& at(int node) const { return incident_[node]; }
  // The min-marginals of a table go to `costs`, over the labels of the node at one end.
  void receive(const Incident& e, double* costs);
  // `message`, over the labels of the node at one end, is added to a table.
  void send(const Incident& e, const double* message);
  double sum_of_minima() const;
  std::size_t size() const { return x_.size(); }
  std::size_t tables() const { return tables_.size(); }
  int nodes() const { return static_cast<int>(incident_.size()); }

 private:
  struct Table {
    int rows, columns;
    std::size_t start;  // in x_
  };
  std::vector<Table> tables_;
  std::vector<std::vector<Incident>> incident_;  // (n1,)
  Array<double> x_;
  std::vector<double> marginal_;
};

}  // namespace gm
