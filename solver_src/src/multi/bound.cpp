#include "multi/bound.hpp"

#include <algorithm>

#include "bbgm_solver/solve.hpp"

namespace gm {

namespace {

constexpr double kept = 0.43;     // of the last direction: damps the zigzag of subgradients
constexpr int fixed_sweeps = 20;  // what a solve costs beside its sweeps of the dual

}  // namespace

CycleBound::CycleBound(const MultiProblem& problem, const Options& options, int threads)
    : problem_(problem), options_(options), threads_(threads), changed_(problem.pairs.size(), 1),
      proved_(problem.pairs.size()), bounds_(problem.pairs.size()), matchings_(problem.pairs.size()) {
  priced_.reserve(problem.pairs.size());
  for (const GraphPair& e : problem.pairs) priced_.push_back(*e.problem);
}

bool CycleBound::exact() const {
  return std::all_of(proved_.begin(), proved_.end(), [](char proved) { return proved != 0; });
}

double CycleBound::solve() {
  std::vector<const Problem*> problems;
  std::vector<std::size_t> which;
  for (std::size_t e = 0; e < priced_.size(); ++e)
    if (changed_[e]) {
      problems.push_back(&priced_[e]);
      which.push_back(e);
    }
  const std::vector<Result> results = solve_batch(problems, options_, threads_);
  for (std::size_t k = 0; k < which.size(); ++k) {
    const std::size_t e = which[k];
    matchings_[e] = results[k].assignment;
    bounds_[e] = results[k].lower_bound;
    proved_[e] = results[k].optimal;
    changed_[e] = 0;
    work_ += (fixed_sweeps + results[k].iterations) * static_cast<std::int64_t>(priced_[e].terms.size());
  }
  value_ = 0;
  for (const double b : bounds_) value_ += b;
  for (const Constraint& c : constraints_) value_ -= c.price;
  return value_;
}

bool CycleBound::holds(int pair, int a) const {
  const Problem& p = *problem_.pairs[pair].problem;
  return a >= 0 && matchings_[pair][p.left[a]] == p.right[a];
}

void CycleBound::find_violated() {
  const int d = problem_.graphs();
  std::vector<std::vector<int>> backward(matchings_.size());
  for (std::size_t e = 0; e < matchings_.size(); ++e) {
    backward[e].assign(problem_.size[problem_.pairs[e].q], -1);
    for (std::size_t i = 0; i < matchings_[e].size(); ++i)
      if (matchings_[e][i] >= 0) backward[e][matchings_[e][i]] = static_cast<int>(i);
  }
  const auto partner = [&](int pair, int p, int i) {
    return problem_.pairs[pair].p == p ? matchings_[pair][i] : backward[pair][i];
  };
  for (int v = 0; v < d; ++v)
    for (int u = 0; u < d; ++u)
      for (int w = u + 1; w < d; ++w) {
        const int uv = problem_.pair(u, v), vw = problem_.pair(v, w), uw = problem_.pair(u, w);
        if (uv < 0 || vw < 0 || uw < 0) continue;
        for (int j = 0; j < problem_.size[v]; ++j) {
          const int i = partner(uv, v, j), k = partner(vw, v, j);
          if (i < 0 || k < 0 || partner(uw, u, i) == k) continue;
          const int first = problem_.find(u, i, v, j), second = problem_.find(v, j, w, k);
          if (!index_.emplace(std::array{uv, first, vw, second}, static_cast<int>(constraints_.size())).second)
            continue;
          constraints_.push_back({{uv, vw, uw}, {first, second, problem_.find(u, i, w, k)}});
        }
      }
}

bool CycleBound::raise(double target) {
  find_violated();
  double norm = 0;
  for (Constraint& c : constraints_) {
    c.direction = kept * c.direction - 1;
    for (int m = 0; m < 3; ++m)
      if (holds(c.pair[m], c.assignment[m])) c.direction += m < 2 ? 1 : -1;
    if (c.price == 0) c.direction = std::max(c.direction, 0.0);
    norm += c.direction * c.direction;
  }
  if (norm == 0) return false;
  const double length = step_ * (target - value_) / norm;
  std::vector<std::vector<double>> costs;
  for (const Problem& p : priced_) costs.push_back(p.cost);
  for (Constraint& c : constraints_) {
    const double price = std::max(0.0, c.price + length * c.direction), more = price - c.price;
    if (more == 0) continue;
    c.price = price;
    for (int m = 0; m < 3; ++m) {
      if (c.assignment[m] < 0) continue;
      costs[c.pair[m]][c.assignment[m]] += m < 2 ? more : -more;
      changed_[c.pair[m]] = 1;
    }
  }
  for (std::size_t e = 0; e < priced_.size(); ++e)
    if (const Problem& p = *problem_.pairs[e].problem; changed_[e]) {
      priced_[e] = Problem(p.n1, p.n2, p.left, p.right, std::move(costs[e]), p.terms, p.adj_start, p.adj);
      priced_[e].set_unmatched(p.unmatched1, p.unmatched2);
    }
  return true;
}

}  // namespace gm
