// A lower bound for several graphs. The bounds of the pairs add up to one. It is raised by prices >= 0 on constraints
// x_uv + x_vw - x_uw <= 1 that the pairs' matchings violate (u, v, w: nodes of three graphs; two matches imply the
// third): a price is added to the costs of the first two assignments, taken from that of the third and from the bound.
// Any prices give a bound; subgradient steps look for good ones.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "bbgm_solver/multi_problem.hpp"
#include "bbgm_solver/options.hpp"

namespace gm {

class CycleBound {
 public:
  CycleBound(const MultiProblem& problem, const Options& options, int threads);

  // Solves the pairs whose prices have changed. Returns the bound at the present prices.
  double solve();
  // Moves the prices towards a bound of `target`. False if that is not possible: the matchings violate nothing.
  bool raise(double target);
  // Makes the steps of `raise` shorter.
  void shorten() { step_ *= 0.7; }

  // Matchings that solve() found, one of each pair: (n_p,) each.
  const std::vector<std::vector<int>>& matchings() const { return matchings_; }
  // Every pair was solved to proof: without that, prices raise little.
  bool exact() const;
  // Work of solve() so far: sweeps over terms.
  std::int64_t work() const { return work_; }

 private:
  struct Constraint {
    std::array<int, 3> pair, assignment;  // the third assignment is -1 where it is forbidden
    double price = 0, direction = 0;
  };
  void find_violated();
  bool holds(int pair, int assignment) const;

  const MultiProblem& problem_;
  const Options options_;
  const int threads_;
  std::vector<Constraint> constraints_;
  std::map<std::array<int, 4>, int> index_;  // of the first two pairs and assignments
  std::vector<Problem> priced_;              // (pairs,), as are the next four
  std::vector<char> changed_, proved_;
  std::vector<double> bounds_;
  std::vector<std::vector<int>> matchings_;
  double value_ = 0;
  double step_ = 1.43;  // 1: as long as the target would need if the bound were linear
  std::int64_t work_ = 0;
};

}  // namespace gm
