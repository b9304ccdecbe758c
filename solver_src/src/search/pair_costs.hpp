// Costs of the terms between two nodes of graph 1, which a local search looks up at every move: in tables over the
// labels of both or, where these would be large, in the lists of the problem.
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
    int node;                // the other end
    const double* table;     // null: there are no tables
    int row, column, width;  // first assignment of the smaller and of the larger node, labels of the larger
    bool reversed;           // this end is the larger node
  };

  // Makes tables of so many entries at most. The problem must outlive it.
  explicit PairCosts(const Problem& problem, std::size_t most_entries = 8'000'000);
  PairCosts(const PairCosts&) = delete;  // links point into the table
  PairCosts& operator=(const PairCosts&) = delete;

  std::vector<Link> links;  // grouped by node of graph 1
  std::vector<int> start;   // (n1 + 1,): links of node i are start[i] .. start[i + 1] - 1

  // Cost of the term of assignment a of this end of a link and assignment b of the other, 0 if there is none.
  double cost(const Link& link, int a, int b) const {
    if (link.table == nullptr) return listed(a, b);
    if (link.reversed) std::swap(a, b);
    return link.table[static_cast<std::size_t>(a - link.row) * link.width + (b - link.column)];
  }
  // The same for any two assignments, of the nodes i and k.
  double cost(int i, int k, int a, int b) const {
    if (of_.empty()) return listed(a, b);
    const int link = of_[static_cast<std::size_t>(i) * problem_.n1 + k];
    return link < 0 ? 0 : cost(links[link], a, b);
  }

 private:
  bool tables_fit(std::size_t most_entries) const;
  void make_tables();
  void list_links();
  double listed(int a, int b) const;

  const Problem& problem_;
  std::vector<int> of_;  // (n1, n1) index in links, or -1; empty when there are no tables
  Array<double> table_;
};

}  // namespace gm
