"""A finished run verified: its files are as it wrote them, and its network gives its predictions and scores again.

Nothing is written. All of this must hold on the machine that made the run. Another processor, GPU or version of a
package rounds differently, so that a pair whose best two matchings cost nearly the same may be matched differently.
Such a difference is reported like any other, with what is different about the machine.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbgm.base import machine
from bbgm.base.reproducible import reproducible
from bbgm.data import open_dataset
from bbgm.runs.checks.checksums import CHECKSUMS, RECORD, altered_files
from bbgm.runs.checks.compare import different_pairs, different_scores, different_test_pairs, score
from bbgm.runs.checks.notebook import NOTEBOOK, altered_notebook, is_sealed
from bbgm.runs.evaluate import evaluate
from bbgm.runs.results import FILES, OPTIMISER, RunRecord, missing_files, read_record
from bbgm.runs.sets import evaluate_sets, score_sets
from bbgm.runs.train import load_matcher
from bbgm.scoring.cycles import inconsistent_percent

SHOWN = 3
"""So many differences of one kind are listed, and the others counted."""


@dataclass(frozen=True)
class Verdict:
    """What was found out about a run.

    Attributes:
        wrong: one line for each fault, beginning with the name of the file; empty: everything is right.
        notes: what could not be checked.
        pairs: number of test pairs, those of the test sets too, that were matched again.
    """

    folder: Path
    wrong: tuple[str, ...]
    notes: tuple[str, ...] = ()
    pairs: int = 0


def verify_run(folder: Path, repeat: bool = True, progress: bool = True) -> Verdict:
    """Check the files of a run against their checksums and against each other, and repeat its evaluation.

    Args:
        folder: of the run.
        repeat: also match all pairs again with the stored network, and compare.
        progress: bars on stderr, if that is a terminal.

    Raises:
        ValueError: the folder does not exist or holds nothing of a run.
    """
    folder = Path(folder)
    missing = missing_files(folder)
    if len(missing) == len(FILES):
        what = "holds nothing of a run" if folder.is_dir() else "does not exist"
        raise ValueError(f"{folder} is not the folder of a finished run: it {what}; make it with 'bbgm train'")
    wrong = [f"{name} is missing" for name in missing]
    if RECORD not in missing:
        wrong += [f"{name} {fault}" for name, fault in altered_files(folder).items() if name not in missing]
    if fault := altered_notebook(folder):
        wrong.append(f"{NOTEBOOK} {fault}")
    record = read_record(folder, checksums=False)
    if record is None:
        wrong = wrong or [f"{RECORD} is damaged, or does not belong to config.yaml"]
        return Verdict(folder, tuple(wrong), ("the evaluation was not repeated",))
    notes = [] if CHECKSUMS in record.metrics else ["an earlier version made it, without checksums"]
    if not is_sealed(folder):
        notes.append(f"{NOTEBOOK} has no checksum: the pipeline did not write it, or an earlier version did")
    if record.config.keep_optimiser and not (folder / OPTIMISER).is_file() and CHECKSUMS not in record.metrics:
        wrong.append(f"{OPTIMISER} is missing")
    wrong += _checked(_contradictions, record)
    again = _checked(lambda one: _repetition(one, progress), record) if repeat else []
    pairs = len(record.predictions) + len(record.set_predictions) if repeat and not wrong else 0
    if again and not wrong and (elsewhere := other_machine(record.metrics)):
        notes.append(f"{elsewhere}; results may then differ although every file is as the run wrote it")
    return Verdict(folder, (*wrong, *again), tuple(notes), pairs)


def _checked(check: Callable[[RunRecord], Iterable[str]], record: RunRecord) -> list[str]:
    """The faults that a check finds, and the error that ends it."""
    try:
        return list(check(record))
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        return [" ".join(str(error).split())]


def _contradictions(record: RunRecord) -> Iterator[str]:
    """Where files of a run contradict each other."""
    found = score(record.predictions)
    if record.set_predictions:
        found["sets"] = {name: score_sets(record.set_predictions, name) for name in ("pairwise", "joint")}
        found["sets"]["inconsistent_triples_percent"] = inconsistent_percent(record.set_predictions)
    stored = {key: value for key, value in record.metrics.items() if key in ("n_pairs", "per_class", "mean", "sets")}
    yield from _first(f"{RECORD}: {line}" for line in different_scores(stored, found))
    if line := different_test_pairs(record):
        yield f"test_pairs.json: {line}"


def _first(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    more = [f"{found[0].partition(':')[0]}: and {len(found) - SHOWN} more differences"] if len(found) > SHOWN else []
    return found[:SHOWN] + more


def _repetition(record: RunRecord, progress: bool) -> Iterator[str]:
    """What differs when the stored network is evaluated again."""
    config = record.config
    matcher = load_matcher(record)
    dataset = open_dataset(config.data, config.protocol)
    for part, images in dataset.split_record().items():
        if record.split.get(part) != images:
            yield f"split.json: the {part} images are not those of the data set"
    with reproducible(config.threads):
        again = evaluate(matcher, dataset, config.protocol, progress, record.predictions)
        sets = evaluate_sets(matcher, dataset, config.protocol, progress) if record.set_predictions else None
    if line := different_pairs(record.predictions, again.predictions):
        before, after = (100 * scores["accuracy"] for scores in (record.metrics["mean"], again.mean))
        yield f"predictions.npz: {line}; the mean accuracy is {before:.2f} % in {RECORD}, and {after:.2f} % now"
    if sets and (line := different_pairs(record.set_predictions, sets.predictions, "pairs of the test sets")):
        yield f"predictions.npz: {line}"


def other_machine(metrics: dict[str, Any]) -> str:
    """What is not as where the run was made: hardware, versions of packages, commit; empty if all is the same."""
    hardware, versions = metrics.get("hardware", {}), metrics.get("versions", {})
    here = machine.hardware(machine.device())
    pairs = [(name, hardware.get(key), here[key]) for name, key in (("processor", "cpu"), ("GPU", "gpu"))]
    pairs += [(name, versions[name], version) for name, version in machine.versions().items() if name in versions]
    pairs.append(("commit", metrics.get("provenance", {}).get("commit"), machine.commit()))
    different = [f"{name} {before}, here {now}" for name, before, now in pairs if before != now]
    return f"it was made with {'; '.join(different)}" if different else ""
