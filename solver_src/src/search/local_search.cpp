#include "search/local_search.hpp"

#include <algorithm>
#include <limits>

#include "core/poll.hpp"
#include "core/vec.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr int largest_matrix = 2048;  // assignments: 32 MiB

// Whether half of the pairs of assignments have a term, so that a row of a matrix is read faster than a list.
bool dense(const Problem& p) {
  const double n = p.size();
  return p.size() <= largest_matrix && 4 * static_cast<double>(p.terms.size()) >= n * n;
}

GM_CLONES void add(int n, const double* x, double* y) {
  for (int k = 0; k < n; ++k) y[k] += x[k];
}

GM_CLONES void subtract(int n, const double* x, double* y) {
  for (int k = 0; k < n; ++k) y[k] -= x[k];
}

}  // namespace

LocalSearch::LocalSearch(const Problem& p, const Storage& storage)
    : problem_(p), pair_costs_(p, storage.table_entries), at1_(p.n1, -1), at2_(p.n2, -1), gain_(p.cost),
      complete_(static_cast<std::int64_t>(p.n1) * p.n2 == p.size()), by_rows_(p.size() >= storage.rows_from),
      column_(p.n2), best_(p.n1, -1), tabu_in_(p.size(), 0), tabu_out_(p.n1, 0) {
  if (!complete_) return;
  enter_.resize(p.n2 + 1);
  place_.resize(p.n1);
  swap_.resize(p.n1);
  paid_.resize(p.size());
  swapped_.assign(static_cast<std::size_t>(p.n1) * p.n1, 0.0);
  if (!dense(p)) return;
  const std::size_t n = static_cast<std::size_t>(p.size());
  matrix_.assign(n * n, 0.0);
  poll(static_cast<std::int64_t>(n * n));
  for (const Term& t : p.terms) matrix_[t.a * n + t.b] = matrix_[t.b * n + t.a] = t.cost;
}

// What best_move_complete() reads of the terms between a and the other chosen assignments.
void LocalSearch::enter_pairs(int a) {
  const int n1 = problem_.n1, n2 = problem_.n2, i = problem_.left[a], j = problem_.right[a];
  if (!matrix_.empty()) {
    const std::size_t n = static_cast<std::size_t>(problem_.size());
    for (int k = 0; k < n1; ++k) {
      const int b = at1_[k];
      if (b < 0 || k == i) continue;
      const int other = i * n2 + problem_.right[b], swapped = k * n2 + j;
      paid_[other] = paid_[swapped] = matrix_[a * n + b];
      swapped_[static_cast<std::size_t>(i) * n1 + k] = swapped_[static_cast<std::size_t>(k) * n1 + i] =
          matrix_[other * n + swapped];
    }
    return;
  }
  for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e) {
    const PairCosts::Link& link = pair_costs_.links[e];
    const int k = link.node, b = at1_[k];
    if (b < 0) continue;
    const int other = i * n2 + problem_.right[b], swapped = k * n2 + j;
    paid_[other] = paid_[swapped] = pair_costs_.cost(link, a, b);
    swapped_[static_cast<std::size_t>(i) * n1 + k] = swapped_[static_cast<std::size_t>(k) * n1 + i] =
        pair_costs_.cost(link, other, swapped);
  }
}

void LocalSearch::leave_pairs(int a) {
  const int n2 = problem_.n2, i = problem_.left[a], j = problem_.right[a];
  for (int e = pair_costs_.start[i]; e < pair_costs_.start[i + 1]; ++e) {
    const int k = pair_costs_.links[e].node, b = at1_[k];
    if (b >= 0) paid_[i * n2 + problem_.right[b]] = paid_[k * n2 + j] = 0;
  }
}

void LocalSearch::insert(int a) {
  const Problem& p = problem_;
  value_ += gain_[a];
  at1_[p.left[a]] = a;
  at2_[p.right[a]] = a;
  if (!matrix_.empty())
    add(p.size(), matrix_.data() + static_cast<std::size_t>(a) * p.size(), gain_.data());
  else
    for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain_[p.adj[k].a] += p.adj[k].cost;
  if (complete_) {
    paid_[a] = inf;  // (i, j) is number i n2 + j; what is chosen cannot enter
    enter_pairs(a);
  }
  if (watched_) touch(a);
}

void LocalSearch::remove(int a) {
  const Problem& p = problem_;
  value_ -= gain_[a];
  at1_[p.left[a]] = -1;
  at2_[p.right[a]] = -1;
  if (!matrix_.empty())
    subtract(p.size(), matrix_.data() + static_cast<std::size_t>(a) * p.size(), gain_.data());
  else
    for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain_[p.adj[k].a] -= p.adj[k].cost;
  if (complete_) {
    paid_[a] = 0;
    leave_pairs(a);
  }
  if (watched_) touch(a);
}

void LocalSearch::start(const std::vector<int>& assignment) {
  std::fill(at1_.begin(), at1_.end(), -1);
  std::fill(at2_.begin(), at2_.end(), -1);
  gain_ = problem_.cost;
  if (complete_) std::fill(paid_.begin(), paid_.end(), 0.0);
  value_ = 0;
  for (int i = 0; i < problem_.n1; ++i)
    if (assignment[i] >= 0) insert(problem_.find(i, assignment[i]));
  best_ = assignment;
  best_value_ = value_;
}

std::vector<int> LocalSearch::assignment() const {
  std::vector<int> result(problem_.n1);
  for (int i = 0; i < problem_.n1; ++i) result[i] = at1_[i] < 0 ? -1 : problem_.right[at1_[i]];
  return result;
}

std::int64_t LocalSearch::scan_work() const { return 8 * static_cast<std::int64_t>(problem_.size()); }

void LocalSearch::keep_if_best() {
  if (value_ >= best_value_) return;
  best_value_ = value_;
  for (int i = 0; i < problem_.n1; ++i) best_[i] = at1_[i] < 0 ? -1 : problem_.right[at1_[i]];
}

void LocalSearch::greedy() {
  if (by_rows_) return greedy_by_rows();
  for (;;) {
    double least = 0;
    int best = -1;
    for (int a = 0; a < problem_.size(); ++a)
      if (gain_[a] < least && at1_[problem_.left[a]] < 0 && at2_[problem_.right[a]] < 0) {
        least = gain_[a];
        best = a;
      }
    if (best < 0) break;
    poll(scan_work());
    insert(best);
  }
  keep_if_best();
}

void LocalSearch::apply(const Move& move) {
  if (move.drop >= 0) remove(at1_[move.drop]);
  for (const int a : {move.insert1, move.insert2}) {
    if (a < 0) continue;
    if (at1_[problem_.left[a]] >= 0) remove(at1_[problem_.left[a]]);
    if (at2_[problem_.right[a]] >= 0) remove(at2_[problem_.right[a]]);
  }
  for (const int a : {move.insert1, move.insert2})
    if (a >= 0) insert(a);
}

void LocalSearch::descend() {
  if (by_rows_ && !complete_) return descend_by_rows();  // where all is allowed, a match touches every row
  const double least = -1e-12 * (1e-300 + problem_.largest_cost);
  for (;;) {
    const Move move = best_move(false);
    if (!(move.delta < least)) break;
    poll(scan_work());
    apply(move);
  }
  keep_if_best();
}

}  // namespace gm
