// Problems in the dense form of BB-GM. A training step makes new problems each time: this is written for speed.
#include <algorithm>
#include <new>
#include <utility>

#include "bbgm_solver/problem.hpp"
#include "core/available.hpp"
#include "pair/need.hpp"

namespace gm {

namespace {

// A neighbour of a node, with the edges to it and from it; 0 where there is none.
struct End {
  int node, out, in;
  bool has_out, has_in;
};

// Neighbours of each node, by their numbers.
struct Graph {
  std::vector<int> start;
  std::vector<End> ends;

  Graph(int n, int n_edges, const std::int64_t* edges) : start(n + 1, 0) {
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
};

struct Terms {
  std::vector<Term> terms;
  std::vector<int> adj_start;
  std::vector<Neighbour> adj;
};

// Terms come out in order: an assignment's partners are pairs of neighbours of its nodes. Entries of opposite
// directions are paid together and add up. index: (n1, n2) number of an assignment, or -1.
template <class T>
Terms terms_of(int n2, const std::vector<int>& left, const std::vector<int>& right, const std::vector<int>& index,
               const Graph& graph1, const Graph& graph2, const T* quadratic, std::size_t e2) {
  Terms result;
  const std::size_t most = graph1.ends.size() * graph2.ends.size();
  if (static_cast<double>(most) > max_neighbours) throw std::bad_alloc();
  memory::demand(most * (sizeof(Neighbour) + sizeof(Term) / 2));
  result.adj.resize(most + 1);
  result.adj_start.reserve(left.size() + 1);
  result.adj_start.push_back(0);
  Neighbour* at = result.adj.data();  // what is written there is kept by moving on
  std::size_t above = 0;
  std::vector<int> first_above(left.size());
  for (std::size_t a = 0; a < left.size(); ++a) {
    const int i = left[a], j = right[a];
    const End *begin = graph2.ends.data() + graph2.start[j], *end = graph2.ends.data() + graph2.start[j + 1];
    first_above[a] = -1;
    for (int s = graph1.start[i]; s < graph1.start[i + 1]; ++s) {
      const End first = graph1.ends[s];
      const T* out = quadratic + static_cast<std::size_t>(first.out) * e2;
      const T* in = quadratic + static_cast<std::size_t>(first.in) * e2;
      const int* row = index.data() + static_cast<std::size_t>(first.node) * n2;
      if (first.node > i && first_above[a] < 0) first_above[a] = static_cast<int>(at - result.adj.data());
      for (const End* second = begin; second < end; ++second) {
        const bool with_out = first.has_out & second->has_out, with_in = first.has_in & second->has_in;
        const double there = out[second->out], back = in[second->in];
        const int b = row[second->node];
        *at = {b, (with_out ? there : 0.0) + (with_in ? back : 0.0)};
        at += (with_out | with_in) & (b >= 0);
      }
    }
    const int size = static_cast<int>(at - result.adj.data());
    result.adj_start.push_back(size);
    if (first_above[a] < 0) first_above[a] = size;
    above += size - first_above[a];
  }
  result.adj.resize(result.adj_start.back());
  result.terms.resize(above);
  Term* term = result.terms.data();
  for (std::size_t a = 0; a < left.size(); ++a)
    for (int k = first_above[a]; k < result.adj_start[a + 1]; ++k)
      *term++ = {static_cast<int>(a), result.adj[k].a, result.adj[k].cost};
  return result;
}

Problem make(int n1, int n2, Costs unary, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2,
             Costs quadratic, const bool* allowed) {
  const std::size_t cells = static_cast<std::size_t>(n1) * n2;
  std::vector<int> left, right, index(cells, -1);
  std::vector<double> cost;
  left.reserve(cells);
  right.reserve(cells);
  cost.reserve(cells);
  const auto add_all = [&](const auto* costs) {
    for (int i = 0; i < n1; ++i)
      for (int j = 0; j < n2; ++j) {
        const std::size_t at = static_cast<std::size_t>(i) * n2 + j;
        if (allowed && !allowed[at]) continue;
        index[at] = static_cast<int>(cost.size());
        left.push_back(i);
        right.push_back(j);
        cost.push_back(costs[at]);
      }
  };
  std::visit(add_all, unary);
  if (e1 == 0 || e2 == 0) return Problem(n1, n2, std::move(left), std::move(right), std::move(cost), {});
  const Graph graph1(n1, e1, edges1), graph2(n2, e2, edges2);
  Terms t = std::visit([&](const auto* costs) { return terms_of(n2, left, right, index, graph1, graph2, costs, e2); },
                       quadratic);
  return Problem(n1, n2, std::move(left), std::move(right), std::move(cost), std::move(t.terms), std::move(t.adj_start),
                 std::move(t.adj));
}

// Ends of a graph's edges as `Graph` has them: two for each two nodes with an edge, whatever its direction.
double neighbours(int n_edges, const std::int64_t* edges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (int e = 0; e < n_edges; ++e) pairs.emplace_back(std::minmax(edges[2 * e], edges[2 * e + 1]));
  std::sort(pairs.begin(), pairs.end());
  return 2.0 * static_cast<double>(std::unique(pairs.begin(), pairs.end()) - pairs.begin());
}

}  // namespace

Problem from_dense(int n1, int n2, Costs unary, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2,
                   Costs quadratic, const bool* allowed) {
  try {
    return make(n1, n2, unary, e1, edges1, e2, edges2, quadratic, allowed);
  } catch (const std::bad_alloc&) {
    throw too_large_to_make(n1, n2, e1, e2, neighbours(e1, edges1) * neighbours(e2, edges2));
  }
}

}  // namespace gm
