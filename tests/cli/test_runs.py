"""Commands about runs, tables and data: what they print, and nothing imported that is not needed."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm.cli import main
from bbgm.runs.results import FILES, load


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished smoke run."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(["train", "--budget", "smoke", "--folder", str(folder)]) == 0
    return folder


def test_train_prints_the_scores_and_reads_a_finished_run(capsys: pytest.CaptureFixture[str], trained: Path) -> None:
    assert main(["train", "--budget", "smoke", "--folder", str(trained)]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    mean = load(trained).metrics["mean"]["accuracy"]
    assert f"mean{100 * mean:>22.1f}" in output.out
    assert sorted(path.name for path in trained.iterdir()) == sorted(FILES)


def test_evaluate_prints_the_scores_of_the_run(
    capsys: pytest.CaptureFixture[str], error_of: Callable[..., str], trained: Path
) -> None:
    assert main(["evaluate", str(trained), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["per_class"] == load(trained).metrics["per_class"]
    assert "not a positive number" in error_of("evaluate", str(trained), "--pairs", "0")


def test_match_lists_and_draws_the_matches(
    capsys: pytest.CaptureFixture[str], error_of: Callable[..., str], trained: Path, tmp_path: Path
) -> None:
    split = json.loads((trained / "split.json").read_text())["test"]
    source, target = split["Duck"][:2]
    figure = tmp_path / "match.png"
    assert main(["match", str(trained), source, target, "--figure", str(figure)]) == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    right = sum(line.endswith("right") for line in lines)
    assert summary == f"{right} of {len(lines)} right"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "no image 'Duck/x'" in error_of("match", str(trained), source, "Duck/x")
    assert "different classes" in error_of("match", str(trained), source, split["Car"][0])


def test_a_stored_network_of_another_shape(error_of: Callable[..., str], trained: Path, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    del metrics["checksums"]  # which would notice it
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    os.truncate(tmp_path / "model.safetensors", 5000)
    message = error_of("evaluate", str(tmp_path))
    assert "model.safetensors does not fit the network of this configuration" in message


def test_table_writes_its_four_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for seed in ("0", "1"):
        assert main(["train", "--method", "bbgm_untrained", "--budget", "smoke", "--seed", seed]) == 0
    capsys.readouterr()
    assert main(["table", "Willow", "--budget", "smoke"]) == 0
    paths = [
        tmp_path / "results/smoke/tables" / f"Willow.{suffix}" for suffix in ("csv", "tex", "html", "comparisons.csv")
    ]
    assert capsys.readouterr().out.splitlines()[-4:] == [str(path) for path in paths]
    assert all(path.stat().st_size for path in paths)


def test_data_tells_the_status_and_renders_demo_images(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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


def test_python_m_bbgm_is_the_command() -> None:
    done = run_bbgm("--version")
    assert (done.returncode, done.stdout) == (0, "bbgm 0.1.0\n")
    assert "COMMAND" in run_bbgm("--help").stdout
