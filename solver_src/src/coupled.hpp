// The coupled dual: a Lagrangian bound from pairwise tables of both graphs, tied on the terms they share.
//
// Each assignment's cost is split between a vector per node of graph 1 and one per node of graph 2, each term's cost
// between the table of its two nodes of graph 1 and that of its two nodes of graph 2. Bound = linear assignment over
// the vectors + sum of the tables' minima. The split is improved by soft-min coordinate ascent at falling temperatures:
// within a temperature the tables are kept as weights e^(-cost / temperature), so that a sweep is sums and products.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lap.hpp"
#include "memory.hpp"
#include "problem.hpp"

namespace gm {

class CoupledDual {
 public:
  explicit CoupledDual(const Problem& problem);

  // `sweeps` sweeps at one temperature.
  void anneal(double temperature, int sweeps);
  // The bound of the present split, and with it what remove_above and rounding_costs need. +inf: nothing is left.
  double bound();
  // Removes for good what no matching cheaper than `upper` uses: labels whose bound is `upper` or more. Call bound()
  // first. Returns the number of labels removed.
  int remove_above(double upper);
  // Removes every label of node i of graph 1 but this one (an assignment, or -1 for staying unmatched).
  void choose(int i, int assignment);
  // (n1, n2) costs whose linear assignment is a promising matching; +inf where removed. Call bound() first.
  void rounding_costs(std::vector<double>& costs) const;
  // Labels left at node i of graph 1: assignments, and -1 if it may stay unmatched.
  std::vector<int> labels_left(int i) const;
  int label_count(int i) const;
  // Bound on matchings that give node i this label, from the last remove_above.
  double label_bound(int i, int label) const;
  // The node of graph 2 that is left for node i, -1 if none is.
  int only_match(int i) const;
  // Labels left at all nodes of graph 1.
  int size() const;
  double last_bound() const { return bound_; }
  double scale() const { return scale_; }  // root mean square of the terms' costs: the unit of temperature
  // Work of a sweep, in table entries.
  std::int64_t sweep_work() const { return static_cast<std::int64_t>(side_[0].x.size() + side_[1].x.size()); }

  // Nothing cheaper than the `upper` of remove_above is left.
  bool empty() const { return empty_; }
  // Frees the memory and the time that removed labels take.
  void compact();

 private:
  struct Table {
    int row_node, column_node, rows, width;  // width: columns rounded up to four
    std::size_t start;                       // in x and weight
    std::size_t row_at, column_at;           // in row_move and column_move
  };
  struct Incident {
    int table;
    bool as_row;
  };
  // One graph: its nodes' label vectors (the last label is "unmatched") and its tables.
  struct Side {
    int n;
    std::vector<int> labels;            // (n,) with "unmatched"
    std::vector<std::size_t> node_at;   // (n + 1,) start of a node's vector, padded to four
    std::vector<double> u, log_weight;  // costs, and -cost / temperature during anneal
    std::vector<Table> tables;
    Array<double> x, weight;    // costs, and weights during anneal
    Array<double> move;         // log factors applied to rows and columns of the tables during anneal
    std::vector<double> total;  // (tables,) sum of weights
    std::vector<std::vector<Incident>> incident;
    std::vector<double> node_marginal;  // like u: sum over tables of (row minimum - table minimum)
    std::vector<double> least;          // (tables,) minimum
    std::vector<char> dummy;            // (n,) may stay unmatched
  };

  void build_side(int side, const std::vector<int>& node, const std::vector<int>& local);
  void start_level(Side& s, double temperature);
  void finish_level(Side& s, double temperature);
  void star(Side& s, int node);
  void tie_terms();
  void tie_nodes();
  void marginals(Side& s);
  void forbid(Side& s, int node, int label);
  void kill(int assignment);
  bool isolate(int assignment);
  void propagate();
  void compact_terms();
  void check_empty();

  const Problem& problem_;
  Side side_[2];
  std::vector<int> local_[2];      // (A,) position of an assignment in its node's vector
  Array<std::size_t> term_at_[2];  // (T,) position of a term in x
  Array<int> term_table_[2];
  Array<std::pair<int, int>> terms_;              // (T,) of those with both assignments left, as are the next three
  Array<double> term_factor_;                     // (T,) product of the factors of the terms during anneal
  std::vector<char> alive_;                       // (A,)
  std::vector<double> label_bound_, idle_bound_;  // (A,), (n1,)
  std::vector<double> lap_costs_, buffer_;
  LapResult lap_;
  double bound_ = 0, scale_ = 1;
  bool empty_ = false;
};

}  // namespace gm
