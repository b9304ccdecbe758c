"""``bbgm bench peers``: our solver and others on the same instances, in one process and on one thread.

Each file is read once, and brought into each peer's own form; neither is timed. What a peer returns is valued with the
costs of the file, whatever it says itself. Libraries take the number of their threads from the environment when they
are loaded: ``bbgm bench peers`` sets it to one, and `busiest` names peers that used more all the same.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pandas as pd

from bbgm.bench.families import by_family, family_of
from bbgm.bench.peers import PEERS
from bbgm.bench.peers.peer import Peer, Unsupported
from bbgm.bench.solver import Record, best_known, instance_files

SECONDS = 1.0
"""A solve is repeated, and the shortest time counts, until all of its repeats have taken this long."""


def chosen_peers(names: Sequence[str] | None = None) -> tuple[list[type[Peer]], list[str]]:
    """Peers that are installed, and for each that is not a line that says how to install it.

    Args:
        names: in `PEERS`; None: all.

    Raises:
        ValueError: no such peer.
    """
    peers: list[type[Peer]] = [PEERS[name] for name in names or PEERS.names()]
    found = [peer for peer in peers if peer.version() is not None]
    missing = [peer.missing() for peer in peers if peer.version() is None]
    return found, missing


def bench_peers(
    folder: Path,
    peers: Sequence[type[Peer]],
    *,
    repeats: int = 3,
    progress: Callable[[list[Path]], Iterable[Path]] = iter,
) -> dict[type[Peer], list[Record]]:
    """Solve every ``.dd`` and ``.dd.xz`` of two graphs below a folder by each peer.

    Args:
        folder: where the instances and `best_known.json` are.
        peers: from `chosen_peers`.
        repeats: how often each instance is solved, see `SECONDS`.
        progress: wraps the list of files.

    Returns:
        For each peer its records as `bbgm.bench.solver.bench_solver` has them: file, objective, optimal (the peer says
        so), ms, gap_percent; with `threads`, the processor time over the time. An instance that a peer cannot take has
        `unsupported`, the reason, alone.

    Raises:
        FileNotFoundError: no such folder, or no instance in it.
        ValueError: a broken file, or a peer that returns something that is not a matching; the error names it.
    """
    folder = folder.resolve()
    best = best_known(folder)
    records: dict[type[Peer], list[Record]] = {peer: [] for peer in peers}
    for path in progress(instance_files(folder)):
        problem = gm.read_dd(path)
        if not isinstance(problem, gm.Problem):
            continue
        name = path.relative_to(folder).as_posix()
        known = best.get(path, best.get(path.with_name(path.name.removesuffix(".xz"))))
        for peer in peers:
            record: Record = {"file": name}
            try:
                record |= _solved(peer(), problem, repeats)
            except Unsupported as error:
                records[peer].append(record | {"unsupported": str(error)})
                continue
            except ValueError as error:
                raise ValueError(f"{peer.title} on {path}: {error}") from error
            gap = None if known is None else 100 * (record["objective"] - known) / max(abs(known), 1e-12)
            records[peer].append(record | {"gap_percent": gap})
    return records


def _solved(peer: Peer, problem: gm.Problem, repeats: int) -> Record:
    solve = peer.prepare(problem)
    ms, spent, processor = float("inf"), 0.0, 0.0
    for k in range(repeats):
        begin, begin_processor = time.perf_counter(), time.process_time()
        answer = solve()
        seconds = time.perf_counter() - begin
        ms, spent = min(ms, 1e3 * seconds), spent + seconds
        processor += time.process_time() - begin_processor
        if k == 0:
            first = answer
        if spent > SECONDS:
            break
    objective = gm.evaluate(problem, peer.finish(problem, np.asarray(first.assignment, dtype=np.int64)))
    return {"objective": objective, "optimal": first.proved, "ms": ms, "threads": processor / max(spent, 1e-9)}


def family_rows(folder: Path, records: dict[type[Peer], list[Record]], source: str) -> pd.DataFrame:
    """One row per peer and family, as `bbgm.bench.families.by_family`.

    A family has a row only if the peer takes all of its instances: means over other files could not be compared. Those
    that it leaves out are in the `note` of its other rows.
    """
    rows = []
    for peer, own in records.items():
        refused = {family_of(record["file"]): record["unsupported"] for record in own if "unsupported" in record}
        taken = [record for record in own if family_of(record["file"]) not in refused]
        note = "; ".join(f"not {family}: {why}" for family, why in refused.items())
        settings = f"{source}; {peer.package} {peer.version()}: {peer.settings}"
        if taken:
            rows.append(by_family(folder, taken, peer.title, settings).assign(note=note))
    if not rows:
        raise ValueError(f"no peer takes all instances of any family below {folder}")
    return pd.concat(rows, ignore_index=True)


def busiest(records: dict[type[Peer], list[Record]]) -> list[str]:
    """A line for each peer that used more than one thread."""
    lines = []
    for peer, own in records.items():
        threads = [record["threads"] for record in own if record.get("ms", 0) > 10]
        if threads and float(np.median(threads)) > 1.2:
            lines.append(f"{peer.title} used {float(np.median(threads)):.1f} threads: its times are not those of one")
    return lines


def is_shared(records: dict[type[Peer], list[Record]]) -> bool:
    """Whether the machine did other work: solves of more than 10 ms were mostly given less than 0.9 of a core."""
    threads = [record["threads"] for own in records.values() for record in own if record.get("ms", 0) > 10]
    return bool(threads) and float(np.median(threads)) < 0.9


def peers_report(rows: pd.DataFrame) -> str:
    """A table with a line per family and peer."""
    lines = [f"{'family':26s} {'solver':18s} {'files':>5s} {'gap %':>10s} {'hits':>5s} {'proofs':>6s} {'ms':>10s}"]
    for row in rows.sort_values("family", kind="stable").itertuples():
        gap = "-" if np.isnan(row.gap_percent) else f"{row.gap_percent:.4f}"
        lines.append(
            f"{row.family:26s} {row.solver:18s} {row.runs:5d} {gap:>10s} {row.hits:5d} {row.proofs:6d} {row.ms:10.3g}"
        )
    return "\n".join(lines)
