"""Records of ``bbgm bench solver`` as rows, one per family, like other solvers' rows in ``published/solvers/``."""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pandas as pd

from bbgm.base.atomic import write_json, write_text
from bbgm.bench.solver import HIT_PERCENT, Record, best_known
from bbgm.matching.synthetic import random_instance
from bbgm.published import SOLVER_COLUMNS, read_solvers

FOLDERS = {
    "willow_outliers": "Willow with outliers",
    "house": "house",
    "house_partial": "house, 25 of 30",
    "house_shape_context": "house, shape context",
    "keypoints46": "46 x 46 keypoints",
    "opengm": "opengm1",
    "qaplib": "QAPLIB, n <= 20",
}
"""Families whose folder has a different name from the one in the tables."""
_KEYPOINT_SIZE = re.compile(r"keypoint_size/(planted|random)_(\d+)x(\d+)_\d+(_full)?\.dd")


def family_of(file: str) -> str:
    """The family of an instance, from its path below the folder of instances; by default the name of its folder."""
    found = _KEYPOINT_SIZE.fullmatch(file.removesuffix(".xz"))
    if not found:
        folder = Path(file).parent.as_posix()
        return FOLDERS.get(folder, folder)
    kind, n1, _, full = found.groups()
    if kind == "planted":
        return "planted"
    return f"random{' full' if full else ''}, {'n <= 12' if int(n1) <= 12 else 'n = 15 to 23'}"


def shift_of(path: Path) -> float:
    """How much less a full matching costs in a file than in the problem that the file represents.

    A file ``NAME_full.dd`` represents ``NAME.dd`` beside it, with each match made cheaper so that all nodes are
    matched. In QAPLIB's instances the vertex costs consist of this shift only.
    """
    is_qaplib = path.parent.name == "qaplib"
    if not is_qaplib and "_full.dd" not in path.name:
        return 0.0
    problem = gm.read_dd(path)
    assert isinstance(problem, gm.Problem)
    matches = min(problem.n1, problem.n2)
    if is_qaplib:
        return -float(problem.costs.max()) * matches if problem.n_assignments else 0.0
    beside = path.with_name(path.name.replace("_full.dd", ".dd"))
    if not beside.is_file():
        raise FileNotFoundError(
            f"{path} is derived from {beside}, which is missing: put it there, or rename {path.name}"
        )
    plain = gm.read_dd(beside)
    if not isinstance(plain, gm.Problem):
        raise ValueError(f"{beside} holds several graphs, expected one pair")
    if not np.array_equal(plain.assignments, problem.assignments):
        raise ValueError(f"{path} and {beside} allow different matches: they may differ only by a shift of the costs")
    return float(np.mean(plain.costs - problem.costs)) * matches if problem.n_assignments else 0.0


def shift_free_value(path: Path, known: float) -> float:
    """Magnitude of a file's best known value without the shift: what gaps are relative to, as in the literature."""
    return max(abs(known + shift_of(path)), 1e-12)


def shift_free_gap(folder: Path, record: Record, best: Mapping[Path, float]) -> float:
    """Gap to the best known value in % of that value without the shift, as in the literature; nan if none is known.

    ``gap_percent`` of a record is relative to the value in the file, which a shift makes many times larger.
    """
    if record["gap_percent"] is None:
        return np.nan
    path = folder / record["file"]
    known = best[path.with_name(path.name.removesuffix(".xz"))]
    return 100 * (record["objective"] - known) / shift_free_value(path, known)


def by_family(folder: Path, records: Sequence[Record], solver: str, source: str = "") -> pd.DataFrame:
    """One row per family, with the columns of ``published/solvers/``; families of one solver are sorted by name.

    Args:
        folder: the folder that contains the records' files.
        records: from ``bbgm.bench.solver.bench_solver``; those of several graphs are left out.
        solver, source: values of these columns.

    Raises:
        ValueError: no record is of two graphs.
    """
    folder = folder.resolve()
    records = [record for record in records if "graphs" not in record]
    if not records:
        raise ValueError(f"no file below {folder} holds a problem of two graphs: there is no family to report")
    frame = pd.DataFrame(records).assign(family=[family_of(record["file"]) for record in records])
    best = best_known(folder)
    frame["gap"] = [shift_free_gap(folder, record, best) for record in records]
    rows = []
    for family, group in frame.groupby("family"):
        known = group["gap"].dropna()
        rows.append(
            {
                "family": family,
                "solver": solver,
                "gap_percent": np.nan if known.empty else round(known.mean(), 4) + 0.0,
                "hits": int((known <= HIT_PERCENT).sum()),
                "runs": len(group),
                "proofs": int(group["optimal"].sum()),
                "ms": float(f"{group['ms'].mean():.3g}"),
                "source": source,
            }
        )
    return pd.DataFrame(rows).reindex(columns=list(SOLVER_COLUMNS))


def write_families(path: Path, rows: pd.DataFrame) -> None:
    """Write rows into a file of ``published/solvers/``, below its comment; they replace the same solver's rows."""
    comment = ""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        comment = "".join(line for line in lines if line.startswith("#"))
        old = read_solvers(path)
        rows = pd.concat([old[~old["solver"].isin(rows["solver"])], rows.astype(old.dtypes)], ignore_index=True)
    text = io.StringIO()
    rows.to_csv(text, index=False, lineterminator="\n")
    write_text(path, comment + text.getvalue())


def write_generated(folder: Path, count: int = 10) -> Path:
    """Write ``count`` planted and ``count`` random instances of 10 to 12 nodes, and their optima, into a folder.

    Returns:
        The folder, with ``planted/*.dd``, ``random/*.dd`` and ``best_known.json``.

    Raises:
        RuntimeError: an optimum could not be proved.
    """
    best = {}
    for kind in ("planted", "random"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for seed in range(count):
            n1, n2 = 10 + seed % 3, 10 + (seed + seed // 3) % 3
            problem = random_instance(n1, n2, seed, planted=kind == "planted").problem()
            result = gm.solve(problem, effort="thorough")
            if not result.optimal:
                raise RuntimeError(f"the optimum of the {kind} instance {n1} x {n2} of seed {seed} is not proved")
            name = f"{kind}/{n1}x{n2}_{seed}.dd"
            gm.write_dd(folder / name, problem)
            best[name] = {"best": result.objective}
    write_json(folder / "best_known.json", best)
    return folder
