"""The parts of a training step, its operations and its floor; times themselves are not tested."""

import pytest

from bbgm.bench.step import StepReport, bench_step
from bbgm.cli import main
from bbgm.config import load_run

SMALL = {"batch_size": 2}


@pytest.fixture(scope="module")
def report() -> StepReport:
    return bench_step(load_run("bbgm", "smoke", 0, optimiser=SMALL), steps=1)


def test_shares_of_the_parts_sum_to_one_and_name_what_a_step_does(report: StepReport) -> None:
    assert sum(report.parts.values()) == pytest.approx(1)
    assert list(report.parts.values()) == sorted(report.parts.values(), reverse=True)
    assert {
        "convolutions, forward",
        "convolutions, backward",
        "spline convolution, forward",
        "spline convolution, backward",
        "solver, forward",
        "optimiser",
        "check of the gradients",
    } <= set(report.parts)


def test_floor_is_that_of_the_operations(report: StepReport) -> None:
    """A frozen backbone needs no gradients: at most half the operations, and no convolution backward."""
    frozen = bench_step(
        load_run("bbgm", "smoke", 0, optimiser=SMALL, network={"freeze_backbone": True}),
        steps=1,
    )
    assert 0 < frozen.gflop < report.gflop / 2
    assert "convolutions, backward" not in frozen.parts
    assert frozen.floor_ms > 0
    assert frozen.ratio == pytest.approx(frozen.cpu_ms / frozen.floor_ms)


def test_command_prints_parts_and_the_table_of_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "step", "--budget", "smoke", "--steps", "1", "--device", "cpu", "--profile"]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("floor", "spline convolution, forward", "aten::mm"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--device", "abacus"], "BBGM_DEVICE is 'abacus', but torch has only"),
        (["--method", "bbgm_untrained"], "trains nothing"),
        (["--steps", "0"], "--steps"),
    ],
)
def test_what_cannot_be_measured_is_an_error(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BBGM_DEVICE", raising=False)
    try:
        status = main(["bench", "step", "--budget", "smoke", *options])
    except SystemExit as error:  # of the parser
        status = int(str(error.code))
    assert status == 2
    assert expected in capsys.readouterr().err
