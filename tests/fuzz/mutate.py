"""Changes of genuine files: bytes, numbers in binary headers, and the words of text formats."""

import random
import re
import struct
from collections.abc import Sequence

_TOKEN = re.compile(rb'"[^"\n]*"|[A-Za-z_]+|[-+.\d]+|\s+|.', re.DOTALL)
_NUMBERS = (0, 1, 2, 7, 8, 15, 16, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
ODD = (
    *(b"", b"0", b"-1", b"1e400", b"-1e308", b"1e-320", b"NaN", b"nan", b"-inf", b"Infinity", b"9" * 400, b"9" * 5000),
    *(b"null", b"true", b'""', b"[]", b"{}", b"[[1]]", b'{"a": 1}', b'"\\ud800"', b'"\\u0000"', b"\x00", b"\xff\xfe"),
    *(b"\xc3\xa9", b"\xff", b'"."', b'"/"', b'"../x"', b'"' + b"n" * 300 + b'"', b"[" * 990 + b"]" * 990, b"[" * 5000),
    *(
        b"2001-13-45",
        b"1:99:99",
        b"!!int ''",
        b"!!timestamp x",
        b"&a [*a]",
        b"*a",
        b"<<: ",
        b"? [a]\n: b\n",
        b"%",
        b"'",
    ),
    *(
        b"1_0",
        b"0x1F",
        b"\xd9\xa1",
        b"\xe2\x80\xa8",
        b"\n",
        b"\t",
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b"<",
        b"&",
        b">",
    ),
)
"""Words that are at home in some format, and a surprise in others."""


def changed(data: bytes, seeds: Sequence[bytes], words: Sequence[bytes], text: bool, rng: random.Random) -> bytes:
    """A file with one to six changes; now and then it gets the end of another one."""
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        if kind < 0.03:
            other = rng.choice(seeds)
            data = data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]
        elif text and kind < 0.75:
            data = _exchanged(data, [*words, *ODD], rng)
        elif not text and kind < 0.4:
            data = _renumbered(data, rng)
        else:
            data = _edited(data, words or ODD, rng)
    return data


def _edited(data: bytes, words: Sequence[bytes], rng: random.Random) -> bytes:
    """A stretch replaced, removed, repeated, or all that follows cut off."""
    at = rng.randint(0, len(data))
    end = min(len(data), at + rng.choice((0, 1, 1, 2, 4, 8, 64)))
    stretch = data[at:end]
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at]
    put = (b"", bytes([rng.randrange(256)]), rng.choice(words), 2 * stretch, 2000 * stretch, rng.randbytes(end - at))
    return data[:at] + put[kind - 1] + data[end:]


def _renumbered(data: bytes, rng: random.Random) -> bytes:
    """A number of 1, 2, 4 or 8 bytes overwritten, in either byte order."""
    size = rng.choice((1, 2, 4, 4, 8))
    at = rng.randint(0, min(len(data), rng.choice((64, 512, len(data) + 1))))
    value = (rng.choice(_NUMBERS) * rng.choice((1, 1, 1, -1)) + rng.choice((0, 0, 1, -1))) % 2 ** (8 * size)
    number = value.to_bytes(size, rng.choice(("little", "big")))
    if size == 8 and rng.random() < 0.3:
        number = struct.pack("<d", rng.choice((float("nan"), float("inf"), -1e308, 1e308, 5e-324, -0.0)))
    return data[:at] + number + data[at + size :]


def _exchanged(data: bytes, words: Sequence[bytes], rng: random.Random) -> bytes:
    """A word of a text replaced, removed, doubled, exchanged with another, or wrapped."""
    tokens = _TOKEN.findall(data)
    if not tokens:
        return rng.choice(words)
    at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    kind = rng.randrange(6)
    if kind == 0:
        tokens[at] = tokens[other]
    elif kind == 1:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 2:
        tokens[at] = b"".join(tokens[min(at, other) : max(at, other) + 1][:40]) * 2
    elif kind == 3:
        del tokens[at : at + rng.choice((1, 1, 2, 5))]
    else:
        tokens[at] = rng.choice(words)
    return b"".join(tokens)
