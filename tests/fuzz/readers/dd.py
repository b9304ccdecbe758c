"""Instances in the .dd format; the solver's own tests fuzz the round trip (solver_src/tests/fuzz)."""

import lzma
from pathlib import Path

import bbgm_solver

from tests.fuzz.check import Subject

FILES = (
    b"p 2 2 3 1\na 0 0 0 -1\na 1 0 1 -2.5\na 2 1 1 1e-3\ne 0 2 -7\n",
    b"c comment\np 1 30 1 0\ni0 0 1.0 2.0\na 5 0 29 3\n",
    b"gm 0 1\np 1 1 1 0\na 0 0 0 -1\ngm 0 2\np 1 2 0 0\n",
    b"p 0 0 0 0\n",
    b"\xef\xbb\xbf# other programs\nch\np 2 2 3 1\ne 0 1 -1\na 0 0 0 -1\na 1 1 1 1\na 2 0 18446744073709551615 3\n",
)


def pack(data: bytes) -> bytes:
    """A first byte of 1: compress the rest."""
    return lzma.compress(data[1:], preset=0) if data[:1] == b"\x01" else data[1:]


def _read(folder: Path) -> object:
    return bbgm_solver.read_dd(folder / "a.dd.xz")


def _seeds() -> list[bytes]:
    return [b"\x01" + text for text in FILES] + [b"\x00" + lzma.compress(FILES[0], preset=0)]


SUBJECT = Subject(
    file="a.dd.xz",
    read=_read,
    seeds=_seeds,
    pack=pack,
    words=(b"p ", b"a ", b"e ", b"gm ", b"gm 0 1\np 10000 10000 0 0\n", b"c", b"#", b"18446744073709551615"),
    text=True,
)
