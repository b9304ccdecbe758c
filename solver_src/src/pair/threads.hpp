// Work that is divided among threads.
#pragma once

#include <functional>

#include "bbgm_solver/options.hpp"

namespace gm {

// Calls one(k, own) for k = 0 .. n - 1, in this order as threads become free; `own` are the options of the thread that
// calls. threads = 0: as many as this process may use. Only the calling thread asks options.give_up, the others look at
// what it said. The first exception ends all of them, and is thrown.
void in_threads(int n, const Options& options, int threads, const std::function<void(int, const Options&)>& one);

}  // namespace gm
