// The searches of method "best" for a better matching, and the best one so far.
#pragma once

#include <cstdint>
#include <vector>

#include "best/incumbent.hpp"
#include "best/limits.hpp"
#include "pair/linear.hpp"
#include "pair/method.hpp"
#include "search/local_search.hpp"

namespace gm {

class Primal {
 public:
  Primal(const Problem& problem, const Tolerance& tolerance, const Limits& limits);

  // From nothing: greedy insertions, then the best moves.
  void start();
  // The best moves from a matching, (n1,).
  void descend_from(const std::vector<int>& assignment);
  // The same from the linear assignment over the costs of the assignments of `rest`, a part of the problem.
  void round(const Problem& rest, const std::vector<double>& costs);
  // A short tabu search from the incumbent. Searches end where they reach `bound`.
  void first_search(double bound);
  // Forced assignments where not all are allowed, and long tabu searches, for the case that the incumbent cannot be
  // proved.
  void last_search(double bound);

  const Incumbent& best() const { return best_; }
  // For branch and bound, which looks for matchings itself.
  Incumbent& best() { return best_; }
  LocalSearch& search() { return search_; }

 private:
  void take();
  void fuse_and_take();
  void force();
  std::vector<int> shaken(std::uint64_t seed) const;
  void tabu(const std::vector<int>& start, std::int64_t moves, std::uint64_t seed, double bound);

  const Problem& problem_;
  const Tolerance& tolerance_;
  const Limits& limits_;
  LocalSearch search_;
  LinearAssignment linear_;  // of the last round()
  Incumbent best_;
  double run_value_ = 0;  // best value of the last tabu search alone
};

}  // namespace gm
