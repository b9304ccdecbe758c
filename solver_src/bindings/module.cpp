// Python module bbgm_solver._core.
#include "bind.hpp"

PYBIND11_MODULE(_core, m) {
  m.doc() = "Compiled core of bbgm_solver.";
  bind_problem(m);
  bind_solve(m);
  bind_batch(m);
  bind_multi(m);
}
