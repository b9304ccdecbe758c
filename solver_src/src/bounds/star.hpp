// The cheap bound: each assignment's star of terms. Every term's cost is split between its two assignments; an
// assignment costs its own part plus the least that its star can add, a small linear assignment between the neighbours
// of its two nodes; a linear assignment over these values is a lower bound. A pass over the assignments moves what each
// can spare to its partners' stars (Hahn and Grant 1998, on the terms that exist) and removes assignments that no
// better matching uses: easy problems end here, and most others shrink.
#pragma once

#include <vector>

#include "bbgm_solver/problem.hpp"
#include "bounds/star_layout.hpp"
#include "core/lap.hpp"
#include "core/memory.hpp"
#include "pair/linear.hpp"

namespace gm {

class StarBound {
 public:
  // The nearer `matching` is to the best one, the better the first split. The layout must outlive the bound.
  StarBound(const Problem& problem, const StarLayout& layout, const std::vector<int>& matching);

  // The bound of the present split. +inf: nothing is left.
  double bound();
  // A cheaper one: the stars are bounded by the minima of their rows or columns, and only those that the linear
  // assignment chooses are solved. It is at most bound(), and equal to it unless too many stars would have to be
  // solved.
  double quick_bound();
  // Moves costs, with bound() called since the last pass; what no matching cheaper than `upper` uses is removed for
  // good. Returns the number of assignments removed.
  int pass(double upper, bool forward);

  const std::vector<int>& match() const { return linear_.last().match; }  // of the last bound()
  int size() const { return size_; }                                      // assignments left
  // How near to its removal an assignment came that the last pass left, 0 to 1.
  double nearest() const { return nearest_; }
  // (A,) assignments left.
  const std::vector<char>& left() const { return alive_; }

 private:
  void split(const std::vector<int>& matching);
  double value(int a);
  double least_value(int a);
  double force(int a);
  double solve_costs();
  void remove(int a);

  const Problem& problem_;
  const StarLayout& layout_;
  Array<double> part_;           // (2 T,) share of a term's cost in the star of an assignment, +inf when removed
  std::vector<char> alive_;      // (A,)
  std::vector<int> labels_[2];   // assignments left of a node
  std::vector<char> forced_[2];  // a node that every better matching matches
  bool any_forced_ = false;
  std::vector<double> costs_;   // (A,) star values, +inf where removed
  Array<double> potential_;     // like StarLayout::nodes: of the star's linear assignment, from the last bound()
  std::vector<double> matrix_;  // of the star that value() looked at last, as are the next two
  std::vector<double> reward_[2];
  std::vector<char> solved_;  // (A,) of quick_bound(): the star's linear assignment is known
  LapResult star_lap_;
  LinearAssignment linear_;  // over the stars' values
  int size_;
  double nearest_ = 0;
};

}  // namespace gm
