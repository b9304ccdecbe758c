// Local search over cliques: ways to build them, and moves until none pays.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "bbgm_solver/multi_problem.hpp"
#include "bbgm_solver/options.hpp"
#include "multi/rematch.hpp"
#include "multi/state.hpp"
#include "multi/swap.hpp"

namespace gm {

class CliqueSearch {
 public:
  // `options` of the problems of two graphs that come up.
  CliqueSearch(const MultiProblem& problem, const Options& options);

  // Begins at these cliques.
  void start(const Cliques& cliques) { state_.start(cliques); }
  // Merges objects along matches of the pairs, (n_p,) each, as long as that is allowed, those first that most third
  // graphs support.
  void agree(const std::vector<std::vector<int>>& matchings);
  // Graphs one by one in this order, each matched to the objects so far.
  void build_in_order(const std::vector<int>& order);
  // Neighbours in this order are matched, then pairs of them, and so on.
  void build_as_tree(const std::vector<int>& order);
  // Every node in turn joins the object of one that it may match, where that is allowed.
  void build_at_random(std::uint64_t& random);
  // Swaps between two objects, and each graph matched again to the rest, until nothing pays.
  void descend();

  // What the cliques cost more than none.
  double value() const { return state_.value(); }
  Cliques cliques() const { return state_.cliques(); }
  // Work of matchings so far: sweeps over tables.
  std::int64_t work() const { return rematch_.work(); }

 private:
  CliqueState state_;
  Swap swap_;
  Rematch rematch_;
  std::set<Cliques> optima_;  // where descents ended
};

}  // namespace gm
