#include "search.hpp"

#include <algorithm>
#include <limits>

#include "poll.hpp"

namespace gm {

namespace {

constexpr std::int64_t move_work = 8;  // of an assignment in the scan of all moves, as poll() counts

}  // namespace

// Pair costs in tables over the labels of two nodes of graph 1: looked up at every move.
LocalSearch::LocalSearch(const Problem& p)
    : problem_(p), at1_(p.n1, -1), at2_(p.n2, -1), gain_(p.cost),
      complete_(static_cast<std::int64_t>(p.n1) * p.n2 == p.size()), column_(p.n2), pair_(p.n1, 0.0), held_(2 * p.n1),
      best_(p.n1, -1), tabu_in_(p.size(), 0), tabu_out_(p.n1, 0), link_of_(static_cast<std::size_t>(p.n1) * p.n1, -1) {
  const auto labels = [&p](int i) { return static_cast<std::size_t>(p.row_start[i + 1] - p.row_start[i]); };
  std::size_t total = 0;
  for (const Term& t : p.terms) link_of_[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]] = 0;
  link_start_.assign(p.n1 + 1, 0);
  for (int i = 0; i < p.n1; ++i) {
    for (int k = 0; k < p.n1; ++k) {  // i < k: a table of its own; i > k: the one made for (k, i)
      int& link = link_of_[static_cast<std::size_t>(i) * p.n1 + k];
      const int mirror = link_of_[static_cast<std::size_t>(k) * p.n1 + i];
      if (i < k ? link < 0 : mirror < 0) continue;
      link = static_cast<int>(links_.size());
      if (i < k) {
        links_.push_back({k, nullptr, p.row_start[i], p.row_start[k], static_cast<int>(labels(k)), false});
        table_at_.push_back(total);
        total += labels(i) * labels(k);
      } else {
        Link back = links_[mirror];
        back.node = k;
        back.reversed = true;
        links_.push_back(back);
        table_at_.push_back(table_at_[mirror]);
      }
    }
    link_start_[i + 1] = static_cast<int>(links_.size());
  }
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
  table_.assign(total, 0.0);
  poll(static_cast<std::int64_t>(total));
  for (std::size_t e = 0; e < links_.size(); ++e) links_[e].table = table_.data() + table_at_[e];
  for (const Term& t : p.terms) {  // the left node of t.a is below that of t.b, since assignments are sorted by it
    const Link& link = links_[link_of_[static_cast<std::size_t>(p.left[t.a]) * p.n1 + p.left[t.b]]];
    table_[static_cast<std::size_t>(link.table - table_.data()) +
           static_cast<std::size_t>(t.a - link.row) * link.width + (t.b - link.column)] = t.cost;
  }
  poll(4 * static_cast<std::int64_t>(p.terms.size()));
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
    poll(move_work * problem_.size());
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
  const double least = -1e-12 * (1e-300 + problem_.largest_cost);
  for (;;) {
    const Move move = best_move(false);
    if (!(move.delta < least)) break;
    poll(move_work * problem_.size());
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
  std::vector<int> before;
  for (std::int64_t step = 0; step < moves; ++step) {
    if (best_value_ <= goal) return step;
    poll(move_work * p.size());
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
