// The problem that the methods see in place of one that asks for more: staying unmatched is free,
// costs are near 1, and "full" is a reward of each match.
#pragma once

#include "bbgm_solver/problem.hpp"
#include "pair/method.hpp"

namespace gm {

// False: the methods can take the problem as it is. `full`: a full matching is asked for.
bool needs_plain(const Problem& problem, bool full);

struct Plain {
  // `reward` of a match where a full matching is asked for, in units of the largest cost; infinity: one that no costs
  // can outweigh.
  Plain(const Problem& given, bool full, double reward);

  Problem problem;
  int matches = 0;        // of a full matching, where one is asked for
  double resolution = 0;  // what rounding may have changed of an objective

  // A value (objective or bound) of the plain problem as one of the given problem.
  double as_given(double value) const;
  // The tolerance of the given problem as one of the plain problem.
  Tolerance inner(const Tolerance& given) const;

 private:
  int exponent_ = 0;  // value as given = 2^exponent * value + offset
  double offset_ = 0;
};

}  // namespace gm
