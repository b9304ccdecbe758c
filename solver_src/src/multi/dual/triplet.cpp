#include "multi/dual/triplet.hpp"

#include <algorithm>
#include <limits>

namespace gm {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// The two smallest of some costs.
struct Least {
  double first = inf, second = inf;
  int at = -1;  // of the first
  explicit Least(const std::vector<double>& costs) {
    for (std::size_t k = 0; k < costs.size(); ++k) {
      second = std::min(second, std::max(first, costs[k]));
      if (!(costs[k] < first)) continue;
      first = costs[k];
      at = static_cast<int>(k);
    }
  }
  double but(int k) const { return k >= 0 && k == at ? second : first; }
};

// The labels of one node that stand for the same nodes as those of another, or -1. Both are sorted.
std::vector<int> places(const std::vector<int>& nodes, const std::vector<int>& others) {
  std::vector<int> same;
  for (const int node : nodes) {
    const auto at = std::lower_bound(others.begin(), others.end(), node);
    same.push_back(at != others.end() && *at == node ? static_cast<int>(at - others.begin()) : -1);
  }
  return same;
}

// What a label costs beyond the cheapest other one.
double excess(const Triplet::Entry& e) {
  double others = inf;
  for (int l = 0; l <= e.node.labels; ++l)
    if (l != e.label) others = std::min(others, e.node.costs[l]);
  return e.node.costs[e.label] - others;
}

// The least costs of z = 0 and of z = 1.
struct Direct {
  double apart, together;
  Direct(const std::vector<double>& x, const std::vector<int>& same, const std::vector<double>& y, double z) {
    const Least y_least(y);
    apart = std::min(0.0, y_least.first);
    together = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      apart = std::min(apart, x[j] + std::min(0.0, y_least.but(same[j])));
      if (same[j] >= 0) together = std::min(together, x[j] + y[same[j]]);
    }
    together += z;
  }
};

}  // namespace

Triplet::Triplet(NodeCosts first, NodeCosts second, const std::vector<int>& nodes1, const std::vector<int>& nodes2,
                 const std::vector<Entry>& direct)
    : x_{first, std::vector<double>(nodes1.size(), 0.0), places(nodes1, nodes2)},
      y_{second, std::vector<double>(nodes2.size(), 0.0), places(nodes2, nodes1)}, z_(direct.empty() ? inf : 0),
      direct_(direct) {}

double Triplet::gain() const {
  double before = 0, none = 0, z = z_;
  std::vector<double> costs[2];
  for (const Side* side : {&x_, &y_}) {
    const NodeCosts& node = side->node;
    before += *std::min_element(node.costs, node.costs + node.labels + 1);
    none += node.costs[node.labels];
    for (int l = 0; l < node.labels; ++l) costs[side == &y_].push_back(node.costs[l] - node.costs[node.labels]);
  }
  for (const Entry& e : direct_) {
    const double more = excess(e);
    before += std::min(0.0, more);
    z += more;
  }
  const Direct direct(costs[0], x_.same, costs[1], z);
  return none + std::min(direct.apart, direct.together) - before;
}

double Triplet::least() const {
  const Direct direct(x_.costs, x_.same, y_.costs, z_);
  return std::min(direct.apart, direct.together);
}

// All costs of a vector move into the factor; returns that of "unmatched".
double Triplet::take(Side& side) {
  double* costs = side.node.costs;
  const int n = side.node.labels;
  const double none = costs[n];
  for (int l = 0; l < n; ++l) {
    side.costs[l] += costs[l] - none;
    costs[l] = 0;
  }
  costs[n] = 0;
  return none;
}

// A part of the least cost of each label moves to the vector; returns the change of the constant.
double Triplet::give(Side& side, const Side& other, double part) {
  const Least others(other.costs);
  const int n = side.node.labels;
  const double none = part * std::min({0.0, others.first, z_});
  for (int l = 0; l < n; ++l) {
    const int same = side.same[l];
    double rest = std::min(0.0, others.but(same));
    if (same >= 0) rest = std::min(rest, z_ + other.costs[same]);
    const double given = part * (side.costs[l] + rest);
    side.node.costs[l] += given;
    side.costs[l] -= given - none;
  }
  side.node.costs[n] += none;
  return -none;
}

void Triplet::take_direct() {
  for (const Entry& e : direct_) {
    const double more = excess(e);
    e.node.costs[e.label] -= more;
    z_ += more;
  }
}

void Triplet::give_direct() {
  if (direct_.empty()) return;
  const Direct direct(x_.costs, x_.same, y_.costs, z_);
  const double more = direct.together - direct.apart;
  z_ -= more;
  for (const Entry& e : direct_) e.node.costs[e.label] += more / static_cast<double>(direct_.size());
}

double Triplet::update() {
  double constant = take(x_) + take(y_);
  take_direct();
  constant += give(x_, y_, 1.0 / 3) + give(y_, x_, 0.5);
  give_direct();
  return constant + give(y_, x_, 1) + give(x_, y_, 1);
}

}  // namespace gm
