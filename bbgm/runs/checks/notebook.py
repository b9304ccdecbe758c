"""The checksum of ``run.ipynb``, the notebook that made a run. Nothing here needs torch.

papermill writes the notebook after the run has written its record, so ``metrics.json`` cannot have its checksum. The
notebook has it itself, in its metadata: the SHA-256 of its bytes with 64 zeros instead of that entry. Nothing reads a
number from the notebook. An altered one is therefore reported, but the run beside it is as good as before.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from bbgm.base.atomic import write_text
from bbgm.base.reading.untrusted import parse_json

NOTEBOOK = "run.ipynb"
KEY, DIGEST = "bbgm_checksum", "sha256"
"""Of the metadata, and of the checksum in it: two, because one altered byte may be in either of them."""
_BLANK = "0" * 64


def seal_notebook(path: Path) -> None:
    """Write a notebook's checksum into its metadata.

    Raises:
        ValueError: it is not a notebook.
        WriteError: as `bbgm.base.atomic.write_text`.
    """
    content = parse_json(path.read_bytes())
    if not isinstance(content, dict) or not isinstance(content.get("metadata"), dict):
        raise ValueError(f"{path} is not a notebook: it has no metadata")
    content["metadata"][KEY] = {DIGEST: _BLANK}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_text(path, text.replace(_entry(_BLANK), _entry(_digest(text.encode()))))


def altered_notebook(folder: Path) -> str:
    """What is wrong with the notebook of a run, in words; empty if nothing is, or if there is none."""
    path = folder / NOTEBOOK
    if not path.is_file():
        return ""
    content = path.read_bytes()
    try:
        own = _own_checksum(parse_json(content))
    except ValueError:
        return "was altered (it is not valid JSON)"
    if own is None:
        return "was altered" if _has_marks(content) else ""
    blank = content.replace(_entry(own).encode(), _entry(_BLANK).encode())
    return "" if blank != content and _digest(blank) == own else "was altered"


def is_sealed(folder: Path) -> bool:
    """Whether the notebook of a run has a checksum, right or wrong; also if there is no notebook."""
    path = folder / NOTEBOOK
    return not path.is_file() or _has_marks(path.read_bytes())


def _own_checksum(notebook: Any) -> str | None:
    try:
        own = notebook["metadata"][KEY][DIGEST]
    except (KeyError, TypeError):
        return None
    return own if isinstance(own, str) else None


def _has_marks(content: bytes) -> bool:
    """Whether the key of the checksum is there, or what is in it."""
    return f'"{KEY}"'.encode() in content or f'"{DIGEST}": "'.encode() in content


def _entry(digest: str) -> str:
    return f'"{DIGEST}": "{digest}"'


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
