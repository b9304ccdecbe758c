#include "multi/state.hpp"

#include <algorithm>
#include <cmath>

namespace gm {

CliqueState::CliqueState(const MultiProblem& problem_)
    : problem(problem_), d_(problem_.graphs()), object_(d_), gain_(problem_.pairs.size()) {
  int n = 0;
  for (const int size : problem.size) n += size;
  member_.resize(static_cast<std::size_t>(n) * d_);
  count_.resize(n);
  double largest = problem.largest_cost;
  for (const GraphPair& e : problem.pairs) {
    const Problem& pair = *e.problem;
    cost_.push_back(pair.cost);
    for (int a = 0; a < pair.size(); ++a) {
      if (!pair.unmatched1.empty()) cost_.back()[a] -= pair.unmatched1[pair.left[a]];
      if (!pair.unmatched2.empty()) cost_.back()[a] -= pair.unmatched2[pair.right[a]];
      largest = std::max(largest, std::fabs(cost_.back()[a]));
    }
  }
  least_ = -1e-11 * (1 + static_cast<double>(problem.pairs.size())) * largest;
  clear();
}

void CliqueState::clear() {
  std::fill(member_.begin(), member_.end(), -1);
  std::fill(count_.begin(), count_.end(), 0);
  int next = 0;
  for (int p = 0; p < d_; ++p) {
    object_[p].resize(problem.size[p]);
    for (int i = 0; i < problem.size[p]; ++i, ++next) {
      object_[p][i] = next;
      place(next, p) = i;
      count_[next] = 1;
    }
  }
  gain_ = cost_;
  value_ = 0;
}

void CliqueState::start(const Cliques& cliques) {
  clear();
  for (const std::vector<int>& clique : cliques) {
    int into = -1;
    for (int p = 0; p < d_; ++p) {
      if (clique[p] < 0) continue;
      const int object = object_[p][clique[p]];
      if (into < 0)
        into = object;
      else
        merge(object, into);
    }
  }
}

void CliqueState::activate(int pair, int a, double sign) {
  const Problem& p = *problem.pairs[pair].problem;
  std::vector<double>& gain = gain_[pair];
  if (sign < 0)
    value_ -= gain[a];
  else
    value_ += gain[a];
  for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain[p.adj[k].a] += sign * p.adj[k].cost;
}

void CliqueState::attach(int p, int i, int object) {
  for (int q = 0; q < d_; ++q)
    if (const int j = member(object, q), pair = problem.pair(p, q); j >= 0 && pair >= 0)
      activate(pair, problem.find(p, i, q, j), 1);
  object_[p][i] = object;
  place(object, p) = i;
  ++count_[object];
}

void CliqueState::detach(int p, int i) {
  const int object = object_[p][i];
  place(object, p) = -1;
  --count_[object];
  for (int q = 0; q < d_; ++q)
    if (const int j = member(object, q), pair = problem.pair(p, q); j >= 0 && pair >= 0)
      activate(pair, problem.find(p, i, q, j), -1);
}

int CliqueState::free_object() const {
  return static_cast<int>(std::find(count_.begin(), count_.end(), 0) - count_.begin());
}

bool CliqueState::may_merge(int o1, int o2) const {
  for (int p = 0; p < d_; ++p) {
    if (member(o1, p) < 0) continue;
    for (int q = 0; q < d_; ++q) {
      if (member(o2, q) < 0) continue;
      if (p == q) return false;
      if (problem.pair(p, q) >= 0 && problem.find(p, member(o1, p), q, member(o2, q)) < 0) return false;
    }
  }
  return true;
}

void CliqueState::merge(int from, int into) {
  for (int p = 0; p < d_; ++p)
    if (const int i = member(from, p); i >= 0) {
      detach(p, i);
      attach(p, i, into);
    }
}

Cliques CliqueState::cliques() const {
  Cliques cliques;
  for (int o = 0; o < objects(); ++o)
    if (count_[o] > 1)
      cliques.emplace_back(member_.begin() + static_cast<std::ptrdiff_t>(o) * d_,
                           member_.begin() + static_cast<std::ptrdiff_t>(o + 1) * d_);
  return cliques;
}

}  // namespace gm
