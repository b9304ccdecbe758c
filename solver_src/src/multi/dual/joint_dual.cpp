#include "multi/dual/joint_dual.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/poll.hpp"

namespace gm {

namespace {

constexpr double stays = 0.4;  // part of a node's costs that it keeps in a pass

// The same problem where unmatched nodes pay nothing: a match gives back what they would pay.
Problem without_unmatched(const Problem& p) {
  std::vector<double> cost(p.cost);
  for (int a = 0; a < p.size(); ++a) {
    if (!p.unmatched1.empty()) cost[a] -= p.unmatched1[p.left[a]];
    if (!p.unmatched2.empty()) cost[a] -= p.unmatched2[p.right[a]];
  }
  return Problem(p.n1, p.n2, p.left, p.right, std::move(cost), p.terms, p.adj_start, p.adj);
}

}  // namespace

JointDual::JointDual(const MultiProblem& problem) : problem_(problem), constant_(problem.empty_objective()) {
  const std::size_t n = problem.pairs.size();
  pairs_.reserve(n);
  duals_.reserve(n);
  for (const GraphPair& e : problem.pairs) {
    duals_.emplace_back(pairs_.emplace_back(without_unmatched(*e.problem)), TablesOf::both);
    magnitude_ += pairs_.back().magnitude();
    for (const auto* costs : {&e.problem->unmatched1, &e.problem->unmatched2})
      for (const double c : *costs) magnitude_ += std::fabs(c);
  }
}

NodeCosts JointDual::node(int p, int i, int q) {
  MessagePassing& dual = duals_[problem_.pair(p, q)];
  return p < q ? dual.node1(i) : dual.node2(i);
}

std::vector<int> JointDual::labels(int p, int i, int q) const {
  const Problem& pair = pairs_[problem_.pair(p, q)];
  std::vector<int> nodes;
  if (p < q)
    for (int a = pair.row_start[i]; a < pair.row_start[i + 1]; ++a) nodes.push_back(pair.right[a]);
  else
    for (int k = pair.col_start[i]; k < pair.col_start[i + 1]; ++k) nodes.push_back(pair.left[pair.col[k]]);
  return nodes;
}

void JointDual::iterate() {
  for (MessagePassing& dual : duals_) {
    dual.pass_forward(stays);
    dual.pass_backward(stays);
    dual.gather();
  }
  const bool forward = iterations_++ % 2 == 0;
  const std::size_t n = triplets_.size();
  for (std::size_t k = 0; k < n; ++k) {
    Triplet& triplet = triplets_[forward ? k : n - 1 - k];
    poll(triplet.size());
    constant_ += triplet.update();
  }
}

std::size_t JointDual::factors() const {
  std::size_t n = triplets_.size();
  for (std::size_t e = 0; e < pairs_.size(); ++e)
    n += static_cast<std::size_t>(pairs_[e].n1) + pairs_[e].n2 + duals_[e].tables();
  return n;
}

std::size_t JointDual::tighten(std::size_t most) {
  struct Candidate {
    std::array<int, 5> key;
    Triplet triplet;
    double gain;
  };
  std::vector<Candidate> found;
  const int d = problem_.graphs();
  const double least = 1e-9 * problem_.largest_cost;
  for (int m = 0; m < d; ++m)
    for (int p = 0; p < d; ++p)
      for (int q = p + 1; q < d; ++q) {
        if (m == p || m == q || problem_.pair(p, m) < 0 || problem_.pair(q, m) < 0 || problem_.pair(p, q) < 0) continue;
        std::vector<std::vector<int>> nodes2;
        for (int k = 0; k < problem_.size[q]; ++k) nodes2.push_back(labels(q, k, m));
        for (int i = 0; i < problem_.size[p]; ++i) {
          const std::vector<int> nodes1 = labels(p, i, m);
          for (int k = 0; k < problem_.size[q]; ++k) {
            const std::array<int, 5> key{m, p, q, i, k};
            if (present_.count(key)) continue;
            poll(static_cast<std::int64_t>(nodes1.size() + nodes2[k].size()));
            std::vector<Triplet::Entry> direct;
            if (const int a = problem_.find(p, i, q, k); a >= 0) {
              const Problem& pair = pairs_[problem_.pair(p, q)];
              const auto at = pair.col.begin() + pair.col_start[k];
              const int place =
                  static_cast<int>(std::lower_bound(at, pair.col.begin() + pair.col_start[k + 1], a) - at);
              direct = {{node(p, i, q), a - pair.row_start[i]}, {node(q, k, p), place}};
            }
            Triplet triplet(node(p, i, m), node(q, k, m), nodes1, nodes2[k], direct);
            if (const double gain = triplet.gain(); gain > least) found.push_back({key, std::move(triplet), gain});
          }
        }
      }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& s, const Candidate& t) { return s.gain > t.gain; });
  if (found.size() > most) found.erase(found.begin() + static_cast<std::ptrdiff_t>(most), found.end());
  for (Candidate& candidate : found) {
    present_.insert(candidate.key);
    triplets_.push_back(std::move(candidate.triplet));
  }
  return found.size();
}

double JointDual::bound() const {
  double sum = constant_;
  for (const MessagePassing& dual : duals_) sum += dual.bound();
  for (const Triplet& triplet : triplets_) sum += triplet.least();
  return sum - 1e-15 * (10 + iterations_) * magnitude_;
}

std::vector<std::vector<int>> JointDual::round() {
  std::vector<std::vector<int>> matchings;
  for (MessagePassing& dual : duals_) matchings.push_back(dual.round());
  return matchings;
}

}  // namespace gm
