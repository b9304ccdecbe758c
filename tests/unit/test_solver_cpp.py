"""Builds and runs the solver's C++ unit tests; skips where cmake, a compiler or doctest is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest


def test_core(project: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None or not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        pytest.skip("C++ unit tests: cmake or a C++ compiler is missing (apt-get install cmake g++)")
    configure = [
        "cmake",
        "-S",
        project / "solver_src",
        "-B",
        tmp_path,
        "-DBBGM_SOLVER_PYTHON=OFF",
        "-DBBGM_SOLVER_TESTS=ON",
    ]
    output = subprocess.run(configure, check=True, capture_output=True, text=True).stdout
    if "doctest/doctest.h was not found" in output:
        pytest.skip("C++ unit tests: doctest is missing (apt-get install doctest-dev)")
    subprocess.run(["cmake", "--build", tmp_path], check=True, capture_output=True, timeout=600)
    run = subprocess.run([tmp_path / "gm_tests"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout
