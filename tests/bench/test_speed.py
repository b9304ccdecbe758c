"""The guard of speed: which family became slower is found in planted records; work that does more takes longer."""

from pathlib import Path

import pandas as pd
import pytest

from bbgm.bench import speed
from bbgm.bench.speed import BASELINE, COLUMNS, Timing, as_rows, compare, measure, read_rows, write_rows
from bbgm.bench.workloads import WORKLOADS, Work
from bbgm.cli import main


def rows(**ratios: float) -> pd.DataFrame:
    """A measurement of families with these ratios, on a machine whose reference takes 20 ms."""
    timings = {name: Timing(ratio, 2 * ratio, 20.0, 10) for name, ratio in ratios.items()}
    return as_rows(timings, "2026-01-02", "a machine", "abc")


def test_the_family_that_became_slower_is_named_with_how_much() -> None:
    found = compare(rows(easy=0.5, hard=3.9, dense=2.0), rows(easy=0.5, hard=3.0, dense=2.0), tolerance=0.25)
    assert found.slower == ("hard",)
    assert found.faster == ()
    assert found.lines == (
        "easy: 1 ms each, 0.5 references; 0% faster than the baseline (0.5)",
        "hard: 7.8 ms each, 3.9 references; SLOWER: 30% slower than the baseline (3), more than the tolerance of 25%",
        "dense: 4 ms each, 2 references; 0% faster than the baseline (2)",
    )


@pytest.mark.parametrize(
    ("ratio", "tolerance", "slower", "faster"),
    [(1.24, 0.25, False, False), (1.26, 0.25, True, False), (0.74, 0.25, False, True), (1.26, 0.3, False, False)],
)
def test_the_tolerance_decides(ratio: float, tolerance: float, slower: bool, faster: bool) -> None:
    found = compare(rows(a=ratio), rows(a=1.0), tolerance)
    assert (bool(found.slower), bool(found.faster)) == (slower, faster)


def test_times_of_another_machine_do_not_count() -> None:
    """A machine of half the speed has the same ratios."""
    slow = rows(a=1.0).assign(ms=40.0, reference_ms=200.0)
    assert compare(slow, rows(a=1.0)).slower == ()


def test_families_that_are_missing_on_either_side() -> None:
    found = compare(rows(new=1.0, kept=1.0), rows(kept=1.0, gone=1.0))
    assert found.slower == ("gone",)
    assert "gone: in the baseline, but not measured" in found.lines
    assert any(line.startswith("new: ") and line.endswith("not in the baseline") for line in found.lines)
    with pytest.raises(ValueError, match="the tolerance is 0, expected a positive share"):
        compare(rows(a=1.0), rows(a=1.0), 0)


def test_the_last_record_of_a_family_counts(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("# why these are kept\n" + ",".join(COLUMNS) + "\n")
    for ratio in (1.0, 2.0):
        write_rows(path, rows(a=ratio, b=1.0), add=True)
    kept = read_rows(path)
    assert path.read_text().startswith("# why these are kept\n")
    assert kept["ratio"].tolist() == [1.0, 1.0, 2.0, 1.0]
    assert kept[["machine", "commit", "problems"]].drop_duplicates().to_numpy().tolist() == [["a machine", "abc", 10]]
    assert compare(rows(a=2.0, b=1.0), kept).slower == ()
    write_rows(path, rows(a=3.0), add=False)
    assert read_rows(path)["ratio"].tolist() == [3.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("family,ratio\na,1\n", "has the columns"),
        (",".join(COLUMNS) + "\n,,,a,0,1,1,1\n", r"the ratio of a is 0, expected a positive number"),
        (",".join(COLUMNS) + "\n,,,a,quick,1,1,1\n", r"the ratio of a is quick, expected a positive number"),
        ("\x00", "speed.csv"),
    ],
)
def test_a_damaged_baseline_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "speed.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / "speed.csv")
    with pytest.raises(FileNotFoundError, match=r"none\.csv: write one with bbgm bench speed --keep"):
        read_rows(tmp_path / "none.csv")


def test_the_baseline_has_every_workload() -> None:
    baseline = read_rows(BASELINE)
    assert baseline["family"].tolist() == list(WORKLOADS)
    for name, make in WORKLOADS.items():
        assert baseline.set_index("family").loc[name, "problems"] == make()[1], name


def test_ratios_are_those_of_shortest_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock of our own: the machine is ten times slower in one of three rounds, one solve has a hiccup."""
    now, calls, slow = [0.0], [0], [1.0]

    def work(seconds: float, hiccup: int = -1) -> Work:
        def run() -> None:
            calls[0] += 1
            slow[0] = 10.0 if 5 <= calls[0] < 9 else 1.0
            now[0] += slow[0] * seconds * (7 if calls[0] == hiccup else 1)

        return run, 4

    monkeypatch.setattr(speed.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(speed, "make_reference", lambda: work(0.02)[0])
    found = measure({"mine": lambda: work(0.5, hiccup=3)}, rounds=3)["mine"]
    assert (found.ratio, found.ms, found.reference_ms) == pytest.approx((25.0, 125.0, 20.0))
    assert found.problems == 4


def test_the_command_records_compares_and_ends_with_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    monkeypatch.setattr(speed, "WORKLOADS", {"trained": WORKLOADS["trained"]})
    baseline = tmp_path / "baseline.csv"
    assert main(["bench", "speed", "--rounds", "1", "--keep", str(baseline)]) == 0
    for factor, status, said in ((1e-3, 1, "slower than the baseline: trained; measure again"), (1e3, 0, "faster:")):
        kept = read_rows(baseline)
        write_rows(tmp_path / "other.csv", kept.assign(ratio=kept["ratio"] * factor), add=False)
        command = ["bench", "speed", "--rounds", "1", "--baseline", str(tmp_path / "other.csv")]
        assert main(command) == status
        assert said in capsys.readouterr().out
    records = read_rows(tmp_path / "bench" / "speed.csv")
    assert len(records) == 3
    assert (records["ratio"] > 0).all()
    assert main(["bench", "speed", "--tolerance", "0"]) == 2
    assert "--tolerance is 0.0" in capsys.readouterr().err
