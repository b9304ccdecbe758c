// Cliques from the pairs' own matchings, from nothing, and at random.
#include <algorithm>

#include "core/random.hpp"
#include "multi/search.hpp"

namespace gm {

void CliqueSearch::agree(const std::vector<std::vector<int>>& matchings) {
  state_.clear();
  const MultiProblem& problem = state_.problem;
  const int d = problem.graphs();
  // A match (i, j) is supported by every third graph through which i leads to j.
  struct Match {
    int p, i, q, j, support;
  };
  const auto partner = [&](int p, int i, int q) {
    const int e = problem.pair(p, q);
    if (e < 0) return -1;
    if (p < q) return matchings[e][i];
    const auto at = std::find(matchings[e].begin(), matchings[e].end(), i);
    return at == matchings[e].end() ? -1 : static_cast<int>(at - matchings[e].begin());
  };
  std::vector<Match> matches;
  for (std::size_t e = 0; e < matchings.size(); ++e) {
    const int p = problem.pairs[e].p, q = problem.pairs[e].q;
    for (int i = 0; i < problem.size[p]; ++i) {
      const int j = matchings[e][i];
      if (j < 0) continue;
      Match match{p, i, q, j, 0};
      for (int r = 0; r < d; ++r)
        if (r != p && r != q)
          if (const int k = partner(p, i, r); k >= 0 && partner(r, k, q) == j) ++match.support;
      matches.push_back(match);
    }
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& s, const Match& t) { return s.support > t.support; });
  for (const Match& m : matches) {
    const int from = state_.object(m.q, m.j), into = state_.object(m.p, m.i);
    if (from != into && state_.may_merge(from, into)) state_.merge(from, into);
  }
}

void CliqueSearch::build_at_random(std::uint64_t& random) {
  state_.clear();
  for (const auto& [p, q, problem] : state_.problem.pairs)
    for (int i = 0; i < problem->n1; ++i) {
      const int first = problem->row_start[i], n = problem->row_start[i + 1] - first;
      if (n == 0) continue;
      const int j = problem->right[first + static_cast<int>(draw(random, static_cast<std::uint64_t>(n)))];
      const int from = state_.object(q, j), into = state_.object(p, i);
      if (from != into && state_.may_merge(from, into)) state_.merge(from, into);
    }
}

void CliqueSearch::build_in_order(const std::vector<int>& order) {
  state_.clear();
  std::vector<int> side(state_.problem.graphs(), Rematch::out);
  for (const int p : order) {
    side[p] = Rematch::left;
    rematch_.rematch(side, true);
    side[p] = Rematch::right;
  }
}

void CliqueSearch::build_as_tree(const std::vector<int>& order) {
  state_.clear();
  const int d = state_.problem.graphs();
  for (int width = 1; width < d; width *= 2)
    for (int first = 0; first + width < d; first += 2 * width) {
      std::vector<int> side(d, Rematch::out);
      for (int k = first; k < std::min(d, first + 2 * width); ++k)
        side[order[k]] = k < first + width ? Rematch::left : Rematch::right;
      rematch_.rematch(side, true);
    }
}

}  // namespace gm
