// Problem for Python: made from arrays, shown as arrays, pickled.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>

#include "bind.hpp"
#include "build.hpp"

namespace py = pybind11;

namespace {

using gm::Problem;

template <class T, class F>
py::array_t<T> table(std::size_t rows, F&& entry) {
  py::array_t<T> out({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(2)});
  auto view = out.template mutable_unchecked<2>();
  for (std::size_t k = 0; k < rows; ++k) {
    const auto [first, second] = entry(k);
    view(k, 0) = first;
    view(k, 1) = second;
  }
  return out;
}

py::array_t<std::int64_t> assignments_of(const Problem& p) {
  return table<std::int64_t>(p.cost.size(), [&](std::size_t a) { return std::pair(p.left[a], p.right[a]); });
}

py::array_t<std::int64_t> terms_of(const Problem& p) {
  return table<std::int64_t>(p.terms.size(), [&](std::size_t t) { return std::pair(p.terms[t].a, p.terms[t].b); });
}

py::array_t<double> costs_of(const Problem& p) {
  return py::array_t<double>(static_cast<py::ssize_t>(p.cost.size()), p.cost.data());
}

py::array_t<double> unmatched_of(const std::vector<double>& costs, int n) {
  py::array_t<double> out(n);
  if (costs.empty())
    std::fill_n(out.mutable_data(), n, 0.0);
  else
    std::copy(costs.begin(), costs.end(), out.mutable_data());
  return out;
}

py::array_t<double> unmatched1_of(const Problem& p) { return unmatched_of(p.unmatched1, p.n1); }
py::array_t<double> unmatched2_of(const Problem& p) { return unmatched_of(p.unmatched2, p.n2); }

py::array_t<double> term_costs_of(const Problem& p) {
  py::array_t<double> out(static_cast<py::ssize_t>(p.terms.size()));
  auto view = out.mutable_unchecked<1>();
  for (std::size_t t = 0; t < p.terms.size(); ++t) view(t) = p.terms[t].cost;
  return out;
}

}  // namespace

void bind_problem(py::module_& m) {
  py::class_<Problem>(
      m, "Problem",
      R"(A graph matching instance, costs minimised; any node may stay unmatched, at no cost unless one is given.

Args:
    unary: (n1, n2) cost of matching node i of graph 1 to node j of graph 2, c^v in the BB-GM paper.
    edges1: (E1, 2) directed edges of graph 1, integers in [0, n1), each once, no self-loops.
    edges2: (E2, 2) directed edges of graph 2.
    quadratic: (E1, E2) c^e in the BB-GM paper; quadratic[e, f] is paid when edges1[e][0] is matched to edges2[f][0] and
        edges1[e][1] to edges2[f][1]. Entries of opposite directions add up.
    allowed: (n1, n2) bool, optional; False forbids a match.
    unmatched1: (n1,) optional; unmatched1[i] is paid when node i of graph 1 stays unmatched. The empty matching then
        costs the sum of unmatched1 and unmatched2.
    unmatched2: (n2,) the same for graph 2.

Costs may have any real dtype and strides. Contiguous float64 and float32 is read in place, and no array is kept.

Raises:
    ValueError: wrong shape, NaN or infinity, node out of range, duplicate edge, self-loop; names argument and position.
    TypeError: not a real number where a cost is expected, not an integer where a node is.)")
      .def(py::init(&build::dense), py::arg("unary"), py::arg("edges1"), py::arg("edges2"), py::arg("quadratic"),
           py::kw_only(), py::arg("allowed") = py::none(), py::arg("unmatched1") = py::none(),
           py::arg("unmatched2") = py::none())
      .def_static("sparse", &build::sparse, py::arg("n1"), py::arg("n2"), py::arg("assignments"), py::arg("costs"),
                  py::arg("terms"), py::arg("term_costs"), py::kw_only(), py::arg("unmatched1") = py::none(),
                  py::arg("unmatched2") = py::none(),
                  R"(A problem given by its allowed assignments and pairwise terms, the content of a .dd file.

Args:
    n1, n2: numbers of nodes.
    assignments: (A, 2) allowed pairs (i, j), each once; a pair that is missing is forbidden.
    costs: (A,) their costs.
    terms: (T, 2) unordered pairs of rows of `assignments`; pairs that occur twice add up, pairs that share a node
        can never be paid and are left out.
    term_costs: (T,) their costs.
    unmatched1, unmatched2: (n1,), (n2,) optional costs of staying unmatched.)")
      .def_readonly("n1", &Problem::n1, "Nodes of graph 1.")
      .def_readonly("n2", &Problem::n2, "Nodes of graph 2.")
      .def_property_readonly("n_assignments", &Problem::size, "Allowed assignments, A.")
      .def_property_readonly(
          "n_terms", [](const Problem& p) { return p.terms.size(); }, "Pairwise terms, T.")
      .def_property_readonly("assignments", &assignments_of, "(A, 2) int64 allowed pairs (i, j), sorted.")
      .def_property_readonly("costs", &costs_of, "(A,) float64, as given.")
      .def_property_readonly("terms", &terms_of, "(T, 2) int64 unordered pairs of rows of `assignments`, sorted.")
      .def_property_readonly("term_costs", &term_costs_of, "(T,) float64.")
      .def_property_readonly("unmatched1", &unmatched1_of, "(n1,) float64 cost of staying unmatched, zeros by default.")
      .def_property_readonly("unmatched2", &unmatched2_of, "(n2,) float64.")
      .def("__repr__",
           [](const Problem& p) {
             return "Problem(n1=" + std::to_string(p.n1) + ", n2=" + std::to_string(p.n2) +
                    ", n_assignments=" + std::to_string(p.size()) + ", n_terms=" + std::to_string(p.terms.size()) +
                    (p.unmatched1.empty() && p.unmatched2.empty() ? ")" : ", with costs of unmatched nodes)");
           })
      // Protocols 0 and 1 would make the instance in a way that ends the process.
      .def("__reduce_ex__",
           [](const py::object& self, int protocol) {
             return py::module_::import("builtins").attr("object").attr("__reduce_ex__")(self, std::max(protocol, 2));
           })
      .def(py::pickle(
          [](const Problem& p) {
            return py::make_tuple(p.n1, p.n2, assignments_of(p), costs_of(p), terms_of(p), term_costs_of(p),
                                  unmatched1_of(p), unmatched2_of(p));
          },
          [](const py::tuple& t) {
            return build::sparse(t[0].cast<int>(), t[1].cast<int>(), t[2], t[3], t[4], t[5], t[6], t[7]);
          }));

  // An instance that was made without __init__ is an empty problem, not what happens to be in memory.
  py::detail::get_type_info(typeid(Problem))->operator_new = [](std::size_t) -> void* {
    return new Problem(0, 0, {}, {}, {}, {});
  };
}
