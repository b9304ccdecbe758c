// Method "best": cheap starts first, then the coupled dual, tabu search where it leaves a gap, branch and bound last.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "best/branch.hpp"
#include "best/limits.hpp"
#include "best/primal.hpp"
#include "bounds/coupled/dual.hpp"
#include "bounds/star.hpp"
#include "pair/method.hpp"
#include "pair/need.hpp"
#include "pair/restrict.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// First temperature, times the scale of the costs. Trees are smaller after a hot start; the bound alone needs none.
constexpr double hottest = 0.2, hottest_without_tree = 0.11;
constexpr double cooling_without_tree = 0.5;  // at most
constexpr int sweeps_without_tree = 5;        // at most, at a temperature
constexpr int least_tree = 200;  // sweeps that a tree takes at least: with a budget below, branching is not tried
constexpr int star_passes = 30;  // of the cheap bound, as long as they remove labels
constexpr int star_trial = 2;    // so many, if removals come near
constexpr double promising[star_trial] = {0.4, 0.8};  // StarBound::nearest() after each of them
constexpr int quick_work = 8;       // stars that the quick proof may look at, in units of those of the problem
constexpr double quick_gap = 0.06;  // after its trial, in units of the incumbent: above, it is not pursued
constexpr std::int64_t few_entries =
    500'000;                   // of tables over the labels left of a large problem: they are made after all
constexpr int tabu_level = 1;  // level before which the first tabu search comes: easy problems are proved by then

// The tree of a proof grows with the gap, in units of the costs' scale, and with the labels left. The products were
// chosen on random problems of 8 to 23 nodes, so that none of those that are proved otherwise is given up.
constexpr double hopeless_from_level_1[] = {2500, 1700, 1250};
constexpr double least_hopeless = 0.1;  // in units of the incumbent: a smaller gap is not given up early
constexpr double last_cooling = 0.25;   // the level that still follows then: a start for the search, and a bound

// Where a sequence that falls geometrically ends, from three of its values; -inf when it does not fall so.
double limit_of(const double (&x)[3]) {
  const double step = x[1] - x[2], before = x[0] - x[1];
  if (!(step > 0) || !(before > step)) return -inf;
  return x[2] - step * step / (before - step);
}

class BestSolver {
 public:
  BestSolver(const Problem& problem, const Task& task)
      : problem_(problem), task_(task), limits_(limits(task.options.effort)),
        primal_(problem, task.tolerance, limits_) {}

  Result run() {
    const bool proved = prove();
    Result result;
    result.assignment = best().assignment;
    result.objective = problem_.evaluate(best().assignment);
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
  const Incumbent& best() const { return primal_.best(); }
  bool closed() const { return bound_ >= best().target(); }
  void note() const { task_.note(budget_.sweeps, bound_, best().assignment); }

  bool last_search() {
    if (best().value - bound_ <= limits_.negligible * std::fabs(best().value)) return closed();
    primal_.last_search(bound_);
    return closed();
  }

  // True when the incumbent is proved to be optimal.
  bool prove() {
    if (problem_.size() == 0) return true;
    primal_.start();
    Problem rest(0, 0, {}, {}, {}, {});
    bool fewer = false;
    {  // memory that what follows needs
      const StarLayout layout(problem_);
      if (prove_quickly(layout)) return true;
      StarBound star(problem_, layout, best().assignment);
      if (prove_by_stars(star)) return true;
      fewer = star.size() < problem_.size();
      if (fewer) rest = restricted(problem_, star.left());
    }
    return prove_rest(fewer ? rest : problem_);
  }

  bool prove_by_stars(StarBound& star) {
    bound_ = star.bound();
    note();
    if (closed()) return true;
    primal_.descend_from(star.match());
    if (closed()) return true;
    for (int pass = 0; pass < star_passes; ++pass) {
      const int removed = star.pass(best().target(), pass % 2 == 0);
      bound_ = std::max(bound_, star.bound());
      if (pass < star_trial) primal_.descend_from(star.match());
      note();
      if (closed() || star.size() == 0) return true;
      if (stalls(star, pass, removed)) break;
    }
    return false;
  }

  // More passes would bring little.
  static bool stalls(const StarBound& star, int pass, int removed) {
    return pass < star_trial ? removed == 0 && star.nearest() < promising[pass] : 64 * removed < star.size();
  }

  // The same as prove() does with the cheap bound, by quick bounds, which prove most problems of a trained network in a
  // third of the time. Where they do not, nothing has happened.
  bool prove_quickly(const StarLayout& layout) {
    const Incumbent before = best();
    const std::size_t events = task_.events ? task_.events->size() : 0;
    StarBound star(problem_, layout, best().assignment);
    int work = 0;
    for (int pass = 0;; ++pass) {
      bound_ = std::max(bound_, star.quick_bound());
      if (pass <= star_trial) primal_.descend_from(star.match());
      note();
      if (closed() || star.size() == 0) return true;
      work += star.size();
      const int removed = star.pass(best().target(), pass % 2 == 0);
      const bool far = pass == star_trial && best().value - bound_ > quick_gap * std::fabs(best().value);
      if (far || stalls(star, pass, removed) || work > quick_work * problem_.size()) break;
    }
    primal_.best() = before;
    bound_ = -inf;
    if (task_.events) task_.events->resize(events);
    return false;
  }

  // Sweeps, the bound, and matchings that the dual proposes. True when the incumbent is proved.
  template <class Dual>
  bool improve(const Problem& rest, Dual& dual, double temperature, int sweeps) {
    if (refine(dual, temperature, sweeps, best(), budget_)) return true;
    bound_ = std::max(bound_, dual.last_bound());
    dual.rounding_costs(rounding_costs_);
    primal_.round(rest, rounding_costs_);
    note();
    return false;
  }

  // After a level that found no better matching.
  bool give_up(const ImplicitDual&, int, double) const { return false; }
  bool give_up(const CoupledDual& dual, int level, double gap) const {
    const int k = level - 1, n = static_cast<int>(std::size(hopeless_from_level_1));
    if (!limits_.gives_up_early || k < 0 || k >= n || gap < least_hopeless * std::fabs(best().value)) return false;
    return gap * dual.size() > hopeless_from_level_1[k] * dual.scale();
  }

  template <class Dual>
  bool end_early(const Problem& rest, Dual& dual, double temperature) {
    return improve(rest, dual, last_cooling * temperature, limits_.sweeps);
  }

  // The same for what the cheap bound left over.
  bool prove_rest(const Problem& rest) {
    if (!implicit_tables(rest)) return prove_by_tables(rest);
    Problem fewer(0, 0, {}, {}, {}, {});
    {
      ImplicitDual dual(rest);
      const auto few = [&dual] { return dual.table_entries() <= few_entries; };
      double before = -inf;
      const End end = anneal(rest, dual, false, [&] {
        const bool falls = dual.last_bound() < before;  // too cold for its numbers
        before = dual.last_bound();
        return falls || few();
      });
      if (end == End::proved) return true;
      if (end == End::hopeless || !few()) return last_search();
      fewer = restricted(rest, dual.left());
    }
    return prove_by_tables(fewer);
  }

  bool prove_by_tables(const Problem& rest) {
    CoupledDual dual(rest);
    const bool tree = limits_.branch_work >= least_tree * dual.sweep_work();
    const End end = anneal(rest, dual, tree, [] { return false; });
    if (end == End::proved) return true;
    if (end == End::hopeless) return last_search();
    budget_.used = 0;
    budget_.limit = limits_.branch_work;
    if (budget_.limit >= least_tree * dual.sweep_work() && branch(dual, primal_.search(), primal_.best(), budget_))
      return true;
    note();
    return last_search();
  }

  enum class End { proved, hopeless, stopped, done };

  // Sweeps at a temperature: of a large problem, as many more as they have become cheaper, within limits.
  int sweeps(const CoupledDual&, std::int64_t, bool tree) const {
    return tree ? limits_.sweeps : std::min(limits_.sweeps, sweeps_without_tree);
  }
  int sweeps(const ImplicitDual& dual, std::int64_t work_at_first, bool) const {
    const std::int64_t cheaper = work_at_first / std::max<std::int64_t>(1, dual.sweep_work());
    return limits_.sweeps * static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(1, cheaper), 8));
  }

  // Raises the bound at falling temperatures. `stop` is asked after each.
  template <class Dual, class Stop>
  End anneal(const Problem& rest, Dual& dual, bool tree, const Stop& stop) {
    const std::int64_t work = dual.sweep_work();
    double temperature = (tree ? hottest : hottest_without_tree) * dual.scale();
    const double cooling = tree ? limits_.cooling : std::min(limits_.cooling, cooling_without_tree);
    const bool large = std::min(problem_.n1, problem_.n2) > 8;  // below, branching ends whatever the gap
    double gaps[3] = {inf, inf, inf};                           // after the last three levels
    bool searched = false;
    int fruitful = -1;  // last level that improved the incumbent: more follow, up to twice as many
    for (int level = 0; level < limits_.levels || (level < 2 * limits_.levels && level < fruitful + 3);
         ++level, temperature *= cooling) {
      const double before = best().value;
      double searched_value = before;
      if (level >= tabu_level && !searched) {
        searched = true;
        primal_.first_search(bound_);
        if (closed()) return End::proved;
        searched_value = best().value;
      }
      const double bound_before = bound_;
      if (improve(rest, dual, temperature, sweeps(dual, work, tree))) return End::proved;
      const bool risen = bound_ > bound_before;
      if (stop()) return End::stopped;
      if (best().value < before) fruitful = level;
      const int done = level;
      if (!tree && !risen && fruitful < level) {  // too hot to bring anything: leave the next temperature out
        ++level;
        temperature *= cooling;
      }
      gaps[0] = gaps[1];
      gaps[1] = gaps[2];
      gaps[2] = best().value - bound_;
      const bool hopeless = large && limit_of(gaps) > limits_.hopeless_gap * dual.scale();
      if (hopeless && level > tabu_level + 2 && level > fruitful) return End::hopeless;
      if (large && best().value >= searched_value && give_up(dual, done, gaps[2]))
        return end_early(rest, dual, temperature) ? End::proved : End::hopeless;
    }
    return End::done;
  }

  const Problem& problem_;
  const Task& task_;
  const Limits limits_;
  Primal primal_;
  Budget budget_;
  std::vector<double> rounding_costs_;
  double bound_ = -inf;
};

}  // namespace

Result solve_best(const Problem& problem, const Task& task) { return BestSolver(problem, task).run(); }

}  // namespace gm
