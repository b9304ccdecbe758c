// What an effort may cost in method "best". Work is counted, never timed.
#pragma once

#include <cstdint>

#include "bbgm_solver/options.hpp"

namespace gm {

struct Limits {
  int levels, sweeps;        // of the annealing, sweeps a level
  double cooling;            // factor from level to level
  std::int64_t first_moves;  // tabu moves before the dual, a node of the smaller side
  std::int64_t run_moves;    // tabu moves of the first searches after everything else
  std::int64_t moves;        // of all of them: none starts later
  std::int64_t branch_work;  // table entries
  double hopeless_gap;       // in units of the costs' scale: a proof is not tried when the gap will stay above it
  int tabu_size;      // assignments above which, where not all matches are allowed, forced ones take the last searches'
                      // place
  double negligible;  // gap, in units of the incumbent, for which there are no last searches
  bool gives_up_early;  // a proof, when the gap is so large after the first levels
};

Limits limits(Effort effort);

}  // namespace gm
