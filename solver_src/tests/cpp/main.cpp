// Unit tests of the solver without Python. Build: cmake -S solver_src -B build/solver -DBBGM_SOLVER_PYTHON=OFF
// -DBBGM_SOLVER_TESTS=ON
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
