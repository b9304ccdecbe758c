"""Builds and runs the solver's C++ unit tests, plain and under sanitizers; skips where a tool for it is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest


def build(solver_folder: Path, folder: Path, *options: str) -> Path:
    """The unit tests, built in `folder`."""
    if shutil.which("cmake") is None or not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        pytest.skip("C++ unit tests: cmake or a C++ compiler is missing (apt-get install cmake g++)")
    configure = ["cmake", "-S", str(solver_folder), "-B", str(folder), "-DBBGM_SOLVER_PYTHON=OFF"]
    output = subprocess.run(
        [*configure, "-DBBGM_SOLVER_TESTS=ON", *options], check=True, capture_output=True, text=True
    ).stdout
    if "doctest/doctest.h was not found" in output:
        pytest.skip("C++ unit tests: doctest is missing (apt-get install doctest-dev)")
    subprocess.run(["cmake", "--build", folder, "--parallel", "2"], check=True, capture_output=True, timeout=3600)
    return folder / "gm_tests"


def test_core(solver_folder: Path, tmp_path: Path) -> None:
    run = subprocess.run([build(solver_folder, tmp_path)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout


def can_sanitize(folder: Path) -> bool:
    source = folder / "empty.cpp"
    source.write_text("int main() { return 0; }\n")
    compiler = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    if compiler is None:
        return False
    command = [compiler, "-fsanitize=address,undefined", str(source), "-o", str(folder / "empty")]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
def test_core_under_sanitizers(solver_folder: Path, tmp_path: Path) -> None:
    if not can_sanitize(tmp_path):
        pytest.skip("C++ unit tests under sanitizers: the compiler's libasan and libubsan are missing")
    program = build(solver_folder, tmp_path / "build", "-DBBGM_SOLVER_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    run = subprocess.run([program], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
