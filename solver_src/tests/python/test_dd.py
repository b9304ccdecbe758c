"""read_dd and write_dd."""

import lzma
import os
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest
from support.problems import random_problem, same


@pytest.mark.parametrize("name", ["a.dd", "a.dd.xz"])
def test_round_trip_is_exact(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(0)
    problem = random_problem(rng, 4, 5)
    gm.write_dd(tmp_path / name, problem)
    assert same(gm.read_dd(tmp_path / name), problem)
    several = {(0, 1): problem, (0, 2): random_problem(rng, 4, 3), (1, 2): random_problem(rng, 5, 3)}
    gm.write_dd(tmp_path / name, several)
    read = gm.read_dd(tmp_path / name)
    assert isinstance(read, dict)
    assert list(read) == list(several)
    assert all(same(read[key], several[key]) for key in several)
    assert [path.name for path in tmp_path.iterdir()] == [name]  # no temporary file stays


def test_comments_and_coordinates_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.dd"
    path.write_text("c by hand\np 1 2 2 0\ni0 0 1.0 2.0\na 0 0 0 -1\n\na 1 0 1 -2.5\n")
    problem = gm.read_dd(path)
    assert isinstance(problem, gm.Problem)
    assert gm.solve(problem).assignment.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no 'p' line"),
        ("a 0 0 0 1\n", "line 1.*'a' before the first 'p' line"),
        ("p 1 1 1 0\na 0 0 0 x\n", "line 2: the cost of a match is 'x', expected a number"),
        ("p 1 1 1 0\na 0 0 0\n", "line 2: 4 words, expected 'a id left right cost'"),
        ("p 1 1 1 0\na 0 0 1 1\n", "line 2: the right node is 1, but nodes there are 0 to 0"),
        ("p 1 1 1 0\na 0 0 0 nan\n", "line 2: the cost of a match is nan: costs must be finite"),
        ("p 1 1 2 0\na 0 0 0 1\na 0 0 0 1\n", "line 3.*id 0 occurs twice"),
        ("p 1 1 1 1\na 0 0 0 1\ne 0 5 1\n", "line 3.*no assignment has the id 5"),
        ("p 1 1 0 0\nz 1\n", "line 2.*starts with 'z'"),
        ("p 1\n", "line 1"),
        ("p 1 1 2 0\na 0 0 0 1\n", "1 assignments and 0 terms, but .* announces 2 and 0: it is incomplete"),
        ("p 1 1 1 3\na 0 0 0 1\n", "announces 1 and 3"),
        ("p 1 1 0 0\na 0 0 0 1\n", "announces 0 and 0"),
        (f"p 1 {10**30} 0 0\n", "line 1.*is out of range"),
        (f"p 1 1 1 0\na 0 0 {10**30} 1\n", "line 2.*is out of range"),
        (f"p 1 1 1 0\na {10**30} 0 0 1\n", "line 2.*is out of range"),
        ("gm 1 0\np 1 1 0 0\n", "line 1.*'gm 1 0' is not a pair p < q"),
        ("p 1 1 0 0\np 1 1 0 0\n", "several 'p' lines without 'gm p q'"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.dd"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"(?s)broken\.dd.*{message}"):
        gm.read_dd(path)


def test_broken_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.dd.xz"
    path.write_bytes(lzma.compress(b"p 1 1 1 0\na 0 0 0 1\n" * 100)[:-20])
    with pytest.raises(ValueError, match=r"broken\.dd\.xz"):
        gm.read_dd(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        gm.read_dd(tmp_path / "absent.dd")
    with pytest.raises(FileNotFoundError):
        gm.write_dd(tmp_path / "absent" / "a.dd", random_problem(np.random.default_rng(0), 2, 2))


@pytest.mark.parametrize(
    ("problem", "error", "message"),
    [
        ({}, ValueError, "no problem to write"),
        ({(0, 1): 3}, TypeError, r"problem \(0, 1\) is a int, expected a Problem"),
    ],
)
def test_what_is_no_problem_is_not_written(tmp_path: Path, problem: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gm.write_dd(tmp_path / "a.dd", problem)
    assert list(tmp_path.iterdir()) == []


def test_wrong_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"key \(1, 0\)"):
        gm.write_dd(tmp_path / "a.dd", {(1, 0): random_problem(np.random.default_rng(0), 2, 2)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gm 0 1\ngm 0 2\np 1 1 0 0\n", "two 'gm' lines"),
        ("gm 0 1\np 1 1 0 0\ngm 0 2\n", "no 'p' line after the last 'gm' line"),
        ("gm 0 1\np 2 2 0 0\ngm 1 2\np 3 3 0 0\n", "graph 1 has 2 nodes"),
    ],
)
def test_broken_files_of_several_graphs_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.dd"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"broken\.dd.*{message}"):
        gm.read_dd(path)


def test_only_what_can_be_read_is_written(tmp_path: Path) -> None:
    small, large = (random_problem(np.random.default_rng(0), n, n) for n in (2, 3))
    for problem, message in (
        ({(0.5, 1): small}, "0.5"),
        ({("a", "b"): small}, "'a'"),
        ({(0, 2**31): small}, "2147483648"),
        ({(0, 1): small, (1, 2): large}, "graph 1 has 2 nodes"),
        ([small], "list"),
        (None, "NoneType"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            gm.write_dd(tmp_path / "a.dd", problem)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    problem = random_problem(np.random.default_rng(0), 2, 2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is not a file"):
        gm.write_dd(tmp_path / "pipe", problem)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(ValueError, match="is not a file"):
        gm.write_dd(tmp_path, problem)
    with pytest.raises(FileNotFoundError, match=r"none is not a folder.*a\.dd"):
        gm.write_dd(tmp_path / "none" / "a.dd", problem)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
