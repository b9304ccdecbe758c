// The dual of several graphs (Swoboda et al., CVPR 2019, as BB-GM uses it): the dual of each pair with tables of both
// graphs, and triplet factors that ask for cycle consistency. Updates move costs between factors, change no consistent
// matching's total and never lower the bound.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "bbgm_solver/multi_problem.hpp"
#include "dual/message_passing.hpp"
#include "multi/dual/triplet.hpp"

namespace gm {

class JointDual {
 public:
  explicit JointDual(const MultiProblem& problem);
  JointDual(const JointDual&) = delete;
  JointDual& operator=(const JointDual&) = delete;

  // A pass forward and one backward of each pair's dual, then an update of each triplet.
  void iterate();
  // Adds the triplets that promise most, `most` at most. Returns their number.
  std::size_t tighten(std::size_t most);
  // Below the cost of every consistent matching, rounding errors included.
  double bound() const;
  // A linear assignment of each pair over what its nodes hold, (n_p,) each.
  std::vector<std::vector<int>> round();

  std::size_t triplets() const { return triplets_.size(); }
  // Vectors, tables and triplets.
  std::size_t factors() const;

 private:
  NodeCosts node(int p, int i, int q);
  std::vector<int> labels(int p, int i, int q) const;

  const MultiProblem& problem_;
  std::vector<Problem> pairs_;  // unmatched nodes pay nothing
  std::vector<MessagePassing> duals_;
  std::vector<Triplet> triplets_;
  std::set<std::array<int, 5>> present_;  // graphs, nodes
  double constant_ = 0;
  double magnitude_ = 0;
  int iterations_ = 0;
};

}  // namespace gm
