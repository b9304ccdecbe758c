"""JSON that other programs wrote: parsed within limits, so that no content breaks the code that uses it."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

DEEPEST = 50
"""Levels of lists and objects; the formats that are read here have seven at most."""

T = TypeVar("T", bound=Hashable)


def parse_json(text: str | bytes, unique_keys: bool = False) -> Any:
    """The content of a JSON text.

    Args:
        unique_keys: refuse an object that has a key twice, of which json silently takes the last.

    Raises:
        ValueError: it is not JSON, not UTF-8, or nested more than `DEEPEST` levels deep.
    """
    try:
        content = json.loads(text, object_pairs_hook=_unique if unique_keys else None)
    except RecursionError:
        raise ValueError(f"its lists and objects are nested more than {DEEPEST} levels deep") from None
    level = [content]
    for _ in range(DEEPEST):
        level = [
            part for whole in level if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole) if isinstance(part, dict | list)
        ]  # fmt: skip
    if level:
        raise ValueError(f"its lists and objects are nested more than {DEEPEST} levels deep")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(name for name, _ in pairs):
        raise ValueError(f"the name {twice[0]!r} occurs twice in one object")
    return dict(pairs)


def repeated(items: Iterable[T]) -> list[T]:
    """The items that occur more than once, each once, in the order of their first place. The time is linear."""
    return [item for item, count in Counter(items).items() if count > 1]
