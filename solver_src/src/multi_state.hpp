// Local search over cliques. Every node lies in an object, alone or with others; per pair of graphs the gain of each
// assignment (its cost and its terms with the present matches) is kept, so that moves are priced by a few look-ups.
// Here an assignment costs what it adds to the empty matching: what its nodes pay unmatched is taken off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "multi.hpp"
#include "multi_swap.hpp"

namespace gm {

// A number below n; splitmix64.
inline std::uint64_t draw(std::uint64_t& random, std::uint64_t n) {
  std::uint64_t z = random += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (z ^ z >> 31) % n;
}

class MultiState {
 public:
  explicit MultiState(const MultiProblem& problem, const Options& options);

  // Every node that is in no clique is alone.
  void start(const Cliques& cliques);
  // Merges objects along matches of the pairs as long as that is allowed, those first that most third graphs support.
  void agree(const std::vector<std::vector<int>>& matchings);
  // Graphs one by one in this order, each matched to the objects so far.
  void build_in_order(const std::vector<int>& order);
  // Neighbours in this order are matched, then pairs of them, and so on.
  void build_as_tree(const std::vector<int>& order);
  // Every node in turn joins the object of one that it may match, where that is allowed.
  void build_at_random(std::uint64_t& random);
  // Swaps between two objects, and each graph matched anew to the rest, until nothing pays.
  void descend();

  // What the cliques cost more than none.
  double value() const { return value_; }
  Cliques cliques() const;
  // Work of matchings so far: sweeps over tables.
  std::int64_t work() const { return work_; }

 private:
  int& member(int object, int p) { return member_[static_cast<std::size_t>(object) * d_ + p]; }
  int member(int object, int p) const { return member_[static_cast<std::size_t>(object) * d_ + p]; }
  int objects() const { return static_cast<int>(count_.size()); }
  int free_object() const;  // objects() if there is none
  void clear();
  void attach(int p, int i, int object);
  void detach(int p, int i);
  void activate(int pair, int assignment, double sign);
  bool may_merge(int first, int second) const;
  void merge(int from, int into);

  // Chooses for each graph whether two objects, of which one may be empty, swap their nodes. True if that pays.
  bool swap(int first, int second);
  bool swap_all();
  // Matches the objects' parts in the graphs of side 0 anew to those in the graphs of side 1; other graphs stay out.
  // By local search, then, if that finds nothing and `solving`, by the solver of two graphs.
  bool rematch(const std::vector<int>& side, bool solving);
  // The problem of that: nodes are objects, the costs of their members are summed.
  Problem matching_problem(const std::vector<int>& side, const std::vector<int> (&objects)[2]) const;
  void apply(const std::vector<int>& side, const std::vector<int> (&objects)[2], const std::vector<int>& before,
             const std::vector<int>& after);
  // One graph on side 0, all others on side 1.
  std::vector<int> alone(int p) const;

  const MultiProblem& problem_;
  const int d_;
  const Options options_;
  double least_ = 0;  // a change above it is rounding
  double value_ = 0;
  std::int64_t work_ = 0;
  std::set<Cliques> optima_;                      // where descents ended
  std::vector<std::vector<int>> object_;          // (d, n_p)
  std::vector<int> member_, count_;               // (N, d), (N,): as many objects as nodes, some empty
  std::vector<std::vector<double>> cost_, gain_;  // (pairs, A)
  SwapChoice choice_;                             // scratch of swap, as are the next two
  std::vector<int> graphs_, nodes_;
  std::vector<char> swapped_;
};

}  // namespace gm
