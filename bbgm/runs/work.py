"""How much work a run is, how long it takes at measured speeds, and what a job for it asks of a cluster.

Nothing here needs torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from bbgm.config import RunConfig
from bbgm.data.demo import demo_classes
from bbgm.data.fetch.sources import find
from bbgm.runs.throughput import Measurement, measurement_for

TIME_MARGIN = 3.0
"""Times the estimated time: other hardware than was measured, and other jobs on the node."""
START_MINUTES = {"demo": 5}
"""Before training: a job starts, and images or features that no run has used yet are cached; by data source."""
OTHER_START_MINUTES = 30
MEMORY_MARGIN = 1.25
"""Times the measured memory: other versions of libraries, other sizes of images."""
BESIDE_MIB = 600
"""What waits beside the run's own process; measured: two Snakemakes of 171 MiB, papermill 71 MiB, srun 8 MiB."""


@dataclass(frozen=True)
class Work:
    """The work of one run.

    Attributes:
        test_pairs: None: as many as the data list, and no registry says how many those are.
        set_pairs, sets: pairs in the sets of images that are matched jointly too, and the number of sets.
    """

    iterations: int
    training_pairs: int
    test_pairs: int | None
    set_pairs: int
    sets: int


def work_of(run: RunConfig) -> Work:
    """The work of a run, by its configuration; no images are read."""
    protocol, optimiser = run.protocol, run.optimiser
    iterations = optimiser.epochs * optimiser.iterations_per_epoch
    sets = protocol.test_sets_per_class * count_classes(run)
    return Work(
        iterations=iterations,
        training_pairs=iterations * optimiser.batch_size,
        test_pairs=count_test_pairs(run),
        set_pairs=sets * protocol.set_size * (protocol.set_size - 1) // 2,
        sets=sets,
    )


def count_classes(run: RunConfig) -> int:
    """Number of classes that a run uses; 0 for a custom folder that does not exist."""
    if run.data.source == "demo" and not run.data.classes:
        return len(demo_classes(run.data.dataset))
    return len(run.data.used_classes())


def count_test_pairs(run: RunConfig) -> int | None:
    """Number of test pairs of a run; None: all that the data list, if no registry says how many those are."""
    if run.protocol.test_pairs_per_class:
        return run.protocol.test_pairs_per_class * count_classes(run)
    if run.data.source == "demo" or run.data.classes or run.data.listed_pairs is None:
        return None
    return registered(run.data.listed_pairs)


def registered(place: tuple[str, str]) -> int:
    """Number of files or lines that a download has at least, by its name and pattern."""
    name, pattern = place
    return find(name).at_least[pattern]


def hours_of(work: Work, speed: Measurement | None) -> float | None:
    """Hours of one run; None if a part of its work was not measured."""
    if speed is None or work.test_pairs is None:
        return None
    if (work.training_pairs and not speed.train_pairs_per_s) or (work.sets and speed.joint_ms_per_set is None):
        return None
    seconds = (work.test_pairs + work.set_pairs) / speed.eval_pairs_per_s
    seconds += work.training_pairs / speed.train_pairs_per_s if speed.train_pairs_per_s else 0
    seconds += work.sets * (speed.joint_ms_per_set or 0) / 1e3
    return seconds / 3600


@dataclass(frozen=True)
class Request:
    """What a job that makes a run asks for: a limit on its time, and memory of the node (not of the GPU)."""

    minutes: int
    memory_mib: int


def request_for(run: RunConfig, device: str, measurements: Sequence[Measurement], attempt: int = 1) -> Request:
    """Time and memory to ask for, from the measurement that `bbgm plan` uses for the run.

    What was not measured for such a run is taken from the slowest and largest run on that device (of any device, where
    that one has no measurement). An unknown number of test pairs counts as none: the margin is for them.

    Args:
        device: "cpu" or "gpu".
        measurements: at least one.
        attempt: 1, or how often the job has been started; a job that was killed asks for that many times as much.
    """
    fitting = measurement_for(run, device, measurements)
    speed = _slowest([one for one in measurements if one.device == device] or measurements, fitting)
    work = work_of(run)
    hours = hours_of(work if work.test_pairs is not None else _without_test(work), speed) or 0.0
    start = START_MINUTES.get(run.data.source, OTHER_START_MINUTES)
    return Request(
        minutes=ceil(attempt * (start + TIME_MARGIN * 60 * hours)),
        memory_mib=ceil(attempt * (MEMORY_MARGIN * speed.memory_mib + BESIDE_MIB)),
    )


def _slowest(measurements: Sequence[Measurement], fitting: Measurement | None) -> Measurement:
    """The fitting measurement, completed by the worst figures of the others."""
    trained = [one.train_pairs_per_s for one in measurements if one.train_pairs_per_s]
    worst = {
        "train_pairs_per_s": min(trained, default=None),
        "eval_pairs_per_s": min(one.eval_pairs_per_s for one in measurements),
        "joint_ms_per_set": max((one.joint_ms_per_set or 0.0) for one in measurements),
        "memory_mib": max(one.memory_mib for one in measurements),
    }
    known = fitting or measurements[0]
    missing = [name for name in worst if fitting is None or getattr(fitting, name) is None]
    return known.model_copy(update={name: worst[name] for name in missing})


def _without_test(work: Work) -> Work:
    return Work(work.iterations, work.training_pairs, 0, work.set_pairs, work.sets)
