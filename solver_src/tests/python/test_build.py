"""The compiled module: in which folders it can be built, and what it needs where it is used."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bbgm_solver import _core

linux = pytest.mark.skipif(sys.platform != "linux", reason="the C++ runtime is part of the module on Linux only")


def compiler() -> str:
    found = os.environ.get("CXX") or next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    return found or pytest.skip("no C++ compiler was found")


@linux
def test_it_needs_no_version_of_libstdcxx() -> None:
    """That of a conda environment may be older than the one of the compiler."""
    named = subprocess.run([compiler(), "-print-file-name=libstdc++.a"], capture_output=True, text=True).stdout.strip()
    if not Path(named).is_absolute():
        pytest.skip("the compiler has no static libstdc++")
    content = Path(_core.__file__).read_bytes()
    assert re.findall(rb"GLIBCXX_3[.0-9]*|CXXABI_1[.0-9]*|libstdc\+\+\.so[.0-9]*", content) == []


@linux
def test_it_shows_nothing_but_its_start() -> None:
    """So that its C++ runtime and that of the process, or pybind11's of torch, do not mix."""
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", _core.__file__]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["PyInit__core"]


RAISE = """
import {modules}
try:
    bbgm_solver.Problem(numpy.zeros((2, 2)), numpy.array([[0, 5]]), numpy.zeros((0, 2), int), numpy.zeros((1, 0)))
except ValueError as error:
    print("ValueError:", error)
"""


@pytest.mark.parametrize("modules", ["bbgm_solver", "torch, bbgm_solver", "bbgm_solver, torch"])
def test_exceptions_are_translated_beside_other_extensions(modules: str) -> None:
    """torch brings a C++ runtime and a pybind11 of its own."""
    if "torch" in modules:
        pytest.importorskip("torch")
    code = RAISE.format(modules=f"numpy, {modules}")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ValueError: ")


ODD = "-a b's (c) {d} $e & ü"
"""The name of a folder, with what shells and build systems treat specially."""


@pytest.mark.slow  # configures with CMake as pip does: 7 s
def test_it_is_built_in_folders_with_odd_names(solver_folder: Path, tmp_path: Path) -> None:
    """By pip, with empty source files: the commands are the same."""
    for tool in ("scikit_build_core", "pybind11", "pip"):
        pytest.importorskip(tool)
    compiler()
    folder = tmp_path / ODD
    folder.mkdir()
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "python", "include"):
        source = solver_folder / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    for name in re.findall(r"(?:src|bindings)/\S+\.cpp", (folder / "CMakeLists.txt").read_text()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    target = str(tmp_path / "installed")
    install = ["install", "--no-build-isolation", "--no-deps", "--no-index", "--target", target, "."]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "pip", *install],
        cwd=folder,
        env=os.environ | {"PATH": tools},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "installed" / "bbgm_solver").glob("_core*.so"))


def test_a_folder_that_cmake_cannot_use_is_named(solver_folder: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is missing")
    folder = tmp_path / "a;b"
    folder.mkdir()
    shutil.copy(solver_folder / "CMakeLists.txt", folder)
    command = ["cmake", "-S", str(folder), "-B", str(tmp_path / "build")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Move the checkout to a folder without one:" in " ".join(done.stderr.split())
    assert str(folder) in done.stderr
