// Tabu search: moves that need not pay, and do not undo those before.
#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "search/local_search.hpp"

namespace gm {

std::int64_t LocalSearch::tabu(std::int64_t moves, std::uint64_t seed, double goal) {
  const Problem& p = problem_;
  std::uint64_t random = seed * 0x9E3779B97F4A7C15ull + 0x632BE59BD9B4E019ull;
  const auto draw = [&random](std::uint64_t n) {  // xorshift64*
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    return ((random * 0x2545F4914F6CDD1Dull) >> 33) % n;
  };
  std::fill(tabu_in_.begin(), tabu_in_.end(), 0);
  std::fill(tabu_out_.begin(), tabu_out_.end(), 0);
  time_ = 0;
  const std::uint64_t n = std::max(1, std::min(p.n1, p.n2));
  std::vector<int> before;
  for (std::int64_t step = 0; step < moves; ++step) {
    if (best_value_ <= goal) return step;
    poll(scan_work());
    ++time_;
    const Move move = best_move(true);
    if (move.delta == std::numeric_limits<double>::infinity()) continue;  // all is tabu: time passes
    before = at1_;
    apply(move);
    for (int i = 0; i < p.n1; ++i) {
      if (before[i] == at1_[i]) continue;
      if (before[i] >= 0) tabu_in_[before[i]] = time_ + 2 + n / 2 + draw(n / 2 + 3);
      if (at1_[i] >= 0) tabu_out_[i] = time_ + 1 + draw(n / 3 + 2);
    }
    keep_if_best();
  }
  return moves;
}

}  // namespace gm
