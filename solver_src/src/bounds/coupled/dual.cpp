#include "bounds/coupled/dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

template <class Split, class Ascent>
BasicDual<Split, Ascent>::BasicDual(const Problem& p)
    : problem_(p), split_(p), label_bound_(p.size(), -inf), idle_bound_(p.n1, -inf) {
  double squares = 0;
  for (const Term& t : p.terms) squares += t.cost / p.largest_cost * (t.cost / p.largest_cost);
  if (squares > 0) scale_ = std::sqrt(squares / p.terms.size()) * p.largest_cost;
}

template <class Split, class Ascent>
void BasicDual<Split, Ascent>::anneal(double temperature, int sweeps) {
  if (!empty() && temperature > 0) ascent_.run(split_, temperature, sweeps);
}

template <class Split, class Ascent>
double BasicDual<Split, Ascent>::bound() {
  const Problem& p = problem_;
  const auto &s0 = split_.side[0], &s1 = split_.side[1];
  for (auto& s : split_.side) s.minima();
  lap_costs_.assign(p.size(), inf);
  double constant = 0;
  for (const auto& s : split_.side) {
    for (const double m : s.least) constant += m;
  }
  // Unmatched labels carry costs too: matching i saves its own. A node that must be matched saves "everything".
  double forced = p.largest_cost > 0 ? p.largest_cost : 1;  // of the costs' order: a constant would swamp tiny ones
  for (const auto& s : split_.side)
    for (int i = 0; i < s.n; ++i)
      for (int l = 0; l < s.labels[i]; ++l)
        if (const double c = s.u[s.node_at[i] + l]; std::isfinite(c)) forced += 2 * std::fabs(c);
  const auto idle = [forced](const auto& s, int i) {
    return s.may_be_idle[i] ? s.u[s.node_at[i] + s.labels[i] - 1] : forced;
  };
  for (const auto& s : split_.side)
    for (int i = 0; i < s.n; ++i) constant += idle(s, i);
  for (int a = 0; a < p.size(); ++a)
    if (split_.alive[a]) {
      const int i = p.left[a], j = p.right[a];
      lap_costs_[a] = s0.u[split_.at(0, a)] + s1.u[split_.at(1, a)] - idle(s0, i) - idle(s1, j);
    }
  const LapResult& lap = linear_.solve(p, lap_costs_);
  for (int i = 0; i < p.n1; ++i)
    if (!s0.may_be_idle[i] && lap.match[i] < 0) split_.empty = true;
  for (int j = 0; j < p.n2; ++j)
    if (!s1.may_be_idle[j] && lap.owner[j] < 0) split_.empty = true;
  bound_ = lap.value + constant;
  if (!(bound_ < inf) || empty()) bound_ = inf;
  return bound_;
}

template <class Split, class Ascent>
int BasicDual<Split, Ascent>::remove_above(double upper) {
  if (empty()) return 0;
  const Problem& p = problem_;
  const auto &s0 = split_.side[0], &s1 = split_.side[1];
  const LapResult& lap = linear_.last();
  std::vector<int> doomed;
  for (int a = 0; a < p.size(); ++a) {
    if (!split_.alive[a]) continue;
    const int i = p.left[a], j = p.right[a];
    const double reduced = lap_costs_[a] - lap.row[i] - lap.column[j];
    const double with = bound_ + std::max(0.0, reduced) + s0.marginal[split_.at(0, a)] + s1.marginal[split_.at(1, a)];
    label_bound_[a] = with;
    if (with >= upper) doomed.push_back(a);
  }
  for (const int a : doomed) split_.remove(a);
  int removed = static_cast<int>(doomed.size());
  for (int which = 0; which < 2; ++which) {
    const auto& s = split_.side[which];
    const std::vector<double>& potential = which == 0 ? lap.row : lap.column;
    for (int i = 0; i < s.n; ++i) {
      if (!s.may_be_idle[i]) continue;
      const double with = bound_ - potential[i] + s.marginal[s.node_at[i] + s.labels[i] - 1];
      if (which == 0) idle_bound_[i] = with;
      if (with >= upper) {
        split_.remove_idle(which, i);
        ++removed;
      }
    }
  }
  split_.propagate();
  return removed;
}

template <class Split, class Ascent>
void BasicDual<Split, Ascent>::rounding_costs(std::vector<double>& costs) const {
  const Problem& p = problem_;
  costs.assign(lap_costs_.size(), inf);
  const auto marginal = [this](int which, int i, int a) {
    const auto& s = split_.side[which];
    const double idle = s.may_be_idle[i] ? s.marginal[s.node_at[i] + s.labels[i] - 1] : 0;
    return 0.5 * (s.marginal[split_.at(which, a)] - idle);
  };
  for (int a = 0; a < p.size(); ++a)
    if (split_.alive[a]) costs[a] = lap_costs_[a] + marginal(0, p.left[a], a) + marginal(1, p.right[a], a);
}

template <class Split, class Ascent>
int BasicDual<Split, Ascent>::size() const {
  int n = 0;
  for (int i = 0; i < problem_.n1; ++i) n += split_.label_count(i);
  return n;
}

template <class Split, class Ascent>
std::int64_t BasicDual<Split, Ascent>::table_entries() const {
  std::int64_t sum = 0;
  for (int which = 0; which < 2; ++which) {
    const auto& s = split_.side[which];
    std::vector<std::int64_t> labels(s.n, 1);
    for (int a = 0; a < problem_.size(); ++a)
      labels[which == 0 ? problem_.left[a] : problem_.right[a]] += split_.alive[a];
    for (const auto& table : s.tables) sum += labels[table.row_node] * labels[table.column_node];
  }
  return sum;
}

template class BasicDual<coupled::Split, coupled::Ascent>;
template class BasicDual<implicit::Split, implicit::Ascent>;

}  // namespace gm
