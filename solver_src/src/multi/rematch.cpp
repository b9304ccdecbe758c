#include "multi/rematch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bbgm_solver/solve.hpp"
#include "search/local_search.hpp"

namespace gm {

namespace {

constexpr int left = Rematch::left, right = Rematch::right;
constexpr int fixed_sweeps = 20;  // what a solve costs beside its sweeps of the dual

// Sorts by (a, b), each below n, and adds the costs of equal pairs; in linear time.
std::vector<Term> sorted_sums(std::vector<Term> terms, int n) {
  std::vector<Term> other(terms.size());
  std::vector<int> next(static_cast<std::size_t>(n) + 1);
  for (int Term::* const key : {&Term::b, &Term::a}) {
    std::fill(next.begin(), next.end(), 0);
    for (const Term& t : terms) ++next[t.*key + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Term& t : terms) other[next[t.*key]++] = t;
    terms.swap(other);
  }
  std::size_t kept = 0;
  for (const Term& t : terms) {
    if (kept > 0 && terms[kept - 1].a == t.a && terms[kept - 1].b == t.b)
      terms[kept - 1].cost += t.cost;
    else
      terms[kept++] = t;
  }
  terms.resize(kept);
  return terms;
}

// Entries of the tables of the coupled dual, of graph 1's nodes: what a sweep looks at.
std::int64_t table_entries(const Problem& p) {
  std::int64_t sum = 0;
  int a = -1, node = -1;
  for (const Term& t : p.terms) {
    const int other = p.left[t.b];
    if (t.a == a && other == node) continue;
    a = t.a;
    node = other;
    sum += p.row_start[node + 1] - p.row_start[node];
  }
  return sum;
}

// The problem of matching `objects` of side 0 to those of side 1.
Problem matching_problem(const CliqueState& state, const std::vector<int>& side, const std::vector<int> (&objects)[2]) {
  const int n1 = static_cast<int>(objects[left].size()), n2 = static_cast<int>(objects[right].size());
  std::vector<int> index[2];
  for (const int s : {left, right}) {
    index[s].assign(state.objects(), -1);
    for (std::size_t k = 0; k < objects[s].size(); ++k) index[s][objects[s][k]] = static_cast<int>(k);
  }
  std::vector<std::pair<int, int>> pairs;  // graph of the left, graph of the right
  for (const GraphPair& e : state.problem.pairs) {
    if (side[e.p] == left && side[e.q] == right) pairs.push_back({e.p, e.q});
    if (side[e.p] == right && side[e.q] == left) pairs.push_back({e.q, e.p});
  }
  // Objects may be matched when all their members may, and when some pair of graphs has a say in it.
  std::vector<int> from, to;
  std::vector<double> cost;
  std::vector<int> place(static_cast<std::size_t>(n1) * n2, -1);
  for (int k = 0; k < n1; ++k)
    for (int l = 0; l < n2; ++l) {
      double sum = 0;
      bool any = false, allowed = true;
      for (const auto& [p, q] : pairs) {
        const int i = state.member(objects[left][k], p), j = state.member(objects[right][l], q);
        if (i < 0 || j < 0) continue;
        const int a = state.problem.find(p, i, q, j);
        any = true;
        allowed = allowed && a >= 0;
        if (!allowed) break;
        sum += state.cost(state.problem.pair(p, q), a);
      }
      if (!any || !allowed) continue;
      place[static_cast<std::size_t>(k) * n2 + l] = static_cast<int>(cost.size());
      from.push_back(k);
      to.push_back(l);
      cost.push_back(sum);
    }
  std::vector<Term> terms;
  std::vector<int> image;
  for (const auto& [p, q] : pairs) {
    const Problem& problem = *state.problem.pairs[state.problem.pair(p, q)].problem;
    image.resize(problem.size());
    for (int a = 0; a < problem.size(); ++a) {
      const int i = p < q ? problem.left[a] : problem.right[a], j = p < q ? problem.right[a] : problem.left[a];
      image[a] =
          place[static_cast<std::size_t>(index[left][state.object(p, i)]) * n2 + index[right][state.object(q, j)]];
    }
    for (const Term& t : problem.terms) {
      const int a = image[t.a], b = image[t.b];
      if (a >= 0 && b >= 0) terms.push_back({std::min(a, b), std::max(a, b), t.cost});
    }
  }
  const int n = static_cast<int>(cost.size());
  return Problem(n1, n2, std::move(from), std::move(to), std::move(cost), sorted_sums(std::move(terms), n));
}

}  // namespace

bool Rematch::rematch(const std::vector<int>& side, bool solving) {
  std::vector<int> objects[2];
  std::vector<int> before;  // place on the right of an object that is on both sides, or -1
  for (int o = 0; o < state_.objects(); ++o) {
    bool on[2] = {false, false};
    for (int p = 0; p < state_.problem.graphs(); ++p)
      if (side[p] >= 0 && state_.member(o, p) >= 0) on[side[p]] = true;
    if (on[left]) before.push_back(on[right] ? static_cast<int>(objects[right].size()) : -1);
    for (const int s : {left, right})
      if (on[s]) objects[s].push_back(o);
  }
  const Problem problem = matching_problem(state_, side, objects);
  if (problem.size() == 0) return false;
  std::vector<int> start(before);
  for (int k = 0; k < problem.n1; ++k)  // together without a pair that has a say: as good as apart
    if (start[k] >= 0 && problem.find(k, start[k]) < 0) start[k] = -1;
  LocalSearch search(problem);
  search.start(start);
  const double present = search.value();
  search.descend();
  std::vector<int> after = search.best();
  double value = search.best_value();
  if (solving && !(value - present < state_.least_change())) {
    const Result result = solve(problem, options_);
    after = result.assignment;
    value = result.objective;
    work_ += (fixed_sweeps + result.iterations) * table_entries(problem);
  }
  if (!(value - present < state_.least_change())) return false;
  apply(side, objects, before, after);
  return true;
}

bool Rematch::rematch_graph(int p, bool solving) {
  std::vector<int> side(state_.problem.graphs(), right);
  side[p] = left;
  return rematch(side, solving);
}

void Rematch::apply(const std::vector<int>& side, const std::vector<int> (&objects)[2], const std::vector<int>& before,
                    const std::vector<int>& after) {
  // First everything that changes comes apart, then it is put together.
  std::vector<int> parts(objects[left]);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (before[k] < 0 || before[k] == after[k]) continue;
    const int whole = parts[k];
    parts[k] = state_.free_object();
    for (int p = 0; p < state_.problem.graphs(); ++p)
      if (const int i = state_.member(whole, p); side[p] == left && i >= 0) {
        state_.detach(p, i);
        state_.attach(p, i, parts[k]);
      }
  }
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (after[k] >= 0 && before[k] != after[k]) state_.merge(parts[k], objects[right][after[k]]);
}

}  // namespace gm
