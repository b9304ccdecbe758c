"""``python -m tests.fuzz [READER ...] [--seconds N] [--folder DIR] [--seed N]``: fuzz readers one after the other.

The inputs are changes of genuine files, the same for the same seed. Under atheris (pip install atheris) coverage steers
the changes. An input that is a finding is written to DIR/<reader>-<hash>, and the exit status is 1;
``python -m tests.fuzz READER --input FILE`` reads it again.
"""

import argparse
import hashlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

from tests.fuzz.check import Finding, Subject, check
from tests.fuzz.mutate import changed
from tests.fuzz.subjects import SUBJECTS, load

LONGEST = 1 << 16
"""Bytes of an input."""
SPARE = 6 * 2**30
"""Bytes of address space beyond what is in use at the start: a bomb must not take the machine down."""
IN_MEMORY = Path("/dev/shm")


class Session:
    """The inputs of one reader so far."""

    def __init__(self, name: str, subject: Subject, place: Path, findings: Path) -> None:
        self.name, self.subject, self.place, self.findings = name, subject, place, findings
        self.inputs = self.accepted = 0
        self.begun = time.process_time()
        subject.prepare(place)

    def read(self, data: bytes) -> bool:
        """Read one input; False if it is a finding, which is reported."""
        self.inputs += 1
        try:
            self.accepted += check(self.subject, data, self.place)
        except Finding:
            path = self.findings / f"{self.name}-{hashlib.sha256(data).hexdigest()[:10]}"
            path.write_bytes(data)
            traceback.print_exc()
            print(f"{self.name}: a finding after {self.inputs} inputs: {path}", flush=True)
            return False
        return True

    def report(self, how: str) -> None:
        """One line about the inputs."""
        seconds = time.process_time() - self.begun
        counts = f"{self.inputs} inputs, {self.accepted} of them accepted, {seconds:.0f} s of processor time"
        print(f"{self.name}: {counts}, no finding ({how})", flush=True)


def fuzz(name: str, seconds: int, folder: Path, seed: int) -> bool:
    """Fuzz one reader in this process; False after a finding."""
    if atheris is None:
        subject = load(name)
    else:
        with atheris.instrument_imports(include=["bbgm", "bbgm_solver", "yaml"]):
            subject = load(name)
    seeds = subject.seeds()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as place, _limited_memory():
        session = Session(name, subject, Path(place), folder)
        if not all(map(session.read, seeds)):
            return False
        if session.accepted < len(seeds):
            print(f"{name}: only {session.accepted} of {len(seeds)} genuine files are accepted", flush=True)
            return False
        end = time.monotonic() + seconds
        if atheris is not None:
            _steer(session, seeds, end, folder / f"{name}-corpus", seed)
        rng = random.Random(seed)
        while time.monotonic() < end:
            if not session.read(_next(subject, rng.choice(seeds), seeds, rng)):
                return False
        session.report("random changes")
    return True


def _next(subject: Subject, data: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    return changed(data, seeds, subject.words, subject.text, rng)[:LONGEST]


def _steer(session: Session, seeds: list[bytes], end: float, corpus: Path, seed: int) -> None:
    """Hand over to libFuzzer, which ends the process."""
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(data)

    def test(data: bytes) -> None:
        if time.monotonic() > end:
            session.report("steered by coverage")
            os._exit(0)
        if not session.read(data):
            os._exit(1)

    def mutate(data: bytes, longest: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.4:
            return bytes(atheris.Mutate(data, longest))
        return _next(session.subject, data or rng.choice(seeds), seeds, rng)[:longest]

    options = [f"-max_len={LONGEST}", "-timeout=600", "-rss_limit_mb=0", f"-seed={seed + 1}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], str(corpus), *options], test, custom_mutator=mutate)
    atheris.Fuzz()


@contextmanager
def _limited_memory() -> Iterator[None]:
    status, before = Path("/proc/self/statm"), resource.getrlimit(resource.RLIMIT_AS)
    if status.is_file():
        in_use = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def main() -> int:
    """Exit status: 0; 1 after a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"default all: {', '.join(SUBJECTS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader (default %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz/readers"), help="for findings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--input", type=Path, help="read this file only")
    options = parser.parse_args()
    if unknown := [name for name in options.readers if name not in SUBJECTS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(SUBJECTS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    names = options.readers or list(SUBJECTS)
    if options.input:
        with tempfile.TemporaryDirectory() as place:
            session = Session(names[0], load(names[0]), Path(place), options.folder)
            print("accepted" if check(session.subject, options.input.read_bytes(), Path(place)) else "refused")
        return 0
    one: Callable[[str], bool] = lambda name: fuzz(name, options.seconds, options.folder.resolve(), options.seed)  # noqa: E731
    if atheris is not None and len(names) > 1:  # a process for each: libFuzzer does not come back
        rest = ["--seconds", str(options.seconds), "--folder", str(options.folder), "--seed", str(options.seed)]
        command = [sys.executable, "-m", "tests.fuzz"]
        one = lambda name: not subprocess.run([*command, name, *rest], check=False).returncode  # noqa: E731
    if failed := [name for name in names if not one(name)]:
        print(f"findings in {', '.join(failed)}: see {options.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
