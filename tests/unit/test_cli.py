"""The command line: what it prints, its exit status, one line for each error, nothing imported that is not needed."""

import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.cli import main
from bbgm.paths import instances_root
from bbgm.results import FILES, load


@pytest.fixture(autouse=True)
def _results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished smoke run."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(["train", "--budget", "smoke", "--folder", str(folder)]) == 0
    return folder


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a failing command prints."""
    try:
        status = main(arguments)
    except SystemExit as error:  # raised by the parser
        status = int(error.code or 0)
    output = capsys.readouterr()
    assert status == 2
    assert output.out == ""
    assert output.err.startswith("bbgm: error: ")
    assert output.err.count("\n") == 1
    return output.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["train", "--seed", "one"], "--seed: invalid int value: 'one'"),
        (["train", "--sed", "1"], "unrecognized arguments: --sed 1"),
        (["train", "--method", "sgd"], "'sgd' is not one of ['bbgm', "),
        (["train", "--budget", "huge"], "'huge' is not one of ['demo'"),
        (
            ["train", "--filter", "all"],
            "protocol.filter: Input should be 'intersection', 'inclusion' or 'unfiltered' (given: 'all')",
        ),
        (["train", "--seed", "-1"], "seed: Input should be greater than or equal to 0 (given: -1)"),
        (["evaluate", "nowhere"], "nowhere is not the folder of a finished run: it does not exist"),
        (["match", "nowhere", "a", "b"], "it does not exist"),
        (["table", "Pillow"], "table 'Pillow' is not one of ['PascalVOCSampling'"),
        (["table", "Willow", "--budget", "smoke"], "no finished run"),
        (["solve", "nothing.dd"], "nothing.dd"),
        (["bench", "solver", "nowhere"], "nowhere"),
        (["data", "demo", "--images", "1"], "images_per_class is 1, must be at least 4"),
        (["train", "--budget", "smoke", "--seed", str(2**64)], "seed: Input should be less than"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert message in error_of(capsys, *arguments)


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(ValueError, match="not one of"):
        main(["--debug", "train", "--method", "sgd"])


@pytest.mark.parametrize("error", [RuntimeError("CUDA is out\nof memory"), MemoryError()])
def test_errors_of_torch_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_options: object) -> None:
        raise error

    monkeypatch.setattr("bbgm.data.status.data_status", fail)
    assert (" ".join(str(error).split()) or "MemoryError") in error_of(capsys, "data", "status")


@pytest.mark.parametrize("place", ["bbgm.cli.make_parser", "bbgm.data.status.data_status"])
def test_interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def interrupt(*_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert main(["data", "status"]) == 130
    assert capsys.readouterr().err == "bbgm: interrupted\n"


@pytest.mark.parametrize("method", ["dual", "exact"])
def test_ctrl_c_ends_a_long_solve(tmp_path: Path, method: str) -> None:
    """Minutes of compiled work. HiGHS would let Python's own handler wait: there, the signal ends the process."""
    generator = np.random.default_rng(0)
    edges = np.argwhere(~np.eye(20, dtype=bool))
    costs = generator.normal(size=(len(edges), len(edges)))
    gm.write_dd(tmp_path / "hard.dd", gm.Problem(generator.normal(size=(20, 20)), edges, edges, costs))
    script = (
        "import sys, bbgm.bench as bench; from bbgm.cli import main; solve = bench.gm.solve\n"
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


def test_roots_of_an_unknown_user(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("BBGM_DATA", "BBGM_CACHE"):
        monkeypatch.setenv(variable, "~nobody_of_that_name/data")
        message = f"{variable} is '~nobody_of_that_name/data': there is no such user"
        assert message in error_of(capsys, "data", "status")
        monkeypatch.delenv(variable)


def test_a_root_that_is_no_checkout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    assert f"no Snakefile in {tmp_path}: BBGM_ROOT is not the checkout's folder" in error_of(capsys, "train")


def test_a_folder_of_instances_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_INSTANCES", str(tmp_path))
    assert instances_root() == tmp_path
    monkeypatch.setenv("BBGM_INSTANCES", str(tmp_path / "gone"))
    with pytest.raises(ValueError, match=r"BBGM_INSTANCES is .*gone'.*unset it"):
        instances_root()


def test_missing_images(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_DATA", str(tmp_path / "empty"))
    message = error_of(capsys, "train", "--budget", "willow")
    assert str(tmp_path / "empty" / "WILLOW-ObjectClass") in message
    assert "BBGM_DATA" in message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_train_prints_the_scores_and_reads_a_finished_run(capsys: pytest.CaptureFixture[str], trained: Path) -> None:
    assert main(["train", "--budget", "smoke", "--folder", str(trained)]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    mean = load(trained).metrics["mean"]["accuracy"]
    assert f"mean{100 * mean:>22.1f}" in output.out
    assert sorted(path.name for path in trained.iterdir()) == sorted(FILES)


def test_evaluate(capsys: pytest.CaptureFixture[str], trained: Path) -> None:
    assert main(["evaluate", str(trained), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["per_class"] == load(trained).metrics["per_class"]
    assert "no positive number" in error_of(capsys, "evaluate", str(trained), "--pairs", "0")


def test_match(capsys: pytest.CaptureFixture[str], trained: Path, tmp_path: Path) -> None:
    split = json.loads((trained / "split.json").read_text())["test"]
    source, target = split["Duck"][:2]
    figure = tmp_path / "match.png"
    assert main(["match", str(trained), source, target, "--figure", str(figure)]) == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    right = sum(line.endswith("right") for line in lines)
    assert summary == f"{right} of {len(lines)} right"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "no image 'Duck/x'" in error_of(capsys, "match", str(trained), source, "Duck/x")
    assert "different classes" in error_of(capsys, "match", str(trained), source, split["Car"][0])


def test_a_stored_network_of_another_shape(capsys: pytest.CaptureFixture[str], trained: Path, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    os.truncate(tmp_path / "model.safetensors", 5000)
    message = error_of(capsys, "evaluate", str(tmp_path))
    assert "model.safetensors does not fit the network of this configuration" in message


def test_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for seed in ("0", "1"):
        assert main(["train", "--method", "bbgm_untrained", "--budget", "smoke", "--seed", seed]) == 0
    capsys.readouterr()
    assert main(["table", "Willow", "--budget", "smoke"]) == 0
    paths = [
        tmp_path / "results/smoke/tables" / f"Willow.{suffix}" for suffix in ("csv", "tex", "html", "comparisons.csv")
    ]
    assert capsys.readouterr().out.splitlines()[-4:] == [str(path) for path in paths]
    assert all(path.stat().st_size for path in paths)


def test_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "status"]) == 0
    assert "Willow ObjectClass" in capsys.readouterr().out
    assert main(["data", "demo", "willow", "--folder", str(tmp_path), "--images", "4", "--seed", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)["willow"]
    assert printed["folder"] == str(tmp_path / "WILLOW-ObjectClass")
    assert len(list(tmp_path.rglob("*.png"))) == 4 * len(printed["classes"])


def run_bbgm(*arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; ``limit``: the size in bytes that no file may exceed."""

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "bbgm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, preexec_fn=restrict)


def test_a_full_disk_in_the_middle_of_a_run(trained: Path, tmp_path: Path) -> None:
    """The system refuses to write the parameters; when there is space again, the run is made."""
    folder = tmp_path / "run"
    arguments = ("train", "--budget", "smoke", "--folder", str(folder))
    failed = run_bbgm(*arguments, limit=1_000_000)
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "bbgm: error: cannot write " in failed.stderr
    assert "free some space" in failed.stderr
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == ["config.yaml", "split.json"]
    assert main(arguments) == 0
    assert (folder / "predictions.npz").read_bytes() == (trained / "predictions.npz").read_bytes()


def test_help_needs_no_heavy_import() -> None:
    program = (
        "import sys; from bbgm.cli import make_parser; make_parser().format_help();"
        "print(sorted({'torch', 'numpy', 'pandas', 'matplotlib', 'bbgm_solver', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_a_finished_run_is_read_without_torch(trained: Path) -> None:
    program = (
        "import sys; from bbgm.cli import main; status = main(sys.argv[1:]);"
        "print('torch' in sys.modules, status, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "train", "--budget", "smoke", "--folder", str(trained)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "False 0\n"


def test_python_m_bbgm() -> None:
    done = run_bbgm("--version")
    assert (done.returncode, done.stdout) == (0, "bbgm 0.1.0\n")
    assert "COMMAND" in run_bbgm("--help").stdout


PROBLEM = """p 2 2 4 1
a 0 0 0 -1.0
a 1 0 1 0.5
a 2 1 0 0.2
a 3 1 1 -2.0
e 0 3 -0.5
"""


def test_bench_of_the_spline_convolution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "spline", "--channels", "8", "--threads", "1"]) == 0
    record = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert (record["nodes"], record["edges"], record["channels"]) == ("160", "800", "8")
    assert float(record["seconds"]) > 0
    if importlib.util.find_spec("torch_spline_conv") is None:
        assert record["max_difference"] == "None"
    else:
        assert float(record["max_difference"]) < 1e-5
    assert "--threads" in error_of(capsys, "bench", "spline", "--threads", "0")


def test_solve_and_bench(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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
    assert "--repeats is 0" in error_of(capsys, "bench", "solver", str(folder), "--repeats", "0")
    (folder / "one.dd").write_text("p 2 2 4 1\na 0 zero 0 -1.0\n")
    assert "one.dd" in error_of(capsys, "solve", str(folder / "one.dd"))


def test_bench_refuses_its_targets_before_it_measures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    gm.write_dd(tmp_path / "a.dd", gm.Problem(-np.ones((2, 2)), [], [], np.zeros((0, 0))))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    new = str(tmp_path / "new")
    for arguments, message in (
        (["--families", str(other)], "has the columns"),
        (["--families", str(tmp_path)], "is not a file"),
        (["--json", str(tmp_path)], "is not a file"),
        (["--json", new, "--families", new], "give two files"),
    ):
        assert main(["bench", "solver", str(tmp_path), *arguments]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert not output.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dd", "other.csv"]
    assert other.read_text() == "a,b\n1,2\n"
