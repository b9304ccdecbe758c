"""Numbers in MATLAB files, as MATLAB's options -v6 and -v7 and SciPy write them (level 5).

Every length is checked before it is used: SciPy's own reader kills the process on some damaged files. What is
compressed is unpacked up to a limit.
"""

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from bbgm.base.reading.foreign import describe

_MATRIX, _COMPRESSED = 14, 15
# How numbers are stored, and of which class they are: MATLAB stores doubles that are small integers as integers.
_STORED = {1: "<i1", 2: "<u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
_CLASSES = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), 6))
_COMPLEX = 8
MOST_BYTES = 2**24
"""Of all variables of a file, compressed or not; an annotation has some hundred bytes."""


def read_mat(path: Path) -> dict[str, np.ndarray | None]:
    """Variables of a file; None for all but full arrays of real numbers (not text, cell, structure, sparse, complex).

    Raises:
        ValueError: no such file, another kind of file, a damaged one, or more than `MOST_BYTES`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        if content[124:128] == b"\x00\x02IM":
            raise NotImplementedError
        if content[124:128] != b"\x00\x01IM":
            raise ValueError("it does not begin like one")
        return dict(_variables(_unpacked(content[128:])))
    except NotImplementedError as error:
        raise ValueError(f"{path} is a MATLAB 7.3 file: save it again with the option -v7") from error
    except (ValueError, OSError, zlib.error) as error:
        fault = f"is not a readable MATLAB file ({error}): it is damaged, copy it again"
        raise ValueError(describe(path, fault)) from error


def _unpacked(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of the file; what is compressed is a variable, and nothing is compressed twice."""
    left = MOST_BYTES
    for kind, content in _elements(data):
        if kind != _COMPRESSED:
            yield kind, content
            continue
        unpacker = zlib.decompressobj()
        variable = unpacker.decompress(content, left)
        if unpacker.unconsumed_tail or len(variable) == left:
            raise ValueError(f"its variables have more than {MOST_BYTES} bytes")
        if not unpacker.eof:  # the checksum is behind the data
            raise ValueError("it ends too early")
        left -= len(variable)
        yield from _elements(variable)


def _variables(elements: Iterator[tuple[int, bytes]]) -> Iterator[tuple[str, np.ndarray | None]]:
    for kind, content in elements:
        if kind != _MATRIX:
            raise ValueError(f"element of kind {kind} where a variable should be")
        yield _variable(content)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each element of a sequence."""
    position = 0
    while position < len(data):
        if position + 8 > len(data):
            raise ValueError("it ends too early")
        kind, size = struct.unpack_from("<II", data, position)
        start, following = position + 8, position + 8 + (size if kind == _COMPRESSED else size + -size % 8)
        if kind >> 16:  # a small element: size, kind and content within eight bytes
            kind, size, start, following = kind & 0xFFFF, kind >> 16, position + 4, position + 8
        if start + size > min(following, len(data)):
            raise ValueError("it ends too early")
        yield kind, data[start : start + size]
        position = following


def _variable(data: bytes) -> tuple[str, np.ndarray | None]:
    parts = list(islice(_elements(data), 5))  # a cell or structure may have many more
    if len(parts) < 3 or len(parts[0][1]) != 8:
        raise ValueError("a variable without a name")
    (_, flags), (_, dimensions), (_, name), *values = parts
    if flags[0] not in _CLASSES or flags[1] & _COMPLEX:
        return name.decode("ascii"), None
    if len(values) != 1 or values[0][0] not in _STORED:
        raise ValueError("an array without numbers")
    shape = np.frombuffer(dimensions, "<i4")
    if (shape < 0).any():
        raise ValueError(f"an array of shape {tuple(shape.tolist())}")
    numbers = np.frombuffer(values[0][1], _STORED[values[0][0]]).astype(_CLASSES[flags[0]])
    return name.decode("ascii"), numbers.reshape(shape, order="F")
