#include "best/primal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/random.hpp"

namespace gm {

namespace {

constexpr std::int64_t first_scans = 5'000'000;  // assignments that the first tabu search may look at
constexpr int move_labels = 400;  // the last searches make fewer moves where each looks at more assignments

constexpr int most_rounds = 20;  // of forced assignments
constexpr int enough = 6;        // searches that agree

}  // namespace

Primal::Primal(const Problem& problem, const Tolerance& tolerance, const Limits& limits)
    : problem_(problem), tolerance_(tolerance), limits_(limits), search_(problem) {
  best_.assignment.assign(problem.n1, -1);
  best_.tolerance = tolerance.gap(0);
}

void Primal::take() {
  if (search_.best_value() >= best_.value) return;
  best_.value = search_.best_value();
  best_.assignment = search_.best();
  best_.tolerance = tolerance_.gap(best_.value);
}

void Primal::start() {
  search_.start(std::vector<int>(problem_.n1, -1));
  search_.greedy();
  search_.descend();
  take();
}

void Primal::descend_from(const std::vector<int>& assignment) {
  search_.start(assignment);
  search_.descend();
  fuse_and_take();
}

void Primal::round(const Problem& rest, const std::vector<double>& costs) {
  descend_from(linear_.solve(rest, costs).match);
}

void Primal::fuse_and_take() {
  if (best_.value < 0 && search_.best() != best_.assignment) {
    const std::vector<int> found = search_.best();
    search_.start(found);
    search_.fuse(best_.assignment);
  }
  take();
}

void Primal::tabu(const std::vector<int>& start, std::int64_t moves, std::uint64_t seed, double bound) {
  search_.start(start);
  search_.tabu(moves, seed, bound);
  run_value_ = search_.best_value();
  fuse_and_take();
}

void Primal::first_search(double bound) {
  const std::int64_t moves = limits_.first_moves * std::min(problem_.n1, problem_.n2);
  tabu(best_.assignment, std::min(moves, first_scans / problem_.size()), 1, bound);
}

void Primal::force() {
  search_.start(best_.assignment);
  search_.force_all(static_cast<std::int64_t>(most_rounds) * problem_.size());
  search_.descend();
  take();
}

// The incumbent with the matches of some nodes, 40 to 80 % of them, passed on in a circle.
std::vector<int> Primal::shaken(std::uint64_t seed) const {
  std::vector<int> result = best_.assignment, nodes(result.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  const int n = problem_.n1, least = 2 * n / 5;
  const int count = std::min(n, 2 + least + static_cast<int>(draw(seed, least + 1)));
  for (int k = 0; k < count; ++k) std::swap(nodes[k], nodes[k + draw(seed, n - k)]);
  for (int k = 0; k < count; ++k) {
    const int i = nodes[k], j = best_.assignment[nodes[(k + 1) % count]];
    result[i] = j >= 0 && problem_.find(i, j) >= 0 ? j : -1;
  }
  return result;
}

// Short tabu searches, the first from the last matching that the dual proposed, the others from the shaken incumbent:
// what a search finds, it mostly finds early. Those that end at the incumbent again agree on it: after a few, it is
// taken for the best there is. One that does not makes the next ones longer.
void Primal::last_search(double bound) {
  if (!search_.complete()) {
    force();
    if (problem_.size() > limits_.tabu_size) return;
  }
  const std::int64_t limit = std::min(limits_.moves, limits_.moves * move_labels / problem_.size());
  std::int64_t moves = limits_.run_moves, used = 0;
  int agreed = 0;
  for (std::uint64_t seed = 2; agreed < enough && used < limit && bound < best_.target(); ++seed) {
    const double before = best_.value, tolerance = std::max(best_.tolerance, 1e-12 * std::fabs(before));
    tabu(seed == 2 ? linear_.last().match : shaken(seed), moves, seed, bound);
    used += moves;
    const bool found = best_.value < before - tolerance, same = run_value_ <= before + tolerance;
    agreed = found ? 0 : agreed + same;
    if (found || !same) moves += moves / 12;
  }
}

}  // namespace gm
