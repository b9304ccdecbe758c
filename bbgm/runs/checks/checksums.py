"""Checksums of the files of a run: one altered byte in any of them is noticed. Nothing here needs torch.

``metrics.json`` has the SHA-256 of each file under ``checksums``. Its own entry is the SHA-256 of its bytes with 64
zeros instead of that entry. Runs that an earlier version made have no checksums.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bbgm.base.atomic import write_text
from bbgm.base.reading.untrusted import parse_json

RECORD = "metrics.json"
CHECKSUMS = "checksums"
_BLANK = "0" * 64


def write_record(folder: Path, content: Mapping[str, Any], names: Iterable[str]) -> None:
    """Write ``metrics.json`` with the checksums of the files ``names`` of the same folder, which must be there.

    Raises:
        WriteError: as `bbgm.base.atomic.write_text`.
    """
    checksums = {name: _digest(folder / name) for name in names} | {RECORD: _BLANK}
    text = json.dumps({**content, CHECKSUMS: checksums}, indent=2, allow_nan=False) + "\n"
    entry = f'"{RECORD}": "{{}}"'.format
    own = hashlib.sha256(text.encode()).hexdigest()
    write_text(folder / RECORD, text.replace(entry(_BLANK), entry(own)))


def altered_files(folder: Path) -> dict[str, str]:
    """Files of a finished run that are not as the run wrote them, each with what is wrong with it.

    Empty for a run without checksums.
    """
    content = (folder / RECORD).read_bytes()
    try:
        record = parse_json(content)
    except ValueError:
        return {RECORD: "was altered (it is not valid JSON)"}
    checksums = record.get(CHECKSUMS) if isinstance(record, dict) else None
    if checksums is None and f'"{RECORD}"'.encode() not in content:
        return {}
    if not isinstance(checksums, dict):  # the key itself was altered
        checksums = {}
    wrong = {} if _is_intact(content, checksums.get(RECORD)) else {RECORD: "was altered"}
    doubt = f", or its checksum in {RECORD} was," if wrong else ""
    for name, expected in checksums.items():
        path = folder / name
        there = Path(name).name == name and _is_file(path)  # a run's own files are in its folder
        if name == RECORD or (doubt and not there):  # the name may be what was altered
            continue
        if not there:
            wrong[name] = "was removed"
        elif _digest(path) != expected:
            wrong[name] = f"was altered{doubt}"
    return wrong


def describe_altered(folder: Path, wrong: Mapping[str, str]) -> str:
    """An error message about what `altered_files` found, with the remedy."""
    faults = "; ".join(f"{folder / name} {fault}" for name, fault in wrong.items())
    return (
        f"{faults} after the run was finished: restore it from a copy, or repeat the run with 'bbgm train', which "
        "moves this one aside"
    )


def _is_intact(content: bytes, own: Any) -> bool:
    """Whether the bytes of ``metrics.json`` have the checksum that they contain."""
    if not isinstance(own, str) or len(own) != len(_BLANK):
        return False
    return hashlib.sha256(content.replace(own.encode(), _BLANK.encode())).hexdigest() == own


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long for one
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
