"""Real instances, and Ctrl-C as it is outside a shell's background jobs."""

import os
import signal
from pathlib import Path

import pytest

# A shell ignores Ctrl-C in what it starts in the background, and so would all that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def solver_folder() -> Path:
    """The folder that holds CMakeLists.txt."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def instances_folder() -> Path:
    """Graph matching instances with best known values; skips where they are absent."""
    value = os.environ.get("BBGM_INSTANCES")
    if not value:
        pytest.skip("graph matching instances: BBGM_INSTANCES is not set")
    folder = Path(value).expanduser().resolve()
    if not folder.is_dir():
        pytest.skip(f"graph matching instances: BBGM_INSTANCES is {folder}, which does not exist")
    return folder
