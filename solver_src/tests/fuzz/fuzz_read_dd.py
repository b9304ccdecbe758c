"""Fuzzes read_dd: python fuzz_read_dd.py SECONDS [CORPUS_FOLDER].

Under atheris (pip install atheris) coverage steers the bytes; without it they are random changes of valid files.
Only ValueError may come out, and what is read must survive write_dd and read_dd.
"""

import lzma
import random
import sys
import tempfile
import time
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None
else:
    with atheris.instrument_imports(include=["bbgm_solver.dd"]):
        import bbgm_solver.dd

import bbgm_solver as gm
import numpy as np

VALID = [
    b"p 2 2 3 1\na 0 0 0 -1\na 1 0 1 -2.5\na 2 1 1 1e-3\ne 0 2 -7\n",
    b"c comment\np 1 30 1 0\ni0 0 1.0 2.0\na 5 0 29 3\n",
    b"gm 0 1\np 1 1 1 0\na 0 0 0 -1\ngm 0 2\np 1 2 0 0\n",
    b"p 0 0 0 0\n",
    b"\xef\xbb\xbf# other programs\nch\np 2 2 3 1\ne 0 1 -1\na 0 0 0 -1\na 1 1 1 1\na 2 0 18446744073709551615 3\n",
]
WORDS = [
    b"p ",
    b"a ",
    b"e ",
    b"gm ",
    b"\n",
    b" ",
    b"-1",
    b"9999999999",
    b"nan",
    b"inf",
    b"1e400",
    b"0x1",
    b"1_0",
    b"c",
    b"#",
]
WORDS += [b"18446744073709551615", b"\xef\xbb\xbf", b"\xff\xfe"]


def content(read: gm.Problem | dict[tuple[int, int], gm.Problem]) -> list[object]:
    """All that a file holds, to the last bit."""
    if isinstance(read, dict):
        return [(key, content(problem)) for key, problem in read.items()]
    arrays = (read.assignments, read.costs, read.terms, read.term_costs, read.unmatched1 + 0.0, read.unmatched2 + 0.0)
    return [read.n1, read.n2, *(np.ascontiguousarray(array).tobytes() for array in arrays)]


def check(data: bytes, folder: Path) -> None:
    """The first byte says how the rest is packed: as it is, .xz of it, or it is a .xz file."""
    kind = data[0] % 3 if data else 0
    path = folder / ("a.dd" if kind == 0 else "a.dd.xz")
    path.write_bytes(lzma.compress(data[1:], preset=0) if kind == 1 else data[1:])
    try:
        read = gm.read_dd(path)
    except ValueError:
        return
    gm.write_dd(path, read)
    again = gm.read_dd(path)
    assert content(read) == content(again)


def seeds() -> list[bytes]:
    return [bytes([kind]) + (lzma.compress(text) if kind == 2 else text) for text in VALID for kind in (0, 1, 2)]


def changed(data: bytes, rng: random.Random) -> bytes:
    """A few bytes, words or stretches of `data` replaced, removed, inserted or doubled."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.choice((0, 1, 1, 2, 8)))
        put = rng.choice((b"", bytes([rng.randrange(256)]), rng.choice(WORDS), 2 * data[at:end]))
        data = data[:at] + put + data[end:]
    return data


def main(seconds: int, corpus: Path | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if atheris is not None:
            corpus = corpus or folder / "corpus"
            corpus.mkdir(parents=True, exist_ok=True)
            for k, data in enumerate(seeds()):
                (corpus / f"seed{k}").write_bytes(data)
            arguments = [sys.argv[0], str(corpus), f"-max_total_time={seconds}", "-max_len=400"]
            arguments.append(f"-artifact_prefix={corpus}-")
            atheris.Setup(arguments, lambda data: check(data, folder))
            atheris.Fuzz()
            return
        rng, end, count = random.Random(0), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            data = changed(rng.choice(seeds()), rng)
            count += 1
            try:
                check(data, folder)
            except Exception:
                print(f"read_dd fails on {data!r}", file=sys.stderr)
                raise
        print(f"read_dd: {count} inputs, nothing but ValueError (without atheris: no coverage)")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
