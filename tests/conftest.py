"""Roots of the real data, one thread a process, no display: the same for every test and for what a test starts."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from bbgm.base.account import provide_folders

ROOT = Path(__file__).resolve().parents[1]

os.environ.setdefault("BBGM_ROOT", str(ROOT))
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")
for _variable, _folder in {"BBGM_DATA": "data", "BBGM_WEIGHTS": "weights", "BBGM_INSTANCES": "instances"}.items():
    _shared = ROOT.parent / "shared" / _folder
    if _shared.is_dir():
        os.environ.setdefault(_variable, str(_shared))
    if _variable in os.environ:  # tests and notebooks work in other folders
        os.environ[_variable] = str(Path(os.environ[_variable]).expanduser().resolve())

provide_folders()  # a test fails on what a program of others says about a home folder that it cannot write to

# A shell ignores Ctrl-C in what it starts in the background, and so would all that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no limit on the time of one: the machine may be busy.
settings.register_profile("bbgm", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("bbgm")


def _folder_or_skip(variable: str, what: str, inside: str = "") -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{what}: {variable} is not set")
    folder = Path(value) / inside
    if not folder.exists():
        pytest.skip(f"{what}: {folder} does not exist")
    return folder


@pytest.fixture(scope="session")
def project() -> Path:
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def willow_folder() -> Path:
    """The real Willow ObjectClass; skips where it is absent."""
    return _folder_or_skip("BBGM_DATA", "real Willow images", "WILLOW-ObjectClass")


@pytest.fixture(scope="session")
def weights_folder() -> Path:
    """Pretrained backbone weights; skips where they are absent."""
    return _folder_or_skip("BBGM_WEIGHTS", "pretrained weights")


@pytest.fixture(scope="session")
def instances_folder() -> Path:
    """Graph matching instances with best known values; skips where they are absent."""
    return _folder_or_skip("BBGM_INSTANCES", "graph matching instances")
