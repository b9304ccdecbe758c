#include "bbgm_solver/multi_problem.hpp"

#include <algorithm>
#include <utility>

namespace gm {

MultiProblem::MultiProblem(std::vector<int> size_, std::vector<GraphPair> pairs_)
    : size(std::move(size_)), pairs(std::move(pairs_)), pair_(size.size() * size.size(), -1) {
  std::sort(pairs.begin(), pairs.end(),
            [](const GraphPair& s, const GraphPair& t) { return s.p != t.p ? s.p < t.p : s.q < t.q; });
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const auto [p, q, problem] = pairs[e];
    pair_[static_cast<std::size_t>(p) * graphs() + q] = pair_[static_cast<std::size_t>(q) * graphs() + p] =
        static_cast<int>(e);
    largest_cost = std::max(largest_cost, problem->largest_cost);
  }
}

std::vector<int> MultiProblem::matching(const Cliques& cliques, int p, int q) const {
  std::vector<int> match(size[p], -1);
  for (const std::vector<int>& clique : cliques)
    if (clique[p] >= 0) match[clique[p]] = clique[q];
  return match;
}

double MultiProblem::evaluate(const Cliques& cliques) const {
  double sum = 0;
  for (const auto& [p, q, problem] : pairs) sum += problem->evaluate(matching(cliques, p, q));
  return sum;
}

double MultiProblem::empty_objective() const {
  double sum = 0;
  for (const GraphPair& e : pairs) sum += e.problem->empty_objective();
  return sum;
}

Cliques MultiProblem::canonical(const Cliques& cliques) const {
  const int d = graphs();
  Cliques parts;
  for (std::vector<int> rest : cliques)
    for (int p = 0; p < d; ++p) {
      if (rest[p] < 0) continue;
      std::vector<int> part(d, -1), reached{p};
      part[p] = std::exchange(rest[p], -1);
      for (std::size_t k = 0; k < reached.size(); ++k)
        for (int q = 0; q < d; ++q)
          if (rest[q] >= 0 && pair(reached[k], q) >= 0) {
            part[q] = std::exchange(rest[q], -1);
            reached.push_back(q);
          }
      if (reached.size() > 1) parts.push_back(std::move(part));
    }
  const auto key = [](int i) { return static_cast<unsigned>(i); };  // -1 comes last
  std::sort(parts.begin(), parts.end(), [&](const std::vector<int>& s, const std::vector<int>& t) {
    return std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end(),
                                        [&](int i, int j) { return key(i) < key(j); });
  });
  return parts;
}

}  // namespace gm
