// Cliques that change. Every node lies in an object, alone or with others; an object of several nodes is a clique. For
// each pair of graphs the gain of each assignment (its cost and its terms with the present matches) is kept, so that
// moves are priced by a few look-ups. Here an assignment costs what it adds to the empty matching: what its nodes pay
// unmatched is taken off.
#pragma once

#include <cstddef>
#include <vector>

#include "bbgm_solver/multi_problem.hpp"

namespace gm {

class CliqueState {
 public:
  explicit CliqueState(const MultiProblem& problem);

  // Every node is alone.
  void clear();
  // Every node that is in no clique is alone.
  void start(const Cliques& cliques);
  // A node that is in no object joins one.
  void attach(int p, int i, int object);
  // A node leaves its object; attach() must follow.
  void detach(int p, int i);
  bool may_merge(int first, int second) const;
  void merge(int from, int into);

  // Node of graph p in an object, or -1.
  int member(int object, int p) const { return member_[static_cast<std::size_t>(object) * d_ + p]; }
  int object(int p, int i) const { return object_[p][i]; }
  // As many objects as nodes, some empty.
  int objects() const { return static_cast<int>(count_.size()); }
  int count(int object) const { return count_[object]; }
  int free_object() const;  // objects() if there is none
  // What assignment a of a pair costs; that and its terms with the present matches.
  double cost(int pair, int a) const { return cost_[pair][a]; }
  double gain(int pair, int a) const { return gain_[pair][a]; }
  // What the cliques cost more than none.
  double value() const { return value_; }
  // A change of the value above this, which is below 0, may be rounding.
  double least_change() const { return least_; }
  Cliques cliques() const;

  const MultiProblem& problem;

 private:
  int& place(int object, int p) { return member_[static_cast<std::size_t>(object) * d_ + p]; }
  void activate(int pair, int assignment, double sign);

  const int d_;  // graphs
  double least_ = 0;
  double value_ = 0;
  std::vector<std::vector<int>> object_;          // (d, n_p)
  std::vector<int> member_, count_;               // (N, d), (N,)
  std::vector<std::vector<double>> cost_, gain_;  // (pairs, A)
};

}  // namespace gm
