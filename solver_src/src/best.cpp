// Method "best": cheap starts first, then the coupled dual, tabu search where it leaves a gap, branch and bound last.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "branch.hpp"
#include "coupled.hpp"
#include "lap.hpp"
#include "search.hpp"
#include "solver.hpp"
#include "star.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// What an effort may cost. Work is counted, never timed.
struct Limits {
  int levels, sweeps;        // of the annealing, sweeps a level
  double cooling;            // factor from level to level
  std::int64_t first_moves;  // tabu moves before the dual, a node of the smaller side
  std::int64_t run_moves;    // tabu moves of the first searches after everything else
  std::int64_t moves;        // of all of them: none starts later
  std::int64_t branch_work;  // table entries
  double hopeless_gap;       // in units of the costs' scale: a proof is not tried when the gap will stay above it
};

// First temperature, times the scale of the costs. Trees are smaller after a hot start; the bound alone needs none.
constexpr double hottest = 0.2, hottest_without_tree = 0.11;
constexpr double cooling_without_tree = 0.5;  // at most
constexpr int least_tree = 200;  // sweeps that a tree takes at least: with a budget below, branching is not tried
constexpr int star_passes = 30;  // of the cheap bound, as long as they remove labels
constexpr int star_trial = 2;    // so many, if removals come near
constexpr double promising[star_trial] = {0.4, 0.8};  // StarBound::nearest() after each of them
constexpr std::int64_t first_scans = 5'000'000;       // assignments that the first tabu search may look at
constexpr int move_labels = 400;  // the last searches make fewer moves where each looks at more assignments
constexpr int tabu_level = 1;     // level before which the first tabu search comes: easy problems are proved by then

// Where a sequence that falls geometrically ends, from three of its values; -inf when it does not fall so.
double limit_of(const double (&x)[3]) {
  const double step = x[1] - x[2], before = x[0] - x[1];
  if (!(step > 0) || !(before > step)) return -inf;
  return x[2] - step * step / (before - step);
}

Limits limits(Effort effort) {
  switch (effort) {
    case Effort::fast: return {5, 3, 0.35, 2, 200, 600, 0, 0.5};
    case Effort::thorough: return {30, 10, 0.85, 100, 33'000, 600'000, 4'000'000'000, inf};
    default: return {6, 7, 0.6, 20, 730, 60'000, 4'000'000, 2.5};
  }
}

class BestSolver {
 public:
  BestSolver(const Problem& problem, const Options& options)
      : problem_(problem), options_(options), limits_(limits(options.effort)), search_(problem) {
    best_.assignment.assign(problem.n1, -1);
    best_.tolerance = gap_tolerance(problem, options, 0);
  }

  Result run() {
    const bool proved = prove();
    Result result;
    result.assignment = best_.assignment;
    result.objective = problem_.evaluate(best_.assignment);
    if (result.objective > 0) {  // rounding errors of the search around an optimum of 0
      result.assignment.assign(problem_.n1, -1);
      result.objective = 0;
    }
    result.optimal = proved;
    result.lower_bound = proved ? result.objective : std::min(bound_, result.objective);
    result.iterations = budget_.sweeps;
    result.stop_reason = proved ? "optimal" : "work limit";
    return result;
  }

 private:
  void take() {
    if (search_.best_value() >= best_.value) return;
    best_.value = search_.best_value();
    best_.assignment = search_.best();
    best_.tolerance = gap_tolerance(problem_, options_, best_.value);
  }

  void note() const {
    if (options_.events) options_.events->push_back({budget_.sweeps, bound_, best_.assignment});
  }

  bool closed() const { return bound_ >= best_.target(); }

  // Rounds costs by linear assignment, then descends.
  void round(const std::vector<double>& costs) {
    solve_lap(problem_.n1, problem_.n2, costs.data(), lap_);
    descend_from(lap_.match);
  }

  void descend_from(const std::vector<int>& assignment) {
    search_.start(assignment);
    search_.descend();
    fuse_and_take();
  }

  void fuse_and_take() {
    if (best_.value < 0 && search_.best() != best_.assignment) {
      const std::vector<int> found = search_.best();
      search_.start(found);
      search_.fuse(best_.assignment);
    }
    take();
  }

  void tabu(const std::vector<int>& start, std::int64_t moves, std::uint64_t seed) {
    search_.start(start);
    search_.tabu(moves, seed, bound_);
    run_value_ = search_.best_value();
    fuse_and_take();
  }

  // Tabu searches from the last matching that the dual proposed, and from each new incumbent. Those that end at the
  // incumbent agree on it: after two, it is taken for the best there is. One that does not makes the next ones longer.
  bool last_search() {
    const std::int64_t limit = std::min(limits_.moves, limits_.moves * move_labels / problem_.size());
    std::int64_t moves = limits_.run_moves, used = 0;
    bool from_incumbent = false;
    for (std::uint64_t seed = 2, agreed = 0; agreed < 2 && used < limit && !closed(); ++seed) {
      const double before = best_.value, tolerance = std::max(best_.tolerance, 1e-12 * std::fabs(before));
      tabu(from_incumbent ? best_.assignment : lap_.match, moves, seed);
      used += moves;
      const bool found = best_.value < before - tolerance, same = run_value_ <= before + tolerance;
      agreed = found ? 0 : agreed + (same && !from_incumbent);
      if (!from_incumbent && (found || !same)) moves += 3 * moves / 4;
      from_incumbent = found;
    }
    return closed();
  }

  // True when the incumbent is proved to be optimal.
  bool prove() {
    if (problem_.size() == 0) return true;
    search_.start(std::vector<int>(problem_.n1, -1));
    search_.greedy();
    search_.descend();
    take();
    StarBound star(problem_, best_.assignment);
    bound_ = star.bound();
    note();
    if (closed()) return true;
    descend_from(star.match());
    if (closed()) return true;
    for (int pass = 0; pass < star_passes; ++pass) {
      const int removed = star.pass(best_.target(), pass % 2 == 0);
      bound_ = std::max(bound_, star.bound());
      if (pass < star_trial) descend_from(star.match());
      note();
      if (closed() || star.size() == 0) return true;
      if (pass < star_trial ? removed == 0 && star.nearest() < promising[pass] : 64 * removed < star.size()) break;
    }
    const Problem rest = star.size() < problem_.size() ? star.remainder() : Problem(0, 0, {}, {}, {}, {});
    return prove_rest(star.size() < problem_.size() ? rest : problem_);
  }

  // The same for what the cheap bound left over.
  bool prove_rest(const Problem& rest) {
    std::vector<double> costs;
    CoupledDual dual(rest);
    const bool tree = limits_.branch_work >= least_tree * dual.sweep_work();
    double temperature = (tree ? hottest : hottest_without_tree) * dual.scale();
    const double cooling = tree ? limits_.cooling : std::min(limits_.cooling, cooling_without_tree);
    const bool large = std::min(problem_.n1, problem_.n2) > 8;  // below, branching ends whatever the gap
    double gaps[3] = {inf, inf, inf};                           // after the last three levels
    bool searched = false;
    int fruitful = -1;  // last level that improved the incumbent: more follow, up to twice as many
    for (int level = 0; level < limits_.levels || (level < 2 * limits_.levels && level < fruitful + 3);
         ++level, temperature *= cooling) {
      const double before = best_.value;
      if (level >= tabu_level && !searched) {
        searched = true;
        const std::int64_t moves = limits_.first_moves * std::min(problem_.n1, problem_.n2);
        tabu(best_.assignment, std::min(moves, first_scans / problem_.size()), 1);
        if (closed()) return true;
      }
      if (refine(dual, temperature, limits_.sweeps, best_, budget_)) return true;
      const bool risen = dual.last_bound() > bound_;
      bound_ = std::max(bound_, dual.last_bound());
      dual.rounding_costs(costs);
      round(costs);
      note();
      if (best_.value < before) fruitful = level;
      if (!tree && !risen && fruitful < level) {  // too hot to bring anything: leave the next temperature out
        ++level;
        temperature *= cooling;
      }
      gaps[0] = gaps[1];
      gaps[1] = gaps[2];
      gaps[2] = best_.value - bound_;
      const bool hopeless = large && limit_of(gaps) > limits_.hopeless_gap * dual.scale();
      if (hopeless && level > tabu_level + 2 && level > fruitful) return last_search();
    }
    budget_.used = 0;
    budget_.limit = limits_.branch_work;
    if (budget_.limit >= least_tree * dual.sweep_work() && branch(dual, search_, best_, budget_)) return true;
    note();
    return last_search();
  }

  const Problem& problem_;
  const Options& options_;
  const Limits limits_;
  LocalSearch search_;
  LapResult lap_;
  Incumbent best_;
  Budget budget_;
  double bound_ = -inf;
  double run_value_ = 0;  // best value of the last tabu search alone
};

}  // namespace

Result solve_best(const Problem& problem, const Options& options) { return BestSolver(problem, options).run(); }

}  // namespace gm
