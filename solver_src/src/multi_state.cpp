// Objects and their gains.
#include "multi_state.hpp"

#include <algorithm>
#include <cmath>

namespace gm {

namespace {

constexpr int most_rounds = 1000;  // of a descent: a few are made

}  // namespace

MultiState::MultiState(const MultiProblem& problem, const Options& options)
    : problem_(problem), d_(problem.graphs()), options_(options), object_(d_), gain_(problem.pairs.size()) {
  int n = 0;
  for (int p = 0; p < d_; ++p) n += problem.size[p];
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

void MultiState::clear() {
  std::fill(member_.begin(), member_.end(), -1);
  std::fill(count_.begin(), count_.end(), 0);
  int next = 0;
  for (int p = 0; p < d_; ++p) {
    object_[p].resize(problem_.size[p]);
    for (int i = 0; i < problem_.size[p]; ++i, ++next) {
      object_[p][i] = next;
      member(next, p) = i;
      count_[next] = 1;
    }
  }
  gain_ = cost_;
  value_ = 0;
}

void MultiState::start(const Cliques& cliques) {
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

void MultiState::activate(int pair, int a, double sign) {
  const Problem& p = *problem_.pairs[pair].problem;
  std::vector<double>& gain = gain_[pair];
  if (sign < 0)
    value_ -= gain[a];
  else
    value_ += gain[a];
  for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain[p.adj[k].a] += sign * p.adj[k].cost;
}

void MultiState::attach(int p, int i, int object) {
  for (int q = 0; q < d_; ++q)
    if (const int j = member(object, q), pair = problem_.pair(p, q); j >= 0 && pair >= 0)
      activate(pair, problem_.find(p, i, q, j), 1);
  object_[p][i] = object;
  member(object, p) = i;
  ++count_[object];
}

void MultiState::detach(int p, int i) {
  const int object = object_[p][i];
  member(object, p) = -1;
  --count_[object];
  for (int q = 0; q < d_; ++q)
    if (const int j = member(object, q), pair = problem_.pair(p, q); j >= 0 && pair >= 0)
      activate(pair, problem_.find(p, i, q, j), -1);
}

int MultiState::free_object() const {
  return static_cast<int>(std::find(count_.begin(), count_.end(), 0) - count_.begin());
}

bool MultiState::may_merge(int o1, int o2) const {
  for (int p = 0; p < d_; ++p) {
    if (member(o1, p) < 0) continue;
    for (int q = 0; q < d_; ++q) {
      if (member(o2, q) < 0) continue;
      if (p == q) return false;
      if (problem_.pair(p, q) >= 0 && problem_.find(p, member(o1, p), q, member(o2, q)) < 0) return false;
    }
  }
  return true;
}

void MultiState::merge(int from, int into) {
  for (int p = 0; p < d_; ++p)
    if (const int i = member(from, p); i >= 0) {
      detach(p, i);
      attach(p, i, into);
    }
}

void MultiState::agree(const std::vector<std::vector<int>>& matchings) {
  clear();
  // A match (i, j) is supported by every third graph through which i leads to j.
  struct Match {
    int p, i, q, j, support;
  };
  const auto partner = [&](int p, int i, int q) {
    const int e = problem_.pair(p, q);
    if (e < 0) return -1;
    if (p < q) return matchings[e][i];
    const auto at = std::find(matchings[e].begin(), matchings[e].end(), i);
    return at == matchings[e].end() ? -1 : static_cast<int>(at - matchings[e].begin());
  };
  std::vector<Match> matches;
  for (std::size_t e = 0; e < matchings.size(); ++e) {
    const int p = problem_.pairs[e].p, q = problem_.pairs[e].q;
    for (int i = 0; i < problem_.size[p]; ++i) {
      const int j = matchings[e][i];
      if (j < 0) continue;
      Match match{p, i, q, j, 0};
      for (int r = 0; r < d_; ++r)
        if (r != p && r != q)
          if (const int k = partner(p, i, r); k >= 0 && partner(r, k, q) == j) ++match.support;
      matches.push_back(match);
    }
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& s, const Match& t) { return s.support > t.support; });
  for (const Match& m : matches) {
    const int from = object_[m.q][m.j], into = object_[m.p][m.i];
    if (from != into && may_merge(from, into)) merge(from, into);
  }
}

void MultiState::build_at_random(std::uint64_t& random) {
  clear();
  for (const auto& [p, q, problem] : problem_.pairs)
    for (int i = 0; i < problem->n1; ++i) {
      const int first = problem->row_start[i], n = problem->row_start[i + 1] - first;
      if (n == 0) continue;
      const int j = problem->right[first + static_cast<int>(draw(random, static_cast<std::uint64_t>(n)))];
      const int from = object_[q][j], into = object_[p][i];
      if (from != into && may_merge(from, into)) merge(from, into);
    }
}

std::vector<int> MultiState::alone(int p) const {
  std::vector<int> side(d_, 1);
  side[p] = 0;
  return side;
}

void MultiState::descend() {
  bool better = true;
  for (int round = 0; better && round < most_rounds; ++round) {
    better = false;
    while (swap_all()) better = true;
    for (int p = 0; p < d_; ++p) better |= rematch(alone(p), false);
    if (better) continue;
    const auto [at, fresh] = optima_.insert(cliques());  // what comes out of here again needs no second look
    if (!fresh) return;
    for (int p = 0; p < d_; ++p) better |= rematch(alone(p), true);
    if (better) optima_.erase(at);
  }
}

Cliques MultiState::cliques() const {
  Cliques cliques;
  for (std::size_t o = 0; o < count_.size(); ++o)
    if (count_[o] > 1) cliques.emplace_back(member_.begin() + o * d_, member_.begin() + (o + 1) * d_);
  return cliques;
}

}  // namespace gm
