"""Commands in this process, with results in a folder of the test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm.cli import main


@pytest.fixture(autouse=True)
def _results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))


@pytest.fixture
def error_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Gives the one line that a failing command prints."""

    def run(*arguments: str) -> str:
        try:
            status = main(arguments)
        except SystemExit as error:  # raised by the parser
            status = int(error.code or 0)
        output = capsys.readouterr()
        assert status == 2
        assert output.out == ""
        assert output.err.startswith("bbgm: error: ")
        assert output.err.count("\n") == 1
        return output.err

    return run
