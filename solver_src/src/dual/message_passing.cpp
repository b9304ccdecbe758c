#include "dual/message_passing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/poll.hpp"

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double least(const std::vector<double>& x, int begin, int end) {
  return *std::min_element(x.begin() + begin, x.begin() + end);
}

// Moves `share` of what each match at a node costs above (or below) the node's minimum, when "unmatched" attains it,
// or else the second smallest value, to the match's other end: give(label, cost).
template <class Give>
void push(std::vector<double>& from, int begin, int end, double share, Give&& give) {
  double least = from[end - 1], second = inf;
  bool idle = true;  // "unmatched" attains the minimum
  for (int l = begin; l + 1 < end; ++l) {
    idle = idle && from[end - 1] <= from[l];
    second = std::min(second, std::max(least, from[l]));
    least = std::min(least, from[l]);
  }
  const double reference = idle ? least : second;
  for (int l = begin; l + 1 < end; ++l) {
    const double delta = share * (from[l] - reference);
    from[l] -= delta;
    give(l - begin, delta);
  }
}

// Moves what label `k` of a vector costs above (or below) the best of its others to the same match's other end.
void pull(std::vector<double>& from, int begin, int end, int k, double& to) {
  double others = inf;
  for (int l = begin; l < end; ++l)
    if (l != k) others = std::min(others, from[l]);
  const double delta = from[k] - others;
  from[k] -= delta;
  to += delta;
}

// The same problem with its graphs exchanged.
Problem mirrored(const Problem& p) {
  std::vector<int> left, right, place(p.size());
  std::vector<double> cost;
  for (const int a : p.col) {
    place[a] = static_cast<int>(cost.size());
    left.push_back(p.right[a]);
    right.push_back(p.left[a]);
    cost.push_back(p.cost[a]);
  }
  std::vector<Term> terms;
  for (const Term& t : p.terms) terms.emplace_back(place[t.a], place[t.b], t.cost);
  return Problem(p.n2, p.n1, std::move(left), std::move(right), std::move(cost), merge_terms(std::move(terms)));
}

}  // namespace

MessagePassing::MessagePassing(const Problem& problem, TablesOf tables)
    : p_(problem), tables_(problem, tables == TablesOf::both ? 0.5 : 1), at2_(problem.size()) {
  if (tables == TablesOf::both) tables2_.emplace(mirrored(problem), 0.5);
  for (int i = 0; i <= p_.n1; ++i) at1_.push_back(p_.row_start[i] + i);  // one more label a node: unmatched
  u_.assign(p_.size() + p_.n1, 0.0);
  v_.assign(p_.size() + p_.n2, 0.0);
  for (int a = 0; a < p_.size(); ++a) u_[a + p_.left[a]] = p_.cost[a];
  for (int j = 0; j < p_.n2; ++j)
    for (int k = p_.col_start[j]; k < p_.col_start[j + 1]; ++k) at2_[p_.col[k]] = k + j;
  int most = 0;
  for (int i = 0; i < p_.n1; ++i) most = std::max(most, node1(i).labels + 1);
  for (int j = 0; j < p_.n2; ++j) most = std::max(most, node2(j).labels + 1);
  message_.resize(most);
}

void MessagePassing::pass_forward(double share) {
  linear_step();
  for (int i = 0; i < p_.n1; ++i) {
    visit(tables_, i, node1(i), true, share);
    push(u_, at1_[i], at1_[i + 1], 1, [&](int k, double delta) { v_[at2_[p_.row_start[i] + k]] += delta; });
  }
  for (int j = 0; j < p_.n2; ++j) {
    pull_from_graph1(j);
    if (tables2_) visit(*tables2_, j, node2(j), true, share);
  }
}

void MessagePassing::pass_backward(double share) {
  for (int j = p_.n2 - 1; j >= 0; --j) {
    pull_from_graph1(j);
    if (tables2_) visit(*tables2_, j, node2(j), false, share);
    push(v_, p_.col_start[j] + j, p_.col_start[j + 1] + j + 1, 0.5, [&](int k, double delta) {
      const int a = p_.col[p_.col_start[j] + k];
      u_[a + p_.left[a]] += delta;
    });
  }
  for (int i = p_.n1 - 1; i >= 0; --i) {
    pull_from_graph2(i);
    visit(tables_, i, node1(i), false, share);
  }
}

double MessagePassing::bound() const {
  double sum = constant_;
  for (int i = 0; i < p_.n1; ++i) sum += least(u_, at1_[i], at1_[i + 1]);
  for (int j = 0; j < p_.n2; ++j) sum += least(v_, p_.col_start[j] + j, p_.col_start[j + 1] + j + 1);
  return sum + tables_.sum_of_minima() + (tables2_ ? tables2_->sum_of_minima() : 0);
}

const std::vector<int>& MessagePassing::round() {
  empty_tables();
  assign();
  return lap_.match;
}

void MessagePassing::gather() {
  empty_tables();
  linear_step();
}

void MessagePassing::empty_tables() {
  for (int i = 0; i < p_.n1; ++i)
    for (const auto& e : tables_.at(i)) tables_.receive(e, node1(i).costs);
  for (int j = 0; tables2_ && j < p_.n2; ++j)
    for (const auto& e : tables2_->at(j)) tables2_->receive(e, node2(j).costs);
}

void MessagePassing::visit(DualTables& tables, int node, NodeCosts at, bool forward, double share) {
  int later = 0;
  double* u = at.costs;
  for (const auto& e : tables.at(node)) {
    tables.receive(e, u);
    later += e.as_row == forward;
  }
  if (later == 0) return;
  poll(static_cast<std::int64_t>(tables.size()) / tables.nodes());
  const int labels = at.labels + 1, earlier = static_cast<int>(tables.at(node).size()) - later;
  // The linear part reads from this node as well: one target more than in SRMP.
  const double weight = share < 0 ? 1.0 / (1 + std::max(later, earlier)) : (1 - share) / (later + earlier);
  const double low = *std::min_element(u, u + labels);
  for (int l = 0; l < labels; ++l) message_[l] = weight * (u[l] - low);
  for (const auto& e : tables.at(node)) {
    if (e.as_row != forward) continue;
    tables.send(e, message_.data());
    for (int l = 0; l < labels; ++l) u[l] -= message_[l];
  }
}

void MessagePassing::pull_from_graph1(int j) {
  for (int k = p_.col_start[j]; k < p_.col_start[j + 1]; ++k) {
    const int a = p_.col[k], i = p_.left[a];
    pull(u_, at1_[i], at1_[i + 1], a + i, v_[at2_[a]]);
  }
}

void MessagePassing::pull_from_graph2(int i) {
  for (int a = p_.row_start[i]; a < p_.row_start[i + 1]; ++a) {
    const int j = p_.right[a];
    pull(v_, p_.col_start[j] + j, p_.col_start[j + 1] + j + 1, at2_[a], u_[a + i]);
  }
}

// Linear assignment over the vectors, "unmatched" at its own cost.
void MessagePassing::assign() {
  lap_costs_.assign(static_cast<std::size_t>(p_.n1) * p_.n2, inf);
  for (int a = 0; a < p_.size(); ++a)
    lap_costs_[static_cast<std::size_t>(p_.left[a]) * p_.n2 + p_.right[a]] =
        u_[a + p_.left[a]] + v_[at2_[a]] - idle1(p_.left[a]) - idle2(p_.right[a]);
  solve_lap(p_.n1, p_.n2, lap_costs_.data(), lap_);
}

// The optimum of the linear part goes to the constant, half of each reduced cost to either end.
void MessagePassing::linear_step() {
  assign();
  constant_ += lap_.value;
  for (int a = 0; a < p_.size(); ++a) {
    const int i = p_.left[a], j = p_.right[a];
    const double reduced = lap_costs_[static_cast<std::size_t>(i) * p_.n2 + j] - lap_.row[i] - lap_.column[j];
    u_[a + i] = v_[at2_[a]] = 0.5 * std::max(0.0, reduced);
  }
  for (int i = 0; i < p_.n1; ++i) {
    constant_ += idle1(i);
    idle1(i) = -lap_.row[i];
  }
  for (int j = 0; j < p_.n2; ++j) {
    constant_ += idle2(j);
    idle2(j) = -lap_.column[j];
  }
}

}  // namespace gm
