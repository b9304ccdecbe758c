"""The network's input of every image: decoded, cut out, resized, and kept in one memory-mapped file per data set.

The file is a table of ``CAPACITY`` records, then slots of one crop each. A record is written after its slot, and slots
are only ever added, under a lock on the file: a killed writer leaves a slot without a record, which the next writer
uses, and processes that fill one file at once add to each other's work. A crop is found by a hash of all that it
depends on, and its checksum is compared when a process first uses it; so the file never has to be emptied, but may be
deleted.
"""

import fcntl
import hashlib
import json
import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import numpy as np
import PIL
from PIL import features

from bbgm.base.atomic import write_error
from bbgm.base.progress import progress
from bbgm.data.images.pictures import FRAME, Box, decode, missing_image

CAPACITY = 2**16  # crops in a file, 12.9 GB
CHUNK = 64  # crops that are decoded before they are written
_READER = 1  # raise it when `decode` changes its numbers
_DEPENDS = [_READER, FRAME, "bicubic", PIL.__version__, features.version("libjpeg_turbo") or features.version("jpg")]
_RECORD = np.dtype([("key", "V16"), ("checksum", "<u4"), ("used", "<u4")])
_TABLE = CAPACITY * _RECORD.itemsize
_SLOT = FRAME * FRAME * 3


def _key(path: Path, box: Box | None) -> bytes:
    """Hash of all that a crop depends on: the file's name, size and time of change, the box, and the software."""
    try:
        state = os.stat(path)
    except FileNotFoundError as error:
        raise missing_image(path) from error
    content = json.dumps([*_DEPENDS, str(path), state.st_size, state.st_mtime_ns, box])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


class CropCache:
    """Crops of one data set, on disk and mapped into memory. Any number of processes and threads may share a file.

    Args:
        file: created when the first crop is written.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._changing = threading.Lock()
        self._forget()
        try:
            handle = os.open(file, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            self._map(handle)
        finally:
            os.close(handle)

    def __len__(self) -> int:
        return len(self._slots)

    def crop(self, path: Path, box: Box | None = None) -> np.ndarray:
        """As `decode`, which is called if the crop is not in the file yet, or is damaged. Returns a writable copy.

        Raises:
            FileNotFoundError, ValueError: as `decode`.
            bbgm.base.atomic.WriteError: the file cannot be written to, or the disk is full.
        """
        key = _key(path, box)
        with self._changing:
            held = self._held(key)
        if held is not None:
            return held
        pixels = decode(path, box)
        with self._changing:
            self._append({key: pixels})
        return pixels

    def fill(self, crops: Iterable[tuple[Path, Box | None]], description: str = "decoding images") -> None:
        """Decode the crops that are not in the file yet, so that broken images are found now and not during training.

        Raises:
            FileNotFoundError, ValueError: as `decode`, for the first broken image.
            bbgm.base.atomic.WriteError: the file cannot be written to, or the disk is full.
        """
        missing = {key: crop for crop in crops if (key := _key(*crop)) not in self._slots}
        if not missing:
            return
        keys = list(missing)
        with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
            for first in progress(range(0, len(keys), CHUNK), description, enabled=len(keys) > CHUNK):
                chunk = [key for key in keys[first : first + CHUNK] if key not in self._slots]  # by another process
                pixels = pool.map(decode, *zip(*(missing[key] for key in chunk), strict=True)) if chunk else ()
                with self._changing:
                    self._append(dict(zip(chunk, pixels, strict=True)))

    def _held(self, key: bytes) -> np.ndarray | None:
        slot = self._slots.get(key)
        if slot is None:
            return None
        pixels = self._pixels[slot].copy()
        if slot not in self._checked and crc32(pixels) != self._checksums[slot]:
            self._damaged.add(slot)
            return None
        self._checked.add(slot)
        return pixels

    def _forget(self) -> None:
        self._inode: tuple[int, int] | None = None
        self._slots: dict[bytes, int] = {}
        self._checksums = np.zeros(0, "<u4")
        self._pixels = np.zeros((0, FRAME, FRAME, 3), np.uint8)
        self._checked: set[int] = set()
        self._damaged: set[int] = set()

    def _map(self, handle: int) -> int:
        """Read the records of the open file; returns their number."""
        state = os.fstat(handle)
        if self._inode != (state.st_dev, state.st_ino):  # it was deleted, and made again by another process
            self._forget()
            self._inode = state.st_dev, state.st_ino
        table = np.frombuffer(os.pread(handle, _TABLE, 0).ljust(_TABLE, b"\0"), _RECORD)
        free = np.flatnonzero(table["used"] != 1)
        n_records = int(free[0]) if len(free) else CAPACITY
        n_slots = min(n_records, max(0, state.st_size - _TABLE) // _SLOT)
        if n_slots > len(self._pixels):
            mapped = mmap.mmap(handle, _TABLE + n_slots * _SLOT, prot=mmap.PROT_READ)
            self._pixels = np.frombuffer(mapped, np.uint8, offset=_TABLE).reshape(-1, FRAME, FRAME, 3)
        self._checksums = table["checksum"]
        keys = table["key"][:n_slots].tobytes()
        size = _RECORD["key"].itemsize
        self._slots = {keys[i * size : (i + 1) * size]: i for i in range(n_slots) if i not in self._damaged}
        return n_records

    def _append(self, crops: dict[bytes, np.ndarray]) -> None:
        """Add those crops that no other process has added in the meantime."""
        with self._locked() as handle:
            slot = self._map(handle)
            for key, pixels in crops.items():
                if key not in self._slots and slot < CAPACITY:
                    content = pixels.tobytes()
                    _write(handle, content, _TABLE + slot * _SLOT)
                    record = np.array([(key, crc32(content), 1)], _RECORD)
                    _write(handle, record.tobytes(), slot * _RECORD.itemsize)
                    slot += 1
            self._map(handle)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield handle
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)  # a memory map keeps the file open, and would keep the lock
                os.close(handle)
        except OSError as error:
            raise write_error(error, self.file) from error


def _write(handle: int, content: bytes, offset: int) -> None:
    """Write all of it: the system may accept less at a time."""
    while content:
        written = os.pwrite(handle, content, offset)
        content, offset = content[written:], offset + written
