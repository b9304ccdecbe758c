// What a solve returns.
#pragma once

#include <vector>

namespace gm {

struct Result {
  std::vector<int> assignment;  // (n1,) node of graph 2, or -1
  double objective = 0;         // from the original costs
  double lower_bound = 0;
  bool optimal = false;  // the bound meets the objective within the tolerance: a proof
  int iterations = 0;    // of the dual
  const char* stop_reason = "";
};

// The state of a solve after one of its steps.
struct TracePoint {
  int iterations;
  double lower_bound;
  double objective;  // +inf before the first full matching, where Options::full asks for one
  double seconds;    // processor time of this process since the beginning: measured, not the same each time
};

}  // namespace gm
