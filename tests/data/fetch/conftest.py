"""A download of a small thing, and the check that it is right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbgm.data.fetch import download as module
from bbgm.data.fetch.download import download
from bbgm.data.fetch.sources import Item


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0)


@pytest.fixture
def get(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, item: dict[str, Any]) -> Callable[..., Path]:
    """Download the thing from the given mirrors; further keys replace those of its table."""

    def run(*mirrors: str, **keys: Any) -> Path:
        table = Item(**{**item, "mirrors": mirrors, **keys})
        monkeypatch.setattr("bbgm.data.fetch.sources.registry", lambda: {"thing": table})
        return download("thing", tmp_path)

    return run


@pytest.fixture
def assert_right(content: dict[str, bytes]) -> Callable[[Path], None]:
    """Checks that the tree holds the data set and nothing else; no archive and no part is left over."""

    def check(place: Path) -> None:
        found = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        assert found == content
        assert list((place.parent / ".download" / "thing").iterdir()) == []

    return check
