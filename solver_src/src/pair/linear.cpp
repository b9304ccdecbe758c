#include "pair/linear.hpp"

#include <cstddef>
#include <limits>

namespace gm {

namespace {

// A table of all pairs of nodes is faster, as long as it is small or mostly full.
constexpr std::size_t small_table = 1'000'000;
constexpr std::size_t mostly_empty = 8;  // cells for each assignment

}  // namespace

const LapResult& LinearAssignment::solve(const Problem& p, const std::vector<double>& cost) {
  const std::size_t cells = static_cast<std::size_t>(p.n1) * p.n2, n_assignments = cost.size();
  if (cells == n_assignments) {
    solve_lap(p.n1, p.n2, cost.data(), lap_);
  } else if (cells > small_table && cells > mostly_empty * n_assignments) {
    solve_listed_lap(p.n1, p.n2, p.row_start.data(), p.right.data(), cost.data(), lap_);
  } else {
    table_.assign(cells, std::numeric_limits<double>::infinity());
    for (std::size_t a = 0; a < n_assignments; ++a)
      table_[static_cast<std::size_t>(p.left[a]) * p.n2 + p.right[a]] = cost[a];
    solve_lap(p.n1, p.n2, table_.data(), lap_);
  }
  return lap_;
}

}  // namespace gm
