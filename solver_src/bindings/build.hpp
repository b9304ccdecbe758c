// Problems and matchings from what Python hands over; errors name the argument and the position.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "bbgm_solver/problem.hpp"

namespace build {

namespace py = pybind11;

// The dense form; `allowed`, `unmatched1` and `unmatched2` may be None.
gm::Problem dense(const py::handle& unary, const py::handle& edges1, const py::handle& edges2,
                  const py::handle& quadratic, const py::handle& allowed, const py::handle& unmatched1,
                  const py::handle& unmatched2);

// Lists of assignments and terms in any order.
gm::Problem sparse(std::int64_t n1, std::int64_t n2, const py::handle& assignments, const py::handle& costs,
                   const py::handle& terms, const py::handle& term_costs, const py::handle& unmatched1,
                   const py::handle& unmatched2);

// A matching of allowed assignments, (n1,) with -1 for an unmatched node.
std::vector<int> matching(const py::handle& assignment, const gm::Problem& problem);

}  // namespace build
