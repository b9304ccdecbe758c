// What the caller of a solve may choose.
#pragma once

#include "bbgm_solver/interrupt.hpp"

namespace gm {

enum class Method { best, dual };
enum class Effort { fast, normal, thorough };

struct Options {
  Method method = Method::best;
  Effort effort = Effort::normal;
  bool full = false;                // match as many nodes as the allowed assignments permit
  int max_iterations = 100;         // method dual: iterations
  int round_every = 10;             // method dual: iterations between roundings
  double tolerance = 1e-9;          // a gap of at most tolerance * max(|objective|, largest cost) is a proof
  const GiveUp* give_up = nullptr;  // a solve throws Interrupted where it says so; null: nobody is asked
};

}  // namespace gm
