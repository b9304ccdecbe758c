"""``python -m tests.fuzz [READER ...] [--seconds N] [--folder DIR] [--seed N]``: fuzz readers one after the other.

Under atheris (pip install atheris) coverage steers the changes; without it they are random changes of genuine files,
the same for the same seed. An input that is a finding is written to DIR/<reader>-<hash>, and the exit status is 1;
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
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

from tests.fuzz.check import Finding, check
from tests.fuzz.mutate import changed
from tests.fuzz.subjects import SUBJECTS, load

LONGEST = 1 << 16
"""Bytes of an input."""
SPARE = 6 * 2**30
"""Bytes of address space beyond what is in use at the start: a bomb must not take the machine down."""


def fuzz(name: str, seconds: int, folder: Path, seed: int) -> None:
    """Fuzz one reader in this process."""
    if atheris is None:
        subject = load(name)
    else:
        with atheris.instrument_imports(include=["bbgm", "bbgm_solver", "yaml"]):
            subject = load(name)
    _limit_memory()
    seeds = subject.seeds()
    count = [0, 0]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        subject.prepare(place)

        def one(data: bytes) -> None:
            count[0] += 1
            try:
                count[1] += check(subject, data, place)
            except Finding:
                path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:10]}"
                path.write_bytes(data)
                traceback.print_exc()
                print(f"{name}: a finding after {count[0]} inputs: {path}", flush=True)
                os._exit(1)

        for data in seeds:
            one(data)
        if count[1] < len(seeds):
            raise SystemExit(f"{name}: only {count[1]} of {len(seeds)} genuine files are accepted")
        end = time.monotonic() + seconds
        if atheris is None:
            rng = random.Random(seed)
            while time.monotonic() < end:
                one(changed(rng.choice(seeds), seeds, subject.words, subject.text, rng)[:LONGEST])
        else:
            _steered(one, subject, seeds, seconds, folder / f"{name}-corpus", seed, lambda: _report(name, count))
    _report(name, count)


def _report(name: str, count: list[int]) -> None:
    how = "steered by coverage" if atheris is not None else "random changes"
    print(f"{name}: {count[0]} inputs, {count[1]} of them accepted, no finding ({how})", flush=True)


def _steered(one, subject, seeds, seconds, corpus, seed, report) -> None:  # type: ignore[no-untyped-def]
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(data)
    end = time.monotonic() + seconds

    def test(data: bytes) -> None:
        if time.monotonic() > end:  # libFuzzer's own end does not come back to Python
            report()
            os._exit(0)
        one(data)

    def mutate(data: bytes, longest: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.4:
            return bytes(atheris.Mutate(data, longest))
        return changed(data or rng.choice(seeds), seeds, subject.words, subject.text, rng)[:longest]

    options = [f"-max_len={LONGEST}", "-timeout=120", "-rss_limit_mb=0", f"-seed={seed + 1}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], str(corpus), *options], test, custom_mutator=mutate)
    atheris.Fuzz()


def _limit_memory() -> None:
    status = Path("/proc/self/statm")
    if status.is_file():
        in_use = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE, in_use + SPARE))


def main() -> int:
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
        subject = load(names[0])
        with tempfile.TemporaryDirectory() as temporary:
            subject.prepare(Path(temporary))
            print("accepted" if check(subject, options.input.read_bytes(), Path(temporary)) else "refused")
        return 0
    if len(names) == 1:
        fuzz(names[0], options.seconds, options.folder.resolve(), options.seed)
        return 0
    # A process for each: a coverage-guided fuzzer never returns.
    rest = ["--seconds", str(options.seconds), "--folder", str(options.folder), "--seed", str(options.seed)]
    failed = [
        name
        for name in names
        if subprocess.run([sys.executable, "-m", "tests.fuzz", name, *rest], check=False).returncode
    ]
    if failed:
        print(f"findings in {', '.join(failed)}: see {options.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
