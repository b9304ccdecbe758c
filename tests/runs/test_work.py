"""What a job asks of a cluster follows from what was measured."""

import datetime
from math import ceil
from typing import Any

import pytest

from bbgm.config import RunConfig, list_runs, load_run
from bbgm.runs.throughput import Measurement, measurement_for, read_measurements
from bbgm.runs.work import (
    BESIDE_MIB,
    MEMORY_MARGIN,
    OTHER_START_MINUTES,
    START_MINUTES,
    TIME_MARGIN,
    hours_of,
    request_for,
    work_of,
)


def measurement(device: str = "gpu", where: dict[str, Any] | None = None, **change: Any) -> Measurement:
    figures = {"train_pairs_per_s": 40.0, "eval_pairs_per_s": 100.0, "memory_mib": 2000, **change}
    return Measurement.model_validate(
        {"date": datetime.date(2026, 1, 2), "device": device, "hardware": "x", "where": where or {}, **figures}
    )


def paper(method: str = "bbgm", **change: Any) -> RunConfig:
    return load_run(method, "paper", 0, dataset="voc", **change)


def test_time_and_memory_come_from_the_measurement_that_fits() -> None:
    """160,000 training and 20,000 test pairs."""
    of_method = measurement(where={"model": "bbgm"}, train_pairs_per_s=80.0)
    request = request_for(paper(), "gpu", [measurement(), of_method, measurement("cpu", train_pairs_per_s=1.0)])
    seconds = 160_000 / 80 + 20_000 / 100
    assert request.minutes == ceil(OTHER_START_MINUTES + TIME_MARGIN * seconds / 60)
    assert request.memory_mib == ceil(MEMORY_MARGIN * 2000 + BESIDE_MIB)


def test_each_attempt_asks_for_more() -> None:
    known = [measurement()]
    first, second, third = (request_for(paper(), "gpu", known, attempt) for attempt in (1, 2, 3))
    assert first.minutes < second.minutes < third.minutes
    assert third.memory_mib == pytest.approx(3 * first.memory_mib, abs=3)


def test_what_was_not_measured_asks_for_as_much_as_the_slowest_and_largest() -> None:
    other = {"model": "dgmc"}
    known = [
        measurement(where=other, train_pairs_per_s=10.0, memory_mib=1000),
        measurement(where=other, eval_pairs_per_s=5.0, memory_mib=7000, joint_ms_per_set=60.0),
    ]
    assert measurement_for(paper(), "gpu", known) is None
    request = request_for(paper(), "gpu", known)
    assert request.minutes == ceil(OTHER_START_MINUTES + TIME_MARGIN * (160_000 / 10 + 20_000 / 5) / 60)
    assert request.memory_mib == ceil(MEMORY_MARGIN * 7000 + BESIDE_MIB)
    assert request_for(paper(), "cpu", known) == request  # nothing was measured on a CPU


def test_sets_are_counted_at_the_slowest_speed_if_the_fitting_measurement_has_none() -> None:
    known = [measurement(where={"model": "bbgm"}), measurement(where={"model": "dgmc"}, joint_ms_per_set=90.0)]
    run = paper(filter="unfiltered")
    assert hours_of(work_of(run), measurement_for(run, "gpu", known)) is None
    seconds = 160_000 / 40 + (20_000 + 200_000) / 100 + 20_000 * 0.09
    assert request_for(run, "gpu", known).minutes == ceil(OTHER_START_MINUTES + TIME_MARGIN * seconds / 60)


def test_an_unknown_number_of_test_pairs_counts_as_none() -> None:
    own = load_run("bbgm", "paper", 0, dataset="spair", data={"classes": ["cat"]})
    work = work_of(own)
    assert work.test_pairs is None
    minutes = OTHER_START_MINUTES + TIME_MARGIN * work.training_pairs / 40 / 60
    assert request_for(own, "gpu", [measurement()]).minutes == ceil(minutes)


@pytest.mark.parametrize("budget", ["smoke", "demo", "animals", "willow", "paper"])
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_the_stored_measurements_give_each_run_enough(budget: str, device: str) -> None:
    """At least what was measured of a run of its kind, and at least the time to start."""
    known = read_measurements()
    for run in {run.folder.parent: run for run in list_runs(budget)}.values():
        request = request_for(run, device, known)
        assert request.minutes >= START_MINUTES.get(run.data.source, OTHER_START_MINUTES)
        fitting = measurement_for(run, device, known)
        if fitting is not None:
            assert request.memory_mib >= fitting.memory_mib + BESIDE_MIB
            assert request.minutes >= 60 * (hours_of(work_of(run), fitting) or 0)
