// The move that matches objects to objects: a problem of two graphs whose nodes are objects, costs summed over their
// members.
#pragma once

#include <cstdint>
#include <vector>

#include "bbgm_solver/options.hpp"
#include "bbgm_solver/problem.hpp"
#include "multi/state.hpp"

namespace gm {

class Rematch {
 public:
  Rematch(CliqueState& state, const Options& options) : state_(state), options_(options) {}
  Rematch(const Rematch&) = delete;
  Rematch& operator=(const Rematch&) = delete;

  static constexpr int left = 0, right = 1, out = -1;  // sides

  // Matches the objects' parts in the graphs on the left again to those in the graphs on the right. side: (d,) of each
  // graph. By local search, then, if that finds nothing and `solving`, by the solver of two graphs. True if it pays.
  bool rematch(const std::vector<int>& side, bool solving);
  // One graph to all others.
  bool rematch_graph(int p, bool solving);

  // Work so far: sweeps over tables.
  std::int64_t work() const { return work_; }

 private:
  void apply(const std::vector<int>& side, const std::vector<int> (&objects)[2], const std::vector<int>& before,
             const std::vector<int>& after);

  CliqueState& state_;
  const Options options_;
  std::int64_t work_ = 0;
};

}  // namespace gm
