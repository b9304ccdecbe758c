// Many problems in threads, the largest first.
#include <algorithm>
#include <numeric>

#include "bbgm_solver/dense_batch.hpp"
#include "bbgm_solver/solve.hpp"
#include "pair/dense.hpp"
#include "pair/threads.hpp"

namespace gm {

namespace {

// 0 .. n - 1, the largest weight first.
template <class Weight>
std::vector<int> largest_first(int n, const Weight& weight) {
  std::vector<double> weights(n);
  for (int k = 0; k < n; ++k) weights[k] = weight(k);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int s, int t) { return weights[s] > weights[t]; });
  return order;
}

// Memory that a thread need not keep for the next problem.
struct Forget {
  DenseMaker& maker;
  ~Forget() {
    if (maker.bytes() > std::size_t(32) << 20) maker = DenseMaker();
  }
};

// 1 where nodes, and edges of either graph, are matched to each other.
void indicate(const DenseGraphs& graphs, const std::vector<int>& assignment, double* matched, double* matched_edges) {
  std::fill_n(matched, static_cast<std::size_t>(graphs.n1) * graphs.n2, 0.0);
  std::fill_n(matched_edges, static_cast<std::size_t>(graphs.e1) * graphs.e2, 0.0);
  for (int i = 0; i < graphs.n1; ++i) {
    const int j = assignment[i];
    if (j < 0) continue;
    matched[static_cast<std::size_t>(i) * graphs.n2 + j] = 1;
    for (int s = graphs.graph1.start[i]; s < graphs.graph1.start[i + 1]; ++s) {
      const End& end1 = graphs.graph1.ends[s];
      const int other = assignment[end1.node];
      if (!end1.has_out || other < 0) continue;
      for (int t = graphs.graph2.start[j]; t < graphs.graph2.start[j + 1]; ++t) {
        const End& end2 = graphs.graph2.ends[t];
        if (end2.node == other && end2.has_out)
          matched_edges[static_cast<std::size_t>(end1.out) * graphs.e2 + end2.out] = 1;
      }
    }
  }
}

}  // namespace

std::vector<Result> solve_batch(const std::vector<const Problem*>& problems, const Options& options, int threads) {
  const int n = static_cast<int>(problems.size());
  std::vector<Result> results(n);
  const std::vector<int> order = largest_first(n, [&](int k) {  // by estimated work
    const Problem& p = *problems[k];
    return static_cast<double>(p.terms.size()) * (p.n1 + p.n2) + p.size();
  });
  in_threads(n, options, threads,
             [&](int k, const Options& own) { results[order[k]] = solve(*problems[order[k]], own); });
  return results;
}

void DenseBatch::add(int n1, int n2, int e1, const std::int64_t* edges1, int e2, const std::int64_t* edges2) {
  graphs_.emplace_back(n1, n2, e1, edges1, e2, edges2);
}

void DenseBatch::solve(std::vector<DenseTask>& tasks, const Options& options, int threads) const {
  const int n = static_cast<int>(tasks.size());
  const std::vector<int> order = largest_first(n, [&](int k) {
    const DenseGraphs& g = graphs_[tasks[k].problem];
    const double terms = static_cast<double>(g.graph1.ends.size()) * static_cast<double>(g.graph2.ends.size());
    return terms * (g.n1 + g.n2) + static_cast<double>(g.n1) * g.n2;
  });
  in_threads(n, options, threads, [&](int k, const Options& own) {
    static thread_local DenseMaker maker;
    const Forget forget{maker};
    DenseTask& task = tasks[order[k]];
    const DenseGraphs& graphs = graphs_[task.problem];
    const Result result = gm::solve(maker.make(graphs, task.unary, task.quadratic), own);
    if (task.assignment) std::copy(result.assignment.begin(), result.assignment.end(), task.assignment);
    if (task.matched) indicate(graphs, result.assignment, task.matched, task.matched_edges);
    task.objective = result.objective;
    task.lower_bound = result.lower_bound;
    task.optimal = result.optimal;
    task.iterations = result.iterations;
    task.stop_reason = result.stop_reason;
  });
}

}  // namespace gm
