"""papermill's command line for jobs of the pipeline, which may be stopped or killed at any moment.

1. It starts a second faster: on import, `jsonschema` compiles a grammar of internationalised addresses, if
   `rfc3987_syntax` is there, for a check that notebooks do not need. A pipeline starts papermill some fifty times.
2. The kernel ends with papermill, and papermill with Snakemake, also if they are killed (SIGKILL).
3. The kernel is that of this Python, whatever else is called `python3`, and needs no home folder
   (`bbgm.base.account`).
4. SIGTERM and Ctrl-C are passed on to the kernel, where a run in progress writes a checkpoint. The exit status is then
   143 or 130, and nothing else is reported. A second signal kills the kernel.
5. The kernel listens on sockets in a folder of its own. Ports are chosen before the kernel opens them, and another
   kernel may be faster. Where sockets cannot be used, a kernel that found its port in use is started again.
6. The error says so where a kernel was killed, most likely because the memory did not suffice.
7. What is stored of a widget is its picture. Its state would be of no use without the kernel, and viewers would look
   for the program that shows it on the internet.
8. The notebook of a run gets a checksum (`bbgm.runs.checks.notebook`).
"""

import sys

if __name__ == "__main__":
    # The folder of this file comes first, where `import papermill` would find this file.
    sys.path = sys.path[1:]
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # as if it were not installed

import ctypes
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from bbgm.base.account import provide_folders, put_own_kernel_first
from bbgm.base.atomic import try_lock, write_error
from bbgm.base.stopping import TERMINATED, WORKS_FOR, Terminated, end_with
from bbgm.runs.checks.notebook import NOTEBOOK, seal_notebook

provide_folders()  # before what reads these variables
put_own_kernel_first()

from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from papermill.cli import papermill  # noqa: E402
from papermill.engines import NBClientEngine, papermill_engines  # noqa: E402
from papermill.exceptions import PapermillExecutionError  # noqa: E402

FOLDER = "bbgm-kernel-"
ATTEMPTS = 5
"""So often a kernel is started that finds its port in use."""
LONGEST = 90
"""Bytes of a socket's path; some systems allow 104."""
SETTLED = 5
"""Age in s from which the folder of another papermill has its lock, if it still works."""
DEAD_KERNEL = 138
"""papermill's own exit status after the death of a kernel."""
WIDGET = "application/vnd.jupyter.widget-view+json"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class Job:
    """This process: its folder, its kernel, and the signal that asked it to stop."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self.lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try_lock(self.lock)
        self.kernel: Any = None  # a subprocess.Popen
        self.stopped_by: int | None = None

    def stop(self, signum: int, _frame: FrameType | None) -> None:
        """Handle SIGTERM and Ctrl-C."""
        again, self.stopped_by = self.stopped_by is not None, signum
        if self.kernel is None or self.kernel.poll() is not None:
            raise SystemExit(128 + signum)
        self.kernel.send_signal(signal.SIGKILL if again else signal.SIGTERM)

    def close(self) -> None:
        """End the kernel, and remove the folder, and those of papermills that were killed."""
        if self.kernel is not None and self.kernel.poll() is None:
            self.kernel.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
            with suppress(OSError):  # of another user, or removed by another papermill
                handle = os.open(folder / ".lock", os.O_RDWR)
                try:
                    if time.time() - folder.stat().st_mtime > SETTLED and try_lock(handle):
                        shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(handle)


def has_sockets(folder: Path) -> bool:
    """Whether a kernel can listen on sockets in a folder."""
    path = folder / "kernel-ipc-0"
    if len(os.fsencode(path)) > LONGEST:
        return False
    try:
        with socket.socket(socket.AF_UNIX) as trial:
            trial.bind(str(path))
        path.unlink()
    except OSError:
        return False
    return True


def die_with(parent: int) -> Callable[[], None] | None:
    """What a new process has to do so that it is killed when its parent ends; None where the system has no such thing.

    There the kernel itself looks every second whether its parent is still there.
    """
    if LIBC is None:
        return None
    prctl = LIBC.prctl  # looked up now: between fork and exec, little is safe

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it has ended in the meantime
            os._exit(1)

    return ask


class Kernel(AsyncKernelManager):
    """Starts the kernel of a job."""

    job: Job

    async def start_kernel(self, **settings: Any) -> None:
        """As in the base class."""
        self.connection_file = str(self.job.folder / "kernel.json")
        if has_sockets(self.job.folder):
            self.transport = "ipc"
        else:
            settings["stderr"] = (self.job.folder / "stderr").open("wb")
        await self._async_start_kernel(preexec_fn=die_with(os.getpid()), **settings)
        self.job.kernel = self.provisioner.process


def make_engine(job: Job, kernel: type[Kernel] = Kernel) -> type[NBClientEngine]:
    """The engine that executes a notebook with the kernel of a job."""
    manager = type("Kernel", (kernel,), {"job": job})

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, *arguments: Any, **settings: Any) -> Any:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    super().execute_managed_notebook(*arguments, kernel_manager_class=manager, **settings)
                    keep_pictures(arguments[0].nb)
                    return
                except RuntimeError:  # it died before it was ready
                    if attempt == ATTEMPTS or "Address already in use" not in said(job):
                        raise
                    print("papermill: another program took the kernel's port; starting it again", file=sys.stderr)
                finally:
                    sys.stderr.write(said(job))
            raise AssertionError

    return Engine


def keep_pictures(notebook: Any) -> None:
    """Leave of each widget in an executed notebook what viewers show that have no widgets."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET, None)


def said(job: Job) -> str:
    """What a kernel without sockets has written to its stderr."""
    with suppress(OSError):
        return (job.folder / "stderr").read_text(errors="replace")
    return ""


def explain_death(job: Job) -> str:
    """Why the kernel ended, and what to do."""
    status = job.kernel.poll()
    if status is None or status >= 0:
        return f"the kernel ended with status {status} before the notebook did; what it wrote is above"
    name = signal.Signals(-status).name
    if name != "SIGKILL":
        return f"the kernel died of {name}; what it wrote is above. A run resumes from its last checkpoint"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"the kernel was killed (SIGKILL), most likely because the memory ran out (this machine has {memory:.0f} GiB; "
        "a container or a cluster's job may have less). Run fewer jobs at a time (snakemake --cores 1), give the job "
        "more (mem_mb in profiles/slurm/profile.yaml, or the limit of the container), or lower optimiser.batch_size. "
        "A run resumes from its last checkpoint"
    )


def execute(job: Job) -> int:
    """Execute the notebook; returns the exit status."""
    try:
        papermill()
    except (PapermillExecutionError, RuntimeError, SystemExit, OSError) as error:
        if job.stopped_by is not None:
            print("papermill: stopped; a run resumes where it was when it is started again", file=sys.stderr)
            return 128 + job.stopped_by
        if isinstance(error, PapermillExecutionError) and error.ename == Terminated.__name__:
            print(f"papermill: {error.evalue}", file=sys.stderr)
            return TERMINATED
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return 0
        if isinstance(error, SystemExit) and error.code == DEAD_KERNEL:
            print(f"papermill: {explain_death(job)}", file=sys.stderr)
            return DEAD_KERNEL
        if isinstance(error, OSError):
            print(f"papermill: {write_error(error, Path(error.filename or sys.argv[2]))}", file=sys.stderr)
            return 1
        raise
    finally:
        job.close()
    return 0


def main() -> int:
    """Execute the notebook, and give it a checksum if it is that of a run; returns the exit status."""
    job = Job()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, job.stop)
    end_with(os.getppid(), job.close)
    if workflow := os.environ.get(WORKS_FOR):
        end_with(int(workflow), job.close)
    papermill_engines.register(None, make_engine(job))
    status = execute(job)
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
    if status == 0 and output.name == NOTEBOOK:
        try:
            seal_notebook(output)
        except OSError as error:
            print(f"papermill: {error}", file=sys.stderr)
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
