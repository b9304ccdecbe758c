// solve_multi for Python; the arguments were checked in bbgm_solver/multi.py.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "bbgm_solver/solve_multi.hpp"
#include "bind.hpp"
#include "signals.hpp"

namespace py = pybind11;

namespace {

using Pair = std::tuple<int, int, const gm::Problem*>;

py::tuple solve_multi(const std::vector<int>& size, const std::vector<Pair>& pairs, const gm::Options& pair_options,
                      int method, int starts, std::uint64_t seed, int max_iterations, int round_every, int threads) {
  std::vector<gm::GraphPair> graph_pairs;
  for (const auto& [p, q, problem] : pairs) graph_pairs.push_back({p, q, problem});
  gm::MultiOptions options;
  options.method = static_cast<gm::MultiMethod>(method);
  options.pair = pair_options;
  options.starts = starts;
  options.seed = seed;
  options.max_iterations = max_iterations;
  options.round_every = round_every;
  options.threads = threads;
  const gm::MultiProblem problem(size, std::move(graph_pairs));
  const gm::MultiResult result = without_gil([&](const gm::GiveUp& give_up) {
    options.pair.give_up = &give_up;
    return gm::solve_multi(problem, options);
  });
  py::array_t<std::int32_t> cliques({result.cliques.size(), size.size()});
  std::int32_t* out = cliques.mutable_data();
  for (const std::vector<int>& clique : result.cliques) out = std::copy(clique.begin(), clique.end(), out);
  return py::make_tuple(cliques, result.objective, result.lower_bound, result.optimal, result.stop_reason);
}

}  // namespace

void bind_multi(py::module_& m) { m.def("solve_multi", &solve_multi); }
