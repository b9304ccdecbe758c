"""Fetch one file from one address, and resume where an earlier attempt ended.

A server that takes a Range request sends the rest; one that ignores it sends everything, and the download starts over.
The validator that the server gave (ETag, or else the date) is kept beside the part: the rest of another edition is
never added. pooch's downloader does the transfer (proxies, certificates, redirects, time limits); it cannot resume, so
what happens between its request and its first byte is decided here.
"""

import errno
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bbgm.base.atomic import WriteError, atomic_write
from bbgm.base.reading.untrusted import parse_json

TIMEOUT = (15, 60)
"""Longest time to connect, and without receiving a byte, s."""
CHUNK = 1 << 14
"""Bytes written at a time; a chunk that is incomplete when the connection breaks is lost."""


class FetchError(Exception):
    """The file did not arrive, or only in part. ``again``: the same server may well send the rest."""

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def fetch(
    url: str,
    part: Path,
    title: str = "",
    size: int | None = None,
    limit: int | None = None,
    checked: bool = False,
) -> None:
    """Complete the file ``part`` from a server. The part that arrived before an error is kept for the next attempt.

    Args:
        title: for the progress bar, which appears on a terminal only.
        size: of the file, bytes, if it is known. A server that offers another size is refused before the transfer.
        limit: more bytes than this are refused.
        checked: the caller compares a checksum, so a part from another server, or without a validator, may be resumed.

    Raises:
        FetchError: the server refuses, cannot be reached, is silent, breaks off, or offers another file.
        WriteError: the disk is full, or the folder not writable.
    """
    import requests
    from pooch import HTTPDownloader

    with _Sink(url, part, title, size, limit) as sink:
        downloader = HTTPDownloader(
            chunk_size=CHUNK, timeout=TIMEOUT, headers=sink.headers(checked), hooks={"response": sink.begin}
        )
        try:
            downloader(url, sink, None)
        except requests.HTTPError as error:
            if not sink.whole:
                raise FetchError(f"answers {sink.answer}") from error
        except requests.Timeout as error:
            raise FetchError("does not answer in time", again=True) from error
        except requests.RequestException as error:
            raise FetchError(f"connection failed or broke off ({_root_cause(error)})", again=True) from error
        sink.end()


def note_path(part: Path) -> Path:
    """Where the origin of a part is noted."""
    return part.with_name(f"{part.name}.json")


def discard(part: Path) -> None:
    """Delete a part and its note."""
    part.unlink(missing_ok=True)
    note_path(part).unlink(missing_ok=True)


class _Sink:
    """The file that pooch writes to, and the hook that looks at each answer before."""

    def __init__(self, url: str, part: Path, title: str, size: int | None, limit: int | None) -> None:
        self.url, self.part, self.size, self.limit = url, part, size, limit
        self.note = _read_note(part)
        self.total: int | None = None
        self.whole = False
        self.answer = ""
        try:
            self.file = part.open("ab")
        except OSError as error:
            raise _write_error(error, part) from error
        show = sys.stderr is not None and sys.stderr.isatty()
        self.bar = tqdm(desc=title, unit="B", unit_scale=True, disable=not show, leave=False, dynamic_ncols=True)

    def __enter__(self) -> "_Sink":
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()
        self.file.close()

    def headers(self, checked: bool) -> dict[str, str]:
        """Headers of the request: the rest of the same edition, without compression."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "bbgm"}
        validator = self.note.get("validator") if self.note.get("url") == self.url else None
        if self.file.tell() and (validator or checked):
            headers["Range"] = f"bytes={self.file.tell()}-"
            if validator:
                headers["If-Range"] = str(validator)
        return headers

    def begin(self, response: Any, *_args: object, **_options: object) -> None:
        """Prepare the file for the body of an answer, or refuse it."""
        there, status, headers = self.file.tell(), response.status_code, response.headers
        self.answer = f"{status} {response.reason}"
        if status in (200, 206) and headers.get("Content-Type", "").startswith("text/html"):
            raise FetchError("sends a web page, not a file")  # it has moved; the part is left as it is
        if status == 206:
            given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
            if given is None or int(given[1]) != there:
                self._restart()
                raise FetchError("sends a different range from the one requested", again=True)
            self.total = None if given[2] == "*" else int(given[2])
            self._check(self.total)
        elif status == 200:
            length = headers.get("Content-Length", "")
            self.total = int(length) if length.isdecimal() else None
            self._check(self.total)
            self._restart()
            self._write_note(headers)
        elif status == 416:  # nothing follows the part: it is complete, or longer than the file
            self.whole = headers.get("Content-Range") == f"bytes */{there}"
            if self.whole:
                return
            self._restart()
            raise FetchError("has no such range", again=True)
        else:
            return  # pooch follows a redirection, and raises an error
        missing = (self.total or 0) - self.file.tell()
        if missing > (free := shutil.disk_usage(self.part.parent).free):
            full = OSError(errno.ENOSPC, f"{missing / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free")
            raise _write_error(full, self.part)
        self.bar.total = self.total
        self.bar.update(self.file.tell())

    def write(self, chunk: bytes) -> None:
        """Append; called by pooch."""
        try:
            self.file.write(chunk)
        except OSError as error:
            raise _write_error(error, self.part) from error
        self._check(None)
        self.bar.update(len(chunk))

    def flush(self) -> None:
        """Called by pooch after each chunk, so that a kill loses little."""
        try:
            self.file.flush()
        except OSError as error:
            raise _write_error(error, self.part) from error

    def end(self) -> None:
        """Check that the file is complete."""
        length = self.file.tell()
        if self.total is not None and length != self.total:
            raise FetchError(f"broke off after {length} of {self.total} bytes", again=True)
        if self.size is not None and length != self.size:
            raise FetchError(f"sent {length} bytes, not {self.size}")

    def _check(self, total: int | None) -> None:
        if total is not None and self.size is not None and total != self.size:
            raise FetchError(f"offers a file of {total} bytes, not {self.size}: it is another file")
        if self.limit is not None and max(total or 0, self.file.tell()) > self.limit:
            raise FetchError(f"offers more than {self.limit / 1e6:.0f} MB: it is another file")

    def _restart(self) -> None:
        self.file.truncate(0)
        self.file.seek(0)

    def _write_note(self, headers: Mapping[str, str]) -> None:
        tag = headers.get("ETag", "")
        validator = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
        with atomic_write(note_path(self.part), "w") as file:
            json.dump({"url": self.url, "validator": validator}, file)


def _read_note(part: Path) -> dict[str, Any]:
    try:
        note = parse_json(note_path(part).read_bytes())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _root_cause(error: BaseException) -> str:
    """The innermost reason, in one line; requests wraps it up to four times."""
    while isinstance(inner := error.__cause__ or error.__context__, Exception):
        error = inner
    return " ".join(str(error).split()) or type(error).__name__


def _write_error(error: OSError, path: Path) -> WriteError:
    remedy = "free some space there" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "make it writable"
    reason = error.strerror or str(error)
    reason = reason[:1].lower() + reason[1:]
    return WriteError(error.errno, f"cannot write {path}: {reason}; {remedy}, or choose another folder with --to")
