"""Random numbers that do not depend on each other."""

from zlib import crc32


def key(name: str) -> int:
    """A number for a name, part of a seed: each class then has its own random numbers, whatever others are made."""
    return crc32(name.encode())
