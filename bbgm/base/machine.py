"""What a result was computed with: versions, hardware and peak memory, for the run's record."""

import os
import platform
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bbgm.base.paths import project_root

PACKAGES = ("bbgm", "bbgm-solver", "torch", "torchvision", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Version of Python and of each package that a number can depend on ("not installed" where it is not)."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """Commit of the checkout, followed by "+" where tracked files have changed since; "unknown" where there is none."""
    try:
        folder = str(project_root())
        git = ["git", "-C", folder]
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head[:12] + ("+" if changed else "")


def device() -> str:
    """The device that torch computes on: ``BBGM_DEVICE``, else "cuda" if there is a GPU, else "cpu".

    Raises:
        ValueError: there is no such device.
    """
    import torch

    found = ["cpu"]
    if torch.cuda.is_available():
        found = ["cuda", *(f"cuda:{k}" for k in range(torch.cuda.device_count())), "cpu"]
    name = os.environ.get("BBGM_DEVICE") or found[0]
    if name not in found:
        raise ValueError(f"BBGM_DEVICE is {name!r}, but torch has only {found} here")
    return name


def usable_cores() -> int:
    """Number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """Name of the processor, with its family and model where they are known.

    Several kinds can share a name, such as "AMD EPYC" in a virtual machine, and the last bits of a run's numbers depend
    on the kind.
    """
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = (line.partition(":") for line in info.read_text(errors="replace").partition("\n\n")[0].splitlines())
        found = {name.strip(): value.strip() for name, _, value in lines}
        if "model name" in found:
            kind = f", family {found['cpu family']} model {found['model']}" if "cpu family" in found else ""
            return found["model name"] + kind
    return platform.processor() or platform.machine()


def hardware(device: str = "cpu") -> dict[str, Any]:
    """CPU model, usable cores, memory in GiB, and the GPU's name where ``device`` is one (else None)."""
    gpu = None
    if device.startswith("cuda"):
        import torch

        gpu = torch.cuda.get_device_name(device)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": cpu_model(), "cores": usable_cores(), "memory_gib": round(memory, 1), "gpu": gpu}


def peak_memory_mib() -> float:
    """Largest resident memory that this process has had so far, MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)


class PeakMemory:
    """Resident memory from now on, MiB. Linux forgets the peak before; elsewhere it counts."""

    def __init__(self) -> None:
        if self._linux():
            Path("/proc/self/clear_refs").write_text("5")

    def now(self) -> float:
        """What is held; elsewhere than on Linux, the largest so far."""
        return self._status("VmRSS") if self._linux() else peak_memory_mib()

    def largest(self) -> float:
        """The most that was held."""
        return self._status("VmHWM") if self._linux() else peak_memory_mib()

    @staticmethod
    def _linux() -> bool:
        return sys.platform == "linux"

    @staticmethod
    def _status(name: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 2**10 for line in lines if line.startswith(f"{name}:"))
