"""What a run says about the machine, and the choice of its device."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bbgm.base.machine import cpu_model, device, hardware, peak_memory_mib, versions


def test_versions_and_hardware_are_recorded() -> None:
    assert set(versions()) >= {"python", "bbgm", "bbgm-solver", "torch", "numpy"}
    found = hardware()
    assert found["cores"] >= 1
    assert found["memory_gib"] > 0
    assert found["cpu"]
    assert found["gpu"] is None
    assert peak_memory_mib() > 1
    json.dumps([versions(), found])


@pytest.mark.skipif(not Path("/proc/cpuinfo").is_file(), reason="no /proc/cpuinfo")
def test_the_processor_is_named_with_its_kind() -> None:
    """Where Linux tells it: of x86."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    family = re.search(r"^cpu family\s*: (\d+)$", info, re.MULTILINE)
    if family is None:
        pytest.skip("another architecture")
    assert re.search(rf", family {family[1]} model \d+$", cpu_model())


def test_a_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DEVICE", "cpu")
    assert device() == "cpu"
    monkeypatch.delenv("BBGM_DEVICE")
    assert device() in ("cpu", "cuda")
    for name in ("gpu", "cuda:99", "meta"):
        monkeypatch.setenv("BBGM_DEVICE", name)
        with pytest.raises(ValueError, match=rf"BBGM_DEVICE is '{name}', but torch has only \[.*'cpu'\] here"):
            device()


PEAK = """
import numpy as np
from bbgm.base.machine import PeakMemory
memory = PeakMemory()
before = memory.now()
np.ones(8 * 2**20)  # 64 MiB, given back at once
print(memory.largest() - before, PeakMemory().largest() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_the_peak_is_what_was_held_since() -> None:
    """In a process of its own: in that of the tests, the system may take unused memory back meanwhile."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    first, forgotten = map(float, done.stdout.split())
    assert 50 < first < 80
    assert forgotten < 20
