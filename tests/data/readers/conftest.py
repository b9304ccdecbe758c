"""A folder of images to read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.config import DataConfig, make_data
from bbgm.data.readers.folder import FILE
from tests.support.folders import SIZE, entry


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., DataConfig]:
    """Writes keypoints.json beside six images; returns the configuration that reads it."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    for k in range(6):
        pixels = np.random.default_rng(k).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "mine" / f"{k}.png")

    def write(content: Any = None, **data: Any) -> DataConfig:
        if content is None:
            content = [entry(k) for k in range(6)]
        if isinstance(content, list):
            content = {"images": content}
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "mine" / FILE).write_text(text)
        return make_data("folder", **{"source": "original", "root": "mine", **data})

    return write
