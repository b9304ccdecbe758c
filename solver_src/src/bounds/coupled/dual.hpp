// The coupled dual: a Lagrangian bound from pairwise tables of both graphs, tied on the terms they share.
//
// Each assignment's cost is split between a vector per node of graph 1 and one per node of graph 2, each term's cost
// between the table of its two nodes of graph 1 and that of its two nodes of graph 2. Bound = linear assignment over
// the vectors + sum of the tables' minima. The split is improved by soft-min coordinate ascent at falling temperatures.
#pragma once

#include <cstdint>
#include <vector>

#include "bbgm_solver/problem.hpp"
#include "bounds/coupled/ascent.hpp"
#include "bounds/coupled/split.hpp"
#include "bounds/implicit/ascent.hpp"
#include "bounds/implicit/split.hpp"
#include "pair/linear.hpp"

namespace gm {

template <class Split, class Ascent>
class BasicDual {
 public:
  // The problem must outlive it.
  explicit BasicDual(const Problem& problem);

  // `sweeps` sweeps at one temperature.
  void anneal(double temperature, int sweeps);
  // The bound of the present split, and with it what remove_above and rounding_costs need. +inf: nothing is left.
  double bound();
  // Removes for good what no matching cheaper than `upper` uses: labels whose bound is `upper` or more. Call bound()
  // first. Returns the number of labels removed.
  int remove_above(double upper);
  // Removes every label of node i of graph 1 but this one (an assignment, or -1 for staying unmatched).
  void choose(int i, int assignment) { split_.choose(i, assignment); }
  // Frees the memory and the time that removed labels take.
  void compact() { split_.compact(); }
  // (A,) costs whose linear assignment is a promising matching; +inf where removed. Call bound() first.
  void rounding_costs(std::vector<double>& costs) const;

  double last_bound() const { return bound_; }
  // Bound on matchings that give node i this label, from the last remove_above.
  double label_bound(int i, int label) const { return label < 0 ? idle_bound_[i] : label_bound_[label]; }
  // Labels left at node i of graph 1: assignments, and -1 if it may stay unmatched.
  std::vector<int> labels_left(int i) const { return split_.labels_left(i); }
  // The node of graph 2 that is left for node i, -1 if none is.
  int only_match(int i) const { return split_.only_match(i); }
  // Labels left at all nodes of graph 1.
  int size() const;
  // (A,) assignments left.
  const std::vector<char>& left() const { return split_.alive; }
  // Entries that tables over the labels left would have.
  std::int64_t table_entries() const;
  // Nothing cheaper than the `upper` of remove_above is left.
  bool empty() const { return split_.empty; }
  double scale() const { return scale_; }  // root mean square of the terms' costs: the unit of temperature
  // Work of a sweep, in table entries.
  std::int64_t sweep_work() const { return split_.work(); }

 private:
  const Problem& problem_;
  Split split_;
  Ascent ascent_;
  std::vector<double> label_bound_, idle_bound_;  // (A,), (n1,)
  std::vector<double> lap_costs_;                 // (A,)
  LinearAssignment linear_;
  double bound_ = 0, scale_ = 1;
};

using CoupledDual = BasicDual<coupled::Split, coupled::Ascent>;
// The same bound for large graphs with few edges: memory and time are those of the terms, not of the tables.
using ImplicitDual = BasicDual<implicit::Split, implicit::Ascent>;

extern template class BasicDual<coupled::Split, coupled::Ascent>;
extern template class BasicDual<implicit::Split, implicit::Ascent>;

}  // namespace gm
