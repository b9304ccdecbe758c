// Problems in the dense form of BB-GM. A training step makes new problems each time: this is written for speed.
#include "pair/dense.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/available.hpp"
#include "pair/need.hpp"

namespace gm {

namespace {

// Ends of a graph's edges as `Neighbours` has them: two for each two nodes with an edge, whatever its direction.
double count_ends(int n_edges, const std::int64_t* edges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (int e = 0; e < n_edges; ++e) pairs.emplace_back(std::minmax(edges[2 * e], edges[2 * e + 1]));
  std::sort(pairs.begin(), pairs.end());
  return 2.0 * static_cast<double>(std::unique(pairs.begin(), pairs.end()) - pairs.begin());
}

}  // namespace

Neighbours::Neighbours(int n, int n_edges, const std::int64_t* edges) : start(n + 1, 0) {
  if (n_edges == 0) return;
  const std::size_t width = static_cast<std::size_t>(n);
  std::vector<int> edge(width * width, -1);
  for (int e = 0; e < n_edges; ++e) edge[static_cast<std::size_t>(edges[2 * e]) * width + edges[2 * e + 1]] = e;
  ends.reserve(2 * static_cast<std::size_t>(n_edges));
  for (int s = 0; s < n; ++s) {
    for (int t = 0; t < n; ++t) {
      const int out = edge[s * width + t], in = edge[t * width + s];
      if (out >= 0 || in >= 0) ends.push_back({t, std::max(out, 0), std::max(in, 0), out >= 0, in >= 0});
    }
    start[s + 1] = static_cast<int>(ends.size());
  }
}

DenseGraphs::DenseGraphs(int n1_, int n2_, int e1_, const std::int64_t* edges1, int e2_, const std::int64_t* edges2)
    : n1(n1_), n2(n2_), e1(e1_), e2(e2_), graph1(n1, e2 > 0 ? e1 : 0, edges1), graph2(n2, e1 > 0 ? e2 : 0, edges2) {}

void DenseMaker::add_assignments(const DenseGraphs& graphs, CostRows unary, const bool* allowed) {
  Problem& p = problem_;
  const std::size_t cells = static_cast<std::size_t>(graphs.n1) * graphs.n2;
  p.n1 = graphs.n1;
  p.n2 = graphs.n2;
  p.left.clear();
  p.right.clear();
  p.cost.clear();
  p.left.reserve(cells);
  p.right.reserve(cells);
  p.cost.reserve(cells);
  index_.assign(cells, -1);
  const auto add_all = [&](const auto* row) {
    for (int i = 0; i < p.n1; ++i, row += unary.step)
      for (int j = 0; j < p.n2; ++j) {
        const std::size_t at = static_cast<std::size_t>(i) * p.n2 + j;
        if (allowed && !allowed[at]) continue;
        index_[at] = static_cast<int>(p.cost.size());
        p.left.push_back(i);
        p.right.push_back(j);
        p.cost.push_back(row[j]);
      }
  };
  std::visit(add_all, unary.first);
}

// Terms come out in order: an assignment's partners are pairs of neighbours of its nodes. Entries of opposite
// directions are paid together and add up.
template <class T>
void DenseMaker::add_terms(const DenseGraphs& graphs, const T* quadratic, std::size_t step) {
  Problem& p = problem_;
  const std::size_t most = graphs.graph1.ends.size() * graphs.graph2.ends.size();
  if (static_cast<double>(most) > max_neighbours) throw std::bad_alloc();
  if (p.adj.capacity() <= most) memory::demand(most * (sizeof(Neighbour) + sizeof(Term) / 2));
  p.adj.resize(most + 1);
  p.adj_start.clear();
  p.adj_start.reserve(p.left.size() + 1);
  p.adj_start.push_back(0);
  Neighbour* at = p.adj.data();  // what is written there is kept by moving on
  std::size_t above = 0;
  first_above_.assign(p.left.size(), -1);
  for (std::size_t a = 0; a < p.left.size(); ++a) {
    const int i = p.left[a], j = p.right[a];
    const End* begin = graphs.graph2.ends.data() + graphs.graph2.start[j];
    const End* end = graphs.graph2.ends.data() + graphs.graph2.start[j + 1];
    for (int s = graphs.graph1.start[i]; s < graphs.graph1.start[i + 1]; ++s) {
      const End first = graphs.graph1.ends[s];
      const T* out = quadratic + static_cast<std::size_t>(first.out) * step;
      const T* in = quadratic + static_cast<std::size_t>(first.in) * step;
      const int* row = index_.data() + static_cast<std::size_t>(first.node) * p.n2;
      if (first.node > i && first_above_[a] < 0) first_above_[a] = static_cast<int>(at - p.adj.data());
      for (const End* second = begin; second < end; ++second) {
        const bool with_out = first.has_out & second->has_out, with_in = first.has_in & second->has_in;
        const double there = out[second->out], back = in[second->in];
        const int b = row[second->node];
        *at = {b, (with_out ? there : 0.0) + (with_in ? back : 0.0)};
        at += (with_out | with_in) & (b >= 0);
      }
    }
    const int size = static_cast<int>(at - p.adj.data());
    p.adj_start.push_back(size);
    if (first_above_[a] < 0) first_above_[a] = size;
    above += size - first_above_[a];
  }
  p.adj.resize(p.adj_start.back());
  p.terms.resize(above);
  Term* term = p.terms.data();
  for (std::size_t a = 0; a < p.left.size(); ++a)
    for (int k = first_above_[a]; k < p.adj_start[a + 1]; ++k)
      *term++ = {static_cast<int>(a), p.adj[k].a, p.adj[k].cost};
}

const Problem& DenseMaker::make(const DenseGraphs& graphs, CostRows unary, CostRows quadratic, const bool* allowed) {
  try {
    add_assignments(graphs, unary, allowed);
    if (graphs.e1 == 0 || graphs.e2 == 0) {
      problem_.terms.clear();
      problem_.adj.clear();
      problem_.adj_start.assign(problem_.size() + 1, 0);
    } else {
      std::visit([&](const auto* costs) { add_terms(graphs, costs, quadratic.step); }, quadratic.first);
    }
    problem_.unmatched1.clear();
    problem_.unmatched2.clear();
    problem_.index_assignments();
    return problem_;
  } catch (const std::bad_alloc&) {
    const double ends = static_cast<double>(graphs.graph1.ends.size()) * static_cast<double>(graphs.graph2.ends.size());
    throw too_large_to_make(graphs.n1, graphs.n2, graphs.e1, graphs.e2, ends);
  }
}

Problem from_dense(int n1, int n2, Costs unary, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2,
                   Costs quadratic, const bool* allowed) {
  try {
    DenseMaker maker;
    maker.make(DenseGraphs(n1, n2, e1, edges1, e2, edges2), {unary, static_cast<std::size_t>(n2)},
               {quadratic, static_cast<std::size_t>(e2)}, allowed);
    return maker.take();
  } catch (const TooLarge&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw too_large_to_make(n1, n2, e1, e2, count_ends(e1, edges1) * count_ends(e2, edges2));
  }
}

}  // namespace gm
