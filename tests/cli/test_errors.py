"""What goes wrong in a command: exit status 2 and one line for each error; 130 where it is interrupted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm.base.paths import instances_root
from bbgm.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["train", "--seed", "one"], "--seed: invalid int value: 'one'"),
        (["train", "--sed", "1"], "unrecognized arguments: --sed 1"),
        (["train", "--method", "sgd"], "'sgd' is not one of ['aimle', 'bbgm', "),
        (["train", "--budget", "huge"], "'huge' is not one of ['animals', 'animals_short', 'demo'"),
        (
            ["train", "--filter", "all"],
            "protocol.filter: Input should be 'intersection', 'inclusion' or 'unfiltered' (given: 'all')",
        ),
        (["train", "--seed", "-1"], "seed: Input should be greater than or equal to 0 (given: -1)"),
        (["evaluate", "nowhere"], "nowhere is not the folder of a finished run: it does not exist"),
        (["plan", "--measured", "nowhere"], "nowhere is not the folder of a finished run: it does not exist"),
        (["plan", "--measured", "tests"], "tests is not the folder of a finished run: it lacks config.yaml"),
        (
            ["train", "--method", "flow_pt"],
            "a variant of one of them, whose name ends in one of _pretrain, _pt, _pt_wt",
        ),
        (["match", "nowhere", "a", "b"], "it does not exist"),
        (["table", "Pillow"], "table 'Pillow' is not one of ['PascalVOCSampling'"),
        (["table", "Willow", "--budget", "smoke"], "no finished run"),
        (["solve", "nothing.dd"], "no file nothing.dd: give a .dd or .dd.xz file"),
        (["bench", "solver", "nowhere"], "nowhere"),
        (["data", "demo", "--images", "1"], "images_per_class is 1, must be at least 4"),
        (["train", "--budget", "smoke", "--seed", str(2**64)], "seed: Input should be less than"),
    ],
)
def test_errors_are_one_line(error_of: Callable[..., str], arguments: list[str], message: str) -> None:
    assert message in error_of(*arguments)


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(ValueError, match="not one of"):
        main(["--debug", "train", "--method", "sgd"])


@pytest.mark.parametrize("error", [RuntimeError("CUDA is out\nof memory"), MemoryError()])
def test_errors_of_torch_are_one_line(
    error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_options: object) -> None:
        raise error

    monkeypatch.setattr("bbgm.data.status.data_status", fail)
    assert (" ".join(str(error).split()) or "MemoryError") in error_of("data", "status")


@pytest.mark.parametrize("place", ["bbgm.cli.make_parser", "bbgm.data.status.data_status"])
def test_an_interrupt_is_one_line_and_status_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupt(*_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert main(["data", "status"]) == 130
    assert capsys.readouterr().err == "bbgm: interrupted\n"


def test_a_root_of_an_unknown_user_is_named(error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("BBGM_DATA", "BBGM_CACHE"):
        monkeypatch.setenv(variable, "~nobody_of_that_name/data")
        message = f"{variable} is '~nobody_of_that_name/data': there is no such user"
        assert message in error_of("data", "status")
        monkeypatch.delenv(variable)


def test_a_root_that_is_no_checkout(
    error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    assert f"no Snakefile in {tmp_path}: BBGM_ROOT is not the checkout's folder" in error_of("train")


def test_a_folder_of_instances_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_INSTANCES", str(tmp_path))
    assert instances_root() == tmp_path
    monkeypatch.setenv("BBGM_INSTANCES", str(tmp_path / "gone"))
    with pytest.raises(ValueError, match=r"BBGM_INSTANCES is .*gone'.*unset it"):
        instances_root()


def test_missing_images_are_named_and_nothing_is_written(
    error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BBGM_DATA", str(tmp_path / "empty"))
    message = error_of("train", "--budget", "willow")
    assert str(tmp_path / "empty" / "WILLOW-ObjectClass") in message
    assert "BBGM_DATA" in message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
