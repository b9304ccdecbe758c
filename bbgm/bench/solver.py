"""``bbgm solve`` and ``bbgm bench solver``: the solver on files of instances, against the best known values."""

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import bbgm_solver as gm

from bbgm.base.reading.foreign import without_companions
from bbgm.base.reading.untrusted import parse_json

BEST_KNOWN = "best_known.json"
HIT_PERCENT = 1e-4  # a value this close to the best known one counts as a hit

Record = dict[str, Any]
_AnyResult = TypeVar("_AnyResult", gm.Result, gm.MultiResult)


def _timed(solve: Callable[[], _AnyResult], repeats: int) -> tuple[_AnyResult, float]:
    """The result, and the shortest time that it took, ms."""
    ms = float("inf")
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        result = solve()
        ms = min(ms, 1e3 * (time.perf_counter() - start))
    return result, ms


def _check_full(path: Path, problem: gm.Problem | dict[tuple[int, int], gm.Problem], full: bool) -> None:
    if full and not isinstance(problem, gm.Problem):
        raise ValueError(f"{path} holds several graphs, which are always matched partially: leave out --full")


def _remark(problem: gm.Problem | dict[tuple[int, int], gm.Problem], result: gm.Result | gm.MultiResult) -> Record:
    """What a result that matches nothing means, as the entry ``note`` of a record; {} of any other result."""
    if isinstance(problem, gm.Problem):
        assert isinstance(result, gm.Result)
        empty, possible = bool((result.assignment < 0).all()), problem.n_assignments > 0
        remedy = "--full matches as many nodes as it can"
    else:
        assert isinstance(result, gm.MultiResult)
        empty, possible = not len(result.cliques), any(one.n_assignments for one in problem.values())
        remedy = "to have matches, subtract a constant from the costs of all of them"
    if not empty or not possible:
        return {}
    what = "no matching costs less than none" if result.optimal else "no matching was found that costs less than none"
    return {"note": f"nothing is matched: {what}; {remedy}"}


def solve_file(path: Path, method: str = "best", *, effort: str = "default", full: bool = False) -> Record:
    """Solve one ``.dd`` or ``.dd.xz`` file, of two graphs or several.

    Args:
        path: the file.
        method, effort, full: as for ``bbgm_solver.solve``, or ``bbgm_solver.solve_multi``.

    Returns:
        A JSON-ready record: file, method, objective, lower_bound, optimal, stop_reason, ms (solving only, without
        reading); for two graphs n1, n2, assignment (n1,), iterations; for several graphs (their d numbers), nodes (d,),
        cliques (K, d). A result that matches nothing has a ``note`` that says why.

    Raises:
        FileNotFoundError, ValueError: no such file, another format, or an option that several graphs do not allow.
    """
    if not path.exists():
        raise FileNotFoundError(f"no file {path}: give a .dd or .dd.xz file, such as bbgm_solver.write_dd writes")
    problem = gm.read_dd(path)
    _check_full(path, problem, full)
    record: Record = {"file": str(path), "method": method}
    if isinstance(problem, gm.Problem):
        result, ms = _timed(lambda: gm.solve(problem, method, effort=effort, full=full), 1)
        record |= {"n1": problem.n1, "n2": problem.n2} | result._asdict()
        return record | {"assignment": result.assignment.tolist(), "ms": ms} | _remark(problem, result)
    several, ms = _timed(lambda: gm.solve_multi(problem, method, effort=effort, threads=1), 1)
    nodes = {graph: n for key, p in problem.items() for graph, n in zip(key, (p.n1, p.n2), strict=True)}
    record |= {"graphs": list(several.graphs), "nodes": [nodes[graph] for graph in several.graphs]}
    for name in ("objective", "lower_bound", "optimal", "stop_reason"):
        record[name] = getattr(several, name)
    return record | {"cliques": several.cliques.tolist(), "ms": ms} | _remark(problem, several)


def instance_files(folder: Path) -> list[Path]:
    """Every ``.dd`` and ``.dd.xz`` file below a folder, sorted.

    Raises:
        FileNotFoundError: the folder does not exist, or holds no such file.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; give one that holds .dd or .dd.xz files")
    paths = without_companions(path for pattern in ("*.dd", "*.dd.xz") for path in folder.rglob(pattern))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no .dd or .dd.xz file")
    return paths


def best_known(folder: Path) -> dict[Path, float]:
    """Best known value of each file that best_known.json names: the one in the folder, or else in the one above it."""
    path = next((file for top in (folder, folder.parent) if (file := top / BEST_KNOWN).is_file()), None)
    if path is None:
        return {}
    try:
        best = {name: float(entry["best"]) for name, entry in parse_json(path.read_bytes()).items()}
        if wrong := [name for name, value in best.items() if not math.isfinite(value)]:
            raise ValueError(f"{wrong[0]} has {best[wrong[0]]}")
        return {path.parent / name: value for name, value in best.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f'{path} does not map file names to {{"best": value}}: {error}') from error


def bench_solver(
    folder: Path,
    method: str = "best",
    *,
    effort: str = "default",
    full: bool = False,
    repeats: int = 1,
    progress: Callable[[list[Path]], Iterable[Path]] = iter,
) -> list[Record]:
    """Solve every ``.dd`` and ``.dd.xz`` below a folder on one thread; compare with ``best_known.json`` there or above.

    Args:
        folder: where the instances are.
        method, effort: as for ``bbgm_solver.solve``, with files of several graphs as for ``bbgm_solver.solve_multi``;
            files that the method cannot solve ("sync": two graphs, "exact": several) are left out.
        full: match as many nodes as possible; files of several graphs are left out.
        repeats: how often each instance is solved; the shortest time counts.
        progress: wraps the list of files, e.g. in a progress bar.

    Returns:
        One record per instance: file (below `folder`), objective, lower_bound, optimal, ms, gap_percent to the best
        known value (``None`` where there is none, or where it is of another problem), and with several graphs their
        number, `graphs`. A result that matches nothing, or cannot be compared, has a ``note``.

    Raises:
        FileNotFoundError: no such folder, or no instance in it.
        ValueError: a broken file, or a method that solves none of the files; the error names it.
    """
    folder = folder.resolve()
    best = best_known(folder)
    records: list[Record] = []
    for path in progress(instance_files(folder)):
        problem = gm.read_dd(path)
        one_pair = isinstance(problem, gm.Problem)
        if method not in (gm.METHODS if one_pair else gm.MULTI_METHODS) or (full and not one_pair):
            continue
        result: gm.Result | gm.MultiResult
        if isinstance(problem, gm.Problem):
            result, ms = _timed(partial(gm.solve, problem, method, effort=effort, full=full), repeats)
        else:
            result, ms = _timed(partial(gm.solve_multi, problem, method, effort=effort, threads=1), repeats)
        name = path.relative_to(folder).as_posix()
        known = best.get(path, best.get(path.with_name(path.name.removesuffix(".xz"))))
        note = _remark(problem, result)
        if known is not None and not full and known > (free := _empty_objective(problem)) + 1e-6 * abs(free):
            known = None  # a gap of -100 % would be a hit
            note = {"note": f"the best known value is of a full matching, nothing matched costs {free:g}: use --full"}
        gap = None if known is None else 100 * (result.objective - known) / max(abs(known), 1e-12)
        record = {"file": name, "objective": result.objective, "lower_bound": result.lower_bound}
        record |= {"optimal": result.optimal, "ms": ms, "gap_percent": gap} | note
        if isinstance(result, gm.MultiResult):
            record["graphs"] = len(result.graphs)
        records.append(record)
    if not records:
        if full:
            raise ValueError(f"--full is for files of two graphs, and method {method!r} solves none below {folder}")
        raise ValueError(
            f"method {method!r} solves no file below {folder}: two graphs are solved by {list(gm.METHODS)}, "
            f"several by {list(gm.MULTI_METHODS)}"
        )
    return records


def _empty_objective(problem: gm.Problem | dict[tuple[int, int], gm.Problem]) -> float:
    """What matching nothing costs."""
    parts = [problem] if isinstance(problem, gm.Problem) else problem.values()
    return float(sum(part.unmatched1.sum() + part.unmatched2.sum() for part in parts))


def report(records: list[Record]) -> str:
    """A table with one line per family (the folder of a file): files, mean gap %, hits, proofs, mean ms; then notes.

    A hit is a value within a relative 1e-6 of the best known one, or below it.
    """
    lines = [f"{'family':24s} {'files':>5s} {'gap %':>10s} {'hits':>5s} {'proofs':>6s} {'ms':>10s}"]
    for family in sorted({str(Path(r["file"]).parent) for r in records}):
        rows = [r for r in records if str(Path(r["file"]).parent) == family]
        gaps = [r["gap_percent"] for r in rows if r["gap_percent"] is not None]
        gap = f"{round(sum(gaps) / len(gaps), 4) + 0.0:.4f}" if gaps else "-"
        hits = sum(g <= HIT_PERCENT for g in gaps) if gaps else "-"
        proofs = sum(r["optimal"] for r in rows)
        ms = sum(r["ms"] for r in rows) / len(rows)
        lines.append(f"{family:24s} {len(rows):5d} {gap:>10s} {hits:>5} {proofs:6d} {ms:10.3f}")
    noted: dict[str, list[str]] = {}
    for record in records:
        if "note" in record:
            noted.setdefault(record["note"], []).append(record["file"])
    for note, files in noted.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        lines.append(f"{files[0]}{more}: {note}")
    return "\n".join(lines)
