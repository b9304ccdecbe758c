// Checks of the arrays that come from Python. Every error names the argument, the position and what is allowed.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "bbgm_solver/problem.hpp"

namespace check {

namespace py = pybind11;

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Integers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Mask = py::array_t<bool, py::array::c_style | py::array::forcecast>;

// "name[3, 1]".
std::string position(const std::string& name, std::initializer_list<py::ssize_t> index);

py::array as_array(const py::handle& value, const std::string& name);
// `symbols` is the shape in words, such as "(n1, n2)".
void shape(const py::array& a, const std::string& name, std::vector<py::ssize_t> want, const char* symbols);
// A number of nodes.
int count(py::ssize_t n, const std::string& name);

// Which matches are allowed, as contiguous bool.
Mask mask(const py::handle& value, const char* name);

// Costs where their owner has them, or in a copy where that is none of float64 and float32 in one block.
struct CostArray {
  py::array array;
  gm::Costs data;
};

// Real numbers of the given dimension, which may be NaN or infinite.
CostArray cost_table(const py::handle& value, const char* name, py::ssize_t ndim);
// Entries start .. start + n - 1 are finite, and not too large. `where` names entry start + k.
void finite(const gm::Costs& costs, std::size_t start, py::ssize_t n,
            const std::function<std::string(py::ssize_t)>& where);
// Finite real numbers of the given dimension.
CostArray cost_array(const py::handle& value, const char* name, py::ssize_t ndim);
// The same as contiguous float64.
Doubles costs(const py::handle& value, const char* name, py::ssize_t ndim);

// (K, 2) integers, the first column in [0, limit1), the second in [0, limit2).
Integers pairs(const py::handle& value, const char* name, std::int64_t limit1, std::int64_t limit2);
// No two rows are the same.
void no_repeats(const Integers& pairs, const char* name, std::int64_t n1, std::int64_t n2);
// (E, 2) directed edges between n nodes, each once, no self-loops.
Integers edges(const py::handle& value, const char* name, std::int64_t n);
// The same of rows that lie in memory already.
void edges(const std::int64_t* nodes, py::ssize_t rows, const std::string& name, std::int64_t n);

}  // namespace check
