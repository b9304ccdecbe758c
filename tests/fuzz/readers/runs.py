"""Other files of a run's folder: the learning curve, the record, the split, the test pairs."""

import shutil
from collections.abc import Callable
from pathlib import Path

from bbgm.base.paths import project_root
from bbgm.runs.results import load
from bbgm.runs.superseded import make_room
from tests.fuzz.check import Subject
from tests.fuzz.readers.config import STORED


def _stored() -> list[Path]:
    return sorted(project_root().glob(f"{STORED}/*/*/*/*"))


def _copy_run(folder: Path) -> None:
    shutil.copytree(_stored()[-1], folder, dirs_exist_ok=True)


def _seeds(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(folder / name).read_bytes()[: 1 << 15] for folder in _stored()]


HISTORY = Subject(
    file="history.csv",
    read=lambda folder: load(folder).history,
    prepare=_copy_run,
    seeds=lambda: [(folder / "history.csv").read_bytes()[:2000].rpartition(b"\n")[0] for folder in _stored()],
    words=(b"epoch", b",", b"\n", b"\r", b'"', b"," * 300, b"1e999", b"loss"),
    text=True,
)


def _read_metrics(folder: Path) -> None:
    make_room(folder / "none", load(folder).config)
    load(folder)


METRICS = Subject(
    file="metrics.json",
    read=_read_metrics,
    prepare=_copy_run,
    seeds=lambda: [(_stored()[-1] / "metrics.json").read_bytes()],
    words=(
        b'"checksums": {"metrics.json": "' + b"0" * 64 + b'"},',
        b'"checksums"',
        b'"../x"',
        b'"' + b"y" * 300 + b'": "",',
        b'"sets"',
    ),
    text=True,
)
SPLIT = Subject(
    file="split.json",
    read=lambda folder: load(folder).split,
    prepare=_copy_run,
    seeds=_seeds("split.json"),
    text=True,
)
TEST_PAIRS = Subject(
    file="test_pairs.json",
    read=lambda folder: load(folder).test_pairs,
    prepare=_copy_run,
    seeds=lambda: [
        b'{\n"Car": [\n["Car/a", "Car/b"],\n["Car/b", "Car/c"]\n],\n"Duck": [\n["Duck/a", "Duck/b"]\n]\n}\n'
    ],
    text=True,
)
