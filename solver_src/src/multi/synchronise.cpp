#include "multi/synchronise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/eigen.hpp"

namespace gm {

namespace {

constexpr double least_similarity = 0.1;  // below, nodes do not join

}  // namespace

Cliques synchronise(const MultiProblem& problem, const std::vector<std::vector<int>>& matchings) {
  const int d = problem.graphs();
  std::vector<int> first(d + 1, 0), graph;
  for (int p = 0; p < d; ++p) {
    first[p + 1] = first[p] + problem.size[p];
    graph.insert(graph.end(), problem.size[p], p);
  }
  const int n = first[d], rank = d ? *std::max_element(problem.size.begin(), problem.size.end()) : 0;
  std::vector<double> joint(static_cast<std::size_t>(n) * n, 0.0), vectors;
  for (int k = 0; k < n; ++k) joint[static_cast<std::size_t>(k) * n + k] = 1;
  for (std::size_t e = 0; e < matchings.size(); ++e)
    for (std::size_t i = 0; i < matchings[e].size(); ++i)
      if (matchings[e][i] >= 0) {
        const int a = first[problem.pairs[e].p] + static_cast<int>(i), b = first[problem.pairs[e].q] + matchings[e][i];
        joint[static_cast<std::size_t>(a) * n + b] = joint[static_cast<std::size_t>(b) * n + a] = 1;
      }
  eigenvectors(n, joint, vectors);
  // Leading: of W W^T, as matchings may make W indefinite.
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int k) { return std::round(1e9 * std::fabs(joint[static_cast<std::size_t>(k) * n + k])); };
  std::stable_sort(order.begin(), order.end(), [&](int k, int l) { return size(k) > size(l); });
  std::vector<double> rows(static_cast<std::size_t>(n) * rank);
  for (int k = 0; k < n; ++k) {
    double norm = 0;
    for (int m = 0; m < rank; ++m) {
      const double x = vectors[static_cast<std::size_t>(k) * n + order[m]];
      rows[static_cast<std::size_t>(k) * rank + m] = x;
      norm += x * x;
    }
    for (int m = 0; norm > 0 && m < rank; ++m) rows[static_cast<std::size_t>(k) * rank + m] /= std::sqrt(norm);
  }
  const auto similarity = [&](int k, int l) {
    return std::inner_product(rows.begin() + static_cast<std::ptrdiff_t>(k) * rank,
                              rows.begin() + static_cast<std::ptrdiff_t>(k + 1) * rank,
                              rows.begin() + static_cast<std::ptrdiff_t>(l) * rank, 0.0);
  };

  // Each node that is left opens a clique and takes the most similar node that is left of every other graph.
  Cliques cliques;
  std::vector<char> taken(n, 0);
  for (int k = 0; k < n; ++k) {
    if (taken[k]) continue;
    std::vector<int> clique(d, -1);
    clique[graph[k]] = k - first[graph[k]];
    taken[k] = 1;
    const auto allowed = [&](int q, int j) {
      for (int p = 0; p < d; ++p)
        if (clique[p] >= 0 && problem.pair(p, q) >= 0 && problem.find(p, clique[p], q, j) < 0) return false;
      return true;
    };
    for (int q = 0; q < d; ++q) {
      if (q == graph[k]) continue;
      double most = least_similarity;
      int best = -1;
      for (int l = first[q]; l < first[q + 1]; ++l) {
        if (taken[l] || !allowed(q, l - first[q])) continue;
        if (const double s = similarity(k, l); s > most) {
          most = s;
          best = l;
        }
      }
      if (best < 0) continue;
      clique[q] = best - first[q];
      taken[best] = 1;
    }
    cliques.push_back(std::move(clique));
  }
  return cliques;
}

}  // namespace gm
