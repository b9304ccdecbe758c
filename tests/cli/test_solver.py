"""Commands of the solver, and the benchmarks."""

import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.cli import main

PROBLEM = """p 2 2 4 1
a 0 0 0 -1.0
a 1 0 1 0.5
a 2 1 0 0.2
a 3 1 1 -2.0
e 0 3 -0.5
"""


@pytest.mark.parametrize("method", ["dual", "exact"])
def test_ctrl_c_ends_a_long_solve(tmp_path: Path, method: str) -> None:
    """Minutes of compiled work. HiGHS would let Python's own handler wait: there, the signal ends the process."""
    generator = np.random.default_rng(0)
    edges = np.argwhere(~np.eye(20, dtype=bool))
    costs = generator.normal(size=(len(edges), len(edges)))
    gm.write_dd(tmp_path / "hard.dd", gm.Problem(generator.normal(size=(20, 20)), edges, edges, costs))
    script = (
        "import sys, bbgm.bench.solver as bench; from bbgm.cli import main; solve = bench.gm.solve\n"
        "bench.gm.solve = lambda *parts, **options: (\n"
        "    print('begins', flush=True), solve(*parts, max_iterations=2**31 - 1, **options))[1]\n"
        "sys.exit(main(['solve', sys.argv[1], '--method', sys.argv[2]]))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "hard.dd"), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    if method == "exact":
        assert (process.returncode, output) == (-signal.SIGINT, "")
    else:
        assert (process.returncode, output) == (130, "bbgm: interrupted\n")


def test_bench_spline_prints_sizes_and_seconds(
    capsys: pytest.CaptureFixture[str], error_of: Callable[..., str]
) -> None:
    assert main(["bench", "spline", "--channels", "8", "--threads", "1"]) == 0
    record = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert (record["nodes"], record["edges"], record["channels"]) == ("160", "800", "8")
    assert float(record["seconds"]) > 0
    if importlib.util.find_spec("torch_spline_conv") is None:
        assert record["max_difference"] == "None"
    else:
        assert float(record["max_difference"]) < 1e-5
    assert "--threads" in error_of("bench", "spline", "--threads", "0")


def test_solve_and_bench_print_and_write_the_optimum(
    capsys: pytest.CaptureFixture[str], error_of: Callable[..., str], tmp_path: Path
) -> None:
    folder = tmp_path / "instances"
    folder.mkdir()
    (folder / "one.dd").write_text(PROBLEM)
    (folder / "best_known.json").write_text(json.dumps({"one.dd": {"best": -3.5, "certified": "exact"}}))
    for method in ("best", "dual", "exact"):
        assert main(["solve", str(folder / "one.dd"), "--method", method, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["objective"], record["lower_bound"], record["optimal"]) == (-3.5, -3.5, True)
    assert main(["bench", "solver", str(folder), "--json", str(tmp_path / "bench.json")]) == 0
    assert "proofs" in capsys.readouterr().out
    (record,) = json.loads((tmp_path / "bench.json").read_text())
    assert set(record) == {"file", "objective", "lower_bound", "optimal", "ms", "gap_percent"}
    assert (record["file"], record["gap_percent"]) == ("one.dd", 0)
    table = tmp_path / "families.csv"
    for effort in ("default", "thorough", "default"):
        options = ["--families", str(table), "--repeats", "2", "--effort", effort]
        assert main(["bench", "solver", str(folder), *options]) == 0
    assert [line.split(",")[:3] for line in table.read_text().splitlines()[1:]] == [
        [".", '"best', ' thorough"'],
        [".", "best", "0.0"],
    ]
    capsys.readouterr()
    assert "--repeats is 0" in error_of("bench", "solver", str(folder), "--repeats", "0")
    (folder / "one.dd").write_text("p 2 2 4 1\na 0 zero 0 -1.0\n")
    assert "one.dd" in error_of("solve", str(folder / "one.dd"))


def test_bench_refuses_its_targets_before_it_measures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    gm.write_dd(tmp_path / "a.dd", gm.Problem(-np.ones((2, 2)), [], [], np.zeros((0, 0))))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    new = str(tmp_path / "new")
    for arguments, message in (
        (["--families", str(other)], "has the columns"),
        (["--families", str(tmp_path)], "is not a file"),
        (["--json", str(tmp_path)], "is not a file"),
        (["--json", new, "--families", new], "give two different files"),
    ):
        assert main(["bench", "solver", str(tmp_path), *arguments]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert not output.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dd", "other.csv"]
    assert other.read_text() == "a,b\n1,2\n"
