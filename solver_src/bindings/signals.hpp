// Ctrl-C during a solve: Python's signal handlers run in its main thread, and only when they are asked for.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <limits>

#include "bbgm_solver/interrupt.hpp"

namespace py = pybind11;

// Runs `work(give_up)` without the GIL. `give_up` lets the pending handlers run, every 50 ms at most; when one raises,
// as that of Ctrl-C does, the work ends with its exception.
template <class Work>
auto without_gil(Work&& work) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds pause(50);
  Clock::time_point next = Clock::now() + pause;
  const gm::GiveUp give_up = [&next, pause] {
    if (Clock::now() < next) return false;
    const py::gil_scoped_acquire acquire;
    try {
      const py::object main = py::module_::import("threading").attr("main_thread")().attr("ident");
      const bool here = main.cast<unsigned long>() == PyThread_get_thread_ident();
      next = here ? Clock::now() + pause : Clock::time_point::max();
      return here && PyErr_CheckSignals() != 0;
    } catch (py::error_already_set& error) {  // a handler ran, and raised, within the Python code above
      error.restore();
      return true;
    }
  };
  try {
    const py::gil_scoped_release release;
    return work(give_up);
  } catch (const gm::Interrupted&) {
    throw py::error_already_set();
  }
}
