// Fusion of two matchings: what differs falls into components that can be exchanged one by one.
#include <numeric>

#include "search/local_search.hpp"

namespace gm {

// Nodes of graph 1 that the two matchings treat differently belong together when they take the same node of graph 2
// from each other. A component is taken over when that pays, until none does.
void LocalSearch::fuse(const std::vector<int>& other) {
  const Problem& p = problem_;
  std::vector<int> parent(p.n1), claimed(p.n2, -1);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  std::vector<int> taken(p.n1), leaving(p.n1);  // assignments of the other matching; scratch
  for (int i = 0; i < p.n1; ++i) {
    taken[i] = other[i] < 0 ? -1 : p.find(i, other[i]);
    if (taken[i] == at1_[i]) continue;
    for (const int a : {at1_[i], taken[i]}) {
      if (a < 0) continue;
      int& first = claimed[p.right[a]];
      if (first < 0)
        first = i;
      else
        parent[root(i)] = root(first);
    }
  }
  std::vector<std::vector<int>> members(p.n1);
  for (int i = 0; i < p.n1; ++i)
    if (taken[i] != at1_[i]) members[root(i)].push_back(i);
  const auto exchange = [&](const std::vector<int>& nodes) {
    for (const int i : nodes) {
      leaving[i] = at1_[i];
      if (at1_[i] >= 0) remove(at1_[i]);
    }
    for (const int i : nodes) {
      if (taken[i] >= 0) insert(taken[i]);
      taken[i] = leaving[i];
    }
  };
  const double least = 1e-12 * p.largest_cost;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& nodes : members) {
      if (nodes.empty()) continue;
      const double before = value_;
      exchange(nodes);
      if (value_ < before - least)
        changed = true;
      else
        exchange(nodes);
    }
  }
  keep_if_best();
}

}  // namespace gm
