#include "multi/search.hpp"

namespace gm {

namespace {

constexpr int most_rounds = 1000;  // of a descent: a few are made

}  // namespace

CliqueSearch::CliqueSearch(const MultiProblem& problem, const Options& options)
    : state_(problem), swap_(state_), rematch_(state_, options) {}

void CliqueSearch::descend() {
  const int d = state_.problem.graphs();
  bool better = true;
  for (int round = 0; better && round < most_rounds; ++round) {
    better = false;
    while (swap_.swap_all()) better = true;
    for (int p = 0; p < d; ++p) better |= rematch_.rematch_graph(p, false);
    if (better) continue;
    const auto [at, fresh] = optima_.insert(cliques());  // what comes out of here again needs no second look
    if (!fresh) return;
    for (int p = 0; p < d; ++p) better |= rematch_.rematch_graph(p, true);
    if (better) optima_.erase(at);
  }
}

}  // namespace gm
