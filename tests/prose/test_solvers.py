"""Figures of solvers: kept, read again, and quoted."""

from pathlib import Path

import pandas as pd
import pytest

from bbgm.prose import fill, markers, record_solvers, solver_figures
from bbgm.prose.measured import read_measured
from bbgm.published import SOLVER_COLUMNS, load_solvers

ROWS = pd.DataFrame(
    [
        {"family": "planted", "solver": "best", "gap_percent": 0.0, "hits": 16, "runs": 16, "proofs": 16, "ms": 0.182},
        {"family": "planted", "solver": "peer", "gap_percent": 0.00213, "hits": 9, "runs": 16, "proofs": 0, "ms": 12.3},
        {"family": "mine", "solver": "peer", "hits": 0, "runs": 2, "proofs": 0, "ms": 1234.5},
    ]
).reindex(columns=list(SOLVER_COLUMNS))
ROWS["source"] = "bbgm bench peers --record; peer 1.0: defaults"
ROWS = ROWS.astype(SOLVER_COLUMNS)


def test_figures_come_back_as_they_were_kept(tmp_path: Path) -> None:
    for _ in range(2):  # a second recording replaces the first
        path = record_solvers(ROWS, tmp_path)
    assert path == tmp_path / "instances" / "peers.csv"
    live = solver_figures(tmp_path).iloc[: len(ROWS)].reset_index(drop=True)
    columns = ["family", "solver", "gap_percent", "hits", "runs", "proofs", "ms", "source"]
    pd.testing.assert_frame_equal(live[columns], ROWS[columns])
    assert len(solver_figures(tmp_path)) == len(ROWS) + len(load_solvers())
    assert read_measured("instances/peers", tmp_path)["hardware"].str.contains(r"\(1 of \d+ cores\)").all()


def test_a_later_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record_solvers(ROWS, tmp_path)
    monkeypatch.setattr("bbgm.base.machine.cpu_model", lambda: "another")
    record_solvers(ROWS.iloc[:1].assign(ms=0.5), tmp_path, shared=True)
    hardware = read_measured("instances/peers", tmp_path).set_index("method")["hardware"]
    assert hardware["best"].str.fullmatch(r"another \(1 of \d+ cores, shared\)").all()
    assert not hardware["peer"].str.contains("another").any()
    figures = solver_figures(tmp_path).set_index(["family", "solver"])
    assert figures.loc[("planted", "best"), "ms"] == 0.5
    assert figures.loc[("planted", "peer"), "ms"] == 12.3


def test_prose_quotes_them_with_three_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record_solvers(ROWS, tmp_path)
    monkeypatch.setattr(markers, "read_measured", lambda name: read_measured(name, tmp_path))
    marker = "<!-- measured: instances/peers method=best setting=planted column=ms -->"
    assert fill(f"{marker}x<!-- end -->") == f"{marker}0.182<!-- end -->"
    marker = "<!-- measured: instances/peers setting=planted -->"
    head, _, best, peer, *_ = fill(f"{marker}\n<!-- end -->").splitlines()[1:]
    assert head == "| solver | gap % | hits | proofs | ms | instances |"
    assert best == "| best | 0 | 16 | 16 | 0.182 | 16 |"
    assert peer == "| peer | 0.00213 | 9 | 0 | 12.3 | 16 |"
