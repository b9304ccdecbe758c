// The parts of the Python module.
#pragma once

#include <pybind11/pybind11.h>

void bind_problem(pybind11::module_& m);
void bind_solve(pybind11::module_& m);
void bind_batch(pybind11::module_& m);
void bind_multi(pybind11::module_& m);
