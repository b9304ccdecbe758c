#include "bbgm_solver/solve_multi.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "bbgm_solver/solve.hpp"
#include "core/poll.hpp"
#include "core/random.hpp"
#include "multi/bound.hpp"
#include "multi/dual/joint_dual.hpp"
#include "multi/search.hpp"
#include "multi/synchronise.hpp"
#include "pair/need.hpp"

namespace gm {

namespace {

// What an effort may cost. Work is counted, never timed.
struct Limits {
  int iterations;       // of the joint dual
  int steps;            // of the bound
  double progress;      // part of the gap that ten steps must close, or they were the last
  std::int64_t work;    // of the bound's steps
  std::int64_t search;  // of the local searches
};

constexpr int trial = 10;          // steps, and iterations of the joint dual
constexpr int patience = 3;        // steps without progress until steps become shorter
constexpr int most_fruitless = 6;  // local searches in a row that bring nothing better

// Of the joint dual: when triplets are added, and how many at most, as part of the factors at the start.
constexpr int first_tightening = 10, tighten_every = 5;
constexpr double added = 0.1;

Limits limits(Effort effort) {
  switch (effort) {
    case Effort::fast: return {0, 10, 0.5, 5'000'000, 50'000'000};
    case Effort::thorough: return {200, 1000, 0.02, 20'000'000'000, 20'000'000'000};
    default: return {50, 200, 0.5, 200'000'000, 500'000'000};
  }
}

std::vector<int> random_order(int n, std::uint64_t& random) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int k = n - 1; k > 0; --k) std::swap(order[k], order[draw(random, static_cast<std::uint64_t>(k) + 1)]);
  return order;
}

// Of the matchings inside the local searches: there are many of them, most only confirm what is there.
Options search_options(const MultiOptions& options) {
  Options inner = options.pair;
  if (inner.effort == Effort::normal) inner.effort = Effort::fast;
  return inner;
}

class MultiSolver {
 public:
  MultiSolver(const MultiProblem& problem, const MultiOptions& options)
      : problem_(problem), options_(options), limits_(limits(options.pair.effort)),
        bounds_(problem, options.pair, options.threads), search_(problem, search_options(options)),
        value_(problem.empty_objective()) {}

  MultiResult run() {
    bound_ = priced_ = bounds_.solve();
    take(synchronise(problem_, bounds_.matchings()));
    if (options_.method == MultiMethod::best) search();
    if (options_.method == MultiMethod::dual)
      ascend(options_.max_iterations, true, [this](const auto& matchings) { take(synchronise(problem_, matchings)); });
    MultiResult result;
    result.cliques = problem_.canonical(best_);
    result.objective = value_;
    result.optimal = closed();
    result.lower_bound = result.optimal ? value_ : bound_;
    if (options_.method == MultiMethod::sync)
      result.stop_reason = "synchronised";
    else if (options_.method == MultiMethod::dual)
      result.stop_reason = result.optimal ? "optimal" : "iteration limit";
    else
      result.stop_reason = result.optimal ? "optimal" : "work limit";
    return result;
  }

 private:
  bool closed() const {
    return value_ - bound_ <= options_.pair.tolerance * std::max(std::fabs(value_), problem_.largest_cost);
  }

  void take(const Cliques& cliques) {
    const double value = problem_.evaluate(cliques);
    if (value < value_ - 1e-9 * std::fabs(value_))
      fruitless_starts_ = 0;
    else
      ++fruitless_starts_;
    if (!(value < value_)) return;
    value_ = value;
    best_ = cliques;
  }

  // The joint dual, tightened and rounded now and then: calls round() with its matchings. `patient`: all iterations are
  // made; otherwise they end where as many as there were would not bring it above the present bound.
  template <class Round>
  void ascend(int iterations, bool patient, Round&& round) {
    if (iterations == 0 || closed()) return;
    JointDual dual(problem_);
    const auto most = static_cast<std::size_t>(added * static_cast<double>(dual.factors()));
    double before = dual.bound();
    for (int k = 1; k <= iterations && !closed(); ++k) {
      if (k >= first_tightening && k % tighten_every == 0) dual.tighten(std::max<std::size_t>(1, most));
      dual.iterate();
      const double bound = dual.bound();
      bound_ = std::max(bound_, bound);
      if (k == 1 || k % options_.round_every == 0 || k == iterations) round(dual.round());
      if (!patient && k % trial == 0) {
        if (2 * bound - before < bound_) return;
        before = bound;
      }
    }
  }

  // Descends from the present state, unless that has been done before.
  void descend() {
    if (closed() || !seen_.insert(search_.cliques()).second) return;
    search_.descend();
    take(search_.cliques());
  }

  // The local searches take turns with the steps of the bound: either can end both.
  void search() {
    search_.start(best_);
    descend();
    search_.agree(bounds_.matchings());
    descend();
    ascend(limits_.iterations, false, [this](const auto& matchings) {
      search_.agree(matchings);
      descend();
    });
    fruitless_starts_ = 0;
    std::uint64_t random = options_.seed;
    bool stepping = true;
    for (int k = 0; !closed(); ++k) {
      const bool searching =
          k < options_.starts && fruitless_starts_ < most_fruitless && search_.work() < limits_.search;
      if (searching) {
        restart(k, random);
        descend();
      }
      stepping = stepping && !closed() && step(k);
      if (!searching && !stepping) break;
    }
  }

  // Three starts from nothing, then from parts of the best matching.
  void restart(int k, std::uint64_t& random) {
    if (k == 0) return search_.build_in_order(random_order(problem_.graphs(), random));
    if (k == 1) return search_.build_as_tree(random_order(problem_.graphs(), random));
    if (k == 2) return search_.build_at_random(random);
    Cliques kept;
    for (const std::vector<int>& clique : best_)
      if (draw(random, 3) != 0) kept.push_back(clique);
    search_.start(kept);
  }

  // One step of the bound; its matchings start a local search if they agree better than those before. False: the last.
  bool step(int k) {
    if (k == 0) work_before_ = bounds_.work();
    if (k % trial == 0) {
      if (k > 0 && priced_ - priced_before_ < limits_.progress * (value_ - priced_)) return false;
      priced_before_ = priced_;
    }
    if (k >= limits_.steps || bounds_.work() - work_before_ > limits_.work) return false;
    if (!bounds_.exact() || !bounds_.raise(value_)) return false;
    const double bound = bounds_.solve();
    if (bound > priced_) {
      priced_ = bound;
      bound_ = std::max(bound_, priced_);
      fruitless_steps_ = 0;
    } else if (++fruitless_steps_ % patience == 0) {
      bounds_.shorten();
    }
    search_.agree(bounds_.matchings());
    if (search_.value() < agreed_) {
      agreed_ = search_.value();
      descend();
    }
    return true;
  }

  const MultiProblem& problem_;
  const MultiOptions& options_;
  const Limits limits_;
  CycleBound bounds_;
  CliqueSearch search_;
  Cliques best_;
  double value_, bound_ = 0;
  int fruitless_starts_ = 0;  // since the last better matching
  std::set<Cliques> seen_;    // starts of descents
  double agreed_ = 0;         // least value of agreed matchings before a descent
  double priced_ = 0;         // the best bound with prices
  double priced_before_ = 0;  // at the last trial
  std::int64_t work_before_ = 0;
  int fruitless_steps_ = 0;
};

MultiResult solve_set(const MultiProblem& problem, const MultiOptions& options) {
  const PollScope scope(options.pair.give_up);
  if (problem.graphs() != 2 || problem.pairs.empty() || options.method == MultiMethod::dual)
    return MultiSolver(problem, options).run();
  MultiResult result;
  const Result pair = solve(*problem.pairs.front().problem, options.pair);
  for (int i = 0; i < problem.size[0]; ++i)
    if (pair.assignment[i] >= 0) result.cliques.push_back({i, pair.assignment[i]});
  result.objective = pair.objective;
  result.lower_bound = pair.lower_bound;
  result.optimal = pair.optimal;
  result.stop_reason = pair.stop_reason;
  return result;
}

}  // namespace

MultiResult solve_multi(const MultiProblem& problem, const MultiOptions& options) {
  try {
    return solve_set(problem, options);
  } catch (const TooLarge&) {
    throw;
  } catch (const std::bad_alloc&) {
    std::vector<const Problem*> problems;
    for (const GraphPair& pair : problem.pairs) problems.push_back(pair.problem);
    throw too_large_to_solve(problems, problem.graphs());
  }
}

}  // namespace gm
