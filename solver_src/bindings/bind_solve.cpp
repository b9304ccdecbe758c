// solve, trace, solve_batch and evaluate for Python: the GIL is released, results are copied out. The options were
// checked in bbgm_solver/arguments.py.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "bbgm_solver/solve.hpp"
#include "bind.hpp"
#include "build.hpp"
#include "signals.hpp"

namespace py = pybind11;

namespace {

using gm::Options;
using gm::Problem;
using gm::Result;

py::tuple to_python(const Result& r) {
  py::array_t<std::int32_t> assignment(static_cast<py::ssize_t>(r.assignment.size()));
  std::copy(r.assignment.begin(), r.assignment.end(), assignment.mutable_data());
  return py::make_tuple(assignment, r.objective, r.lower_bound, r.optimal, r.iterations, r.stop_reason);
}

py::array_t<double> to_table(const std::vector<gm::TracePoint>& points) {
  py::array_t<double> out({static_cast<py::ssize_t>(points.size()), py::ssize_t{4}});
  auto view = out.mutable_unchecked<2>();
  for (std::size_t k = 0; k < points.size(); ++k) {
    view(k, 0) = points[k].iterations;
    view(k, 1) = points[k].lower_bound;
    view(k, 2) = points[k].objective;
    view(k, 3) = points[k].seconds;
  }
  return out;
}

Options make_options(int method, int effort, bool full, int max_iterations, int round_every, double tolerance) {
  Options options;
  options.method = static_cast<gm::Method>(method);
  options.effort = static_cast<gm::Effort>(effort);
  options.full = full;
  options.max_iterations = max_iterations;
  options.round_every = round_every;
  options.tolerance = tolerance;
  return options;
}

}  // namespace

void bind_solve(py::module_& m) {
  py::class_<Options>(m, "Options")
      .def(py::init(&make_options), py::arg("method"), py::arg("effort"), py::arg("full"), py::arg("max_iterations"),
           py::arg("round_every"), py::arg("tolerance"));

  m.def("evaluate",
        [](const Problem& p, const py::handle& assignment) { return p.evaluate(build::matching(assignment, p)); });
  m.def("largest_matching", &gm::largest_matching);
  m.def("solve", [](const Problem& p, Options options) {
    return to_python(without_gil([&](const gm::GiveUp& give_up) {
      options.give_up = &give_up;
      return gm::solve(p, options);
    }));
  });
  m.def("trace", [](const Problem& p, Options options) {
    return to_table(without_gil([&](const gm::GiveUp& give_up) {
      options.give_up = &give_up;
      return gm::trace(p, options);
    }));
  });
  m.def("solve_batch", [](const std::vector<const Problem*>& problems, Options options, int threads) {
    const std::vector<Result> results = without_gil([&](const gm::GiveUp& give_up) {
      options.give_up = &give_up;
      return gm::solve_batch(problems, options, threads);
    });
    py::list out;
    for (const Result& r : results) out.append(to_python(r));
    return out;
  });
}
