// The problem that the methods see in place of one that asks for more: staying unmatched is free,
// costs are near 1, and "full" is a reward of each match.
#pragma once

#include "solver.hpp"

namespace gm {

// False: the methods can take the problem as it is.
bool needs_plain(const Problem& problem, const Options& options);

struct Plain {
  // `reward` of a match where the options ask for a full matching, in units of the largest cost; infinity: one that no
  // costs can outweigh.
  Plain(const Problem& given, const Options& options, double reward);

  Problem problem;
  int matches = 0;        // of a full matching, where the options ask for one
  double resolution = 0;  // what rounding may have changed of an objective

  // A value (objective or bound) of the plain problem as one of the given problem.
  double as_given(double value) const;
  // Options for the methods, with the tolerance of the given problem.
  Options inner(const Problem& given, const Options& options) const;

 private:
  int exponent_ = 0;  // value as given = 2^exponent * value + offset
  double offset_ = 0;
};

int count_matches(const std::vector<int>& assignment);
// Cheapest matching where each assignment has this cost and terms have none.
std::vector<int> linear_matching(const Problem& problem, const std::vector<double>& cost);

}  // namespace gm
