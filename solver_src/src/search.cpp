#include "search.hpp"

#include <algorithm>
#include <limits>

namespace gm {

LocalSearch::LocalSearch(const Problem& p)
    : problem_(p), at1_(p.n1, -1), at2_(p.n2, -1), gain_(p.cost), best_(p.n1, -1), tabu_in_(p.size(), 0),
      tabu_out_(p.n1, 0) {
  // Pair costs in tables over the labels of two nodes of graph 1: looked up at every swap.
  pair_id_.assign(static_cast<std::size_t>(p.n1) * p.n1, -1);
  const auto labels = [&p](int i) { return static_cast<std::size_t>(p.row_start[i + 1] - p.row_start[i]); };
  std::size_t total = 0;
  for (const Term& t : p.terms) {
    const int i = p.left[t.a], k = p.left[t.b];  // i < k, since assignments are sorted by their left node
    int& id = pair_id_[static_cast<std::size_t>(i) * p.n1 + k];
    if (id < 0) {
      id = static_cast<int>(table_start_.size());
      table_start_.push_back(total);
      total += labels(i) * labels(k);
    }
  }
  table_.assign(total, 0.0);
  for (const Term& t : p.terms) {
    const int i = p.left[t.a], k = p.left[t.b];
    table_[table_start_[pair_id_[static_cast<std::size_t>(i) * p.n1 + k]] + (t.a - p.row_start[i]) * labels(k) +
           (t.b - p.row_start[k])] = t.cost;
  }
}

double LocalSearch::pair(int a, int b) const {
  if (a > b) std::swap(a, b);
  const Problem& p = problem_;
  const int i = p.left[a], k = p.left[b];
  const int id = pair_id_[static_cast<std::size_t>(i) * p.n1 + k];
  if (id < 0) return 0;
  return table_[table_start_[id] + static_cast<std::size_t>(a - p.row_start[i]) * (p.row_start[k + 1] - p.row_start[k]) +
                (b - p.row_start[k])];
}

void LocalSearch::insert(int a) {
  const Problem& p = problem_;
  value_ += gain_[a];
  at1_[p.left[a]] = a;
  at2_[p.right[a]] = a;
  for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain_[p.adj[k].a] += p.adj[k].cost;
}

void LocalSearch::remove(int a) {
  const Problem& p = problem_;
  value_ -= gain_[a];
  at1_[p.left[a]] = -1;
  at2_[p.right[a]] = -1;
  for (int k = p.adj_start[a]; k < p.adj_start[a + 1]; ++k) gain_[p.adj[k].a] -= p.adj[k].cost;
}

void LocalSearch::start(const std::vector<int>& assignment) {
  std::fill(at1_.begin(), at1_.end(), -1);
  std::fill(at2_.begin(), at2_.end(), -1);
  gain_ = problem_.cost;
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

void LocalSearch::keep_if_best() {
  if (value_ >= best_value_) return;
  best_value_ = value_;
  for (int i = 0; i < problem_.n1; ++i) best_[i] = at1_[i] < 0 ? -1 : problem_.right[at1_[i]];
}

void LocalSearch::greedy() {
  for (;;) {
    double least = 0;
    int best = -1;
    for (int a = 0; a < problem_.size(); ++a)
      if (gain_[a] < least && at1_[problem_.left[a]] < 0 && at2_[problem_.right[a]] < 0) {
        least = gain_[a];
        best = a;
      }
    if (best < 0) break;
    insert(best);
  }
  keep_if_best();
}

LocalSearch::Move LocalSearch::best_move(bool use_tabu) const {
  const Problem& p = problem_;
  Move best{std::numeric_limits<double>::infinity()};
  const double aspiration = best_value_ - value_ - 1e-12 * (1 + p.largest_cost);
  const auto consider = [&](double delta, bool tabu, int in1, int in2, int drop) {
    if (delta < best.delta && (!tabu || delta < aspiration)) best = {delta, in1, in2, drop};
  };
  for (int i = 0; i < p.n1; ++i) {
    const int a0 = at1_[i];
    const double held = a0 >= 0 ? gain_[a0] : 0.0;
    if (a0 >= 0) consider(-held, use_tabu && tabu_out_[i] > time_, -1, -1, i);
    for (int a = p.row_start[i]; a < p.row_start[i + 1]; ++a) {
      if (a == a0) continue;
      const bool tabu = use_tabu && tabu_in_[a] > time_;
      const int b0 = at2_[p.right[a]];
      double delta = gain_[a] - held;
      if (b0 >= 0) {
        delta -= gain_[b0];
        if (a0 >= 0) {
          delta += pair(a0, b0);
          const int other = p.left[b0] > i ? p.find(p.left[b0], p.right[a0]) : -1;  // each swap once
          if (other >= 0)
            consider(delta + gain_[other] + pair(a, other), tabu && tabu_in_[other] > time_, a, other, -1);
        }
      }
      consider(delta, tabu, a, -1, -1);
    }
  }
  return best;
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
  const double least = -1e-12 * (1e-300 + problem_.largest_cost);
  for (;;) {
    const Move move = best_move(false);
    if (!(move.delta < least)) break;
    apply(move);
  }
  keep_if_best();
}

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
  std::vector<int> before(p.n1);
  for (std::int64_t step = 0; step < moves; ++step) {
    if (best_value_ <= goal) return step;
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
