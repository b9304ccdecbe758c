// The best matching so far.
#pragma once

#include <vector>

namespace gm {

struct Incumbent {
  std::vector<int> assignment;
  double value = 0;
  double tolerance = 0;  // a gap that counts as closed
  // A bound of this much is a proof.
  double target() const { return value - tolerance; }
};

}  // namespace gm
