"""A SLURM cluster of one node on this machine, for tests and to try things out: everything it writes is in one folder.

    python tests/workflow/slurm/cluster.py snakemake --workflow-profile profiles/slurm --config budget=smoke

starts munged, slurmctld and slurmd, runs the command, and stops them. Nothing in /etc is read or written, and root is
not needed. On Debian: apt-get install slurm-wlm munge.

The node claims two GPUs. Links to /dev/null stand for the devices: SLURM then sets
``CUDA_VISIBLE_DEVICES`` as it would for real ones. Memory is measured each second, and a job that exceeds its request
is killed. No accounting: jobs are found with squeue.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
GPUS = 2
MEMORY_MIB = 16000

CONFIG = """
ClusterName=bbgm
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
MailProg=/bin/true
ReturnToService=2
# Jobs that have ended are remembered for so long (s): tests look at them.
MinJobAge=86400
# A container has no cgroup of its own: processes are found by their parent, and their memory is read from /proc.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/builtin
# From SIGTERM to SIGKILL at the end of a job's time (s).
KillWait=5
DefMemPerCPU=500
AccountingStorageType=accounting_storage/none
GresTypes=gpu
# The node may claim more memory, cores and GPUs than it has.
SlurmdParameters=config_overrides
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes=node Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    """Programs of SLURM and munge that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _daemon(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    """A program in the foreground, which is stopped at the end."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    command = ["sinfo", "--noheader", "--format=%T"]
    state = ""
    for _ in range(120):
        state = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()
        if state == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(f"{log}:\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))
    raise RuntimeError(f"the node of the SLURM cluster in {folder} is {state or 'not there'!r} after a minute\n{logs}")


@contextmanager
def start_cluster() -> Iterator[dict[str, str]]:
    """Start a cluster whose files are in a temporary folder; yields the environment for its commands.

    At the end all jobs are cancelled, the daemons are stopped, and the folder is deleted.

    Raises:
        RuntimeError: its node is not ready after a minute; includes the logs.
    """
    with tempfile.TemporaryDirectory(prefix="bbgm-slurm-") as name, _cluster_in(Path(name)) as environment:
        yield environment


@contextmanager
def _cluster_in(folder: Path) -> Iterator[dict[str, str]]:
    folder.chmod(0o755)  # munge wants it readable
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    content = CONFIG.format(
        folder=folder, host=host, user=user, ports=_free_ports(2), cpus=os.cpu_count(), memory=MEMORY_MIB, gpus=GPUS
    )
    (folder / "slurm.conf").write_text(content)
    for number in range(GPUS):
        (folder / f"gpu{number}").symlink_to("/dev/null")
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-{GPUS - 1}]\n")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    _write_srun(folder)
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_", "SRUN_"))}
    environment = {**outer, "PATH": f"{folder / 'bin'}:{PATH}", "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--foreground", "--num-threads=2", f"--socket={folder}/munge.socket"]
    munge += [f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed"]
    with ExitStack() as stack:
        stack.enter_context(_daemon(munge, folder / "munged.log", environment))
        stack.enter_context(_daemon(["slurmctld", "-D"], folder / "slurmctld.log", environment))
        stack.enter_context(_daemon(["slurmd", "-D", "-N", "node"], folder / "slurmd.log", environment))
        _wait_until_idle(environment, folder)
        try:
            yield environment
        finally:
            _cancel_all(environment, user)


def _write_srun(folder: Path) -> None:
    """Within a job, Snakemake's executor removes SLURM_CONF before it calls srun, which would then look in /etc."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "srun"
    script.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=PATH)} "$@"\n')
    script.chmod(0o755)


def _cancel_all(environment: dict[str, str], user: str) -> None:
    subprocess.run(["scancel", f"--user={user}"], env=environment, capture_output=True, check=False)
    for _ in range(60):
        left = subprocess.run(["squeue", "--noheader"], env=environment, capture_output=True, text=True, check=False)
        if not left.stdout.strip():
            return
        time.sleep(0.5)


def main() -> int:
    """Run a command with a cluster."""
    if missing := missing_programs():
        print(f"not installed: {', '.join(missing)}; on Debian: apt-get install slurm-wlm munge", file=sys.stderr)
        return 1
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with start_cluster() as environment:
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
