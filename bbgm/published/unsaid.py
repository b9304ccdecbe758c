"""What the paper does not say: where its text is silent or the authors' code differs, and what is done here.

The entries are in ``unsaid.toml``, by topic. The code's behaviour is the default throughout, as it made the numbers;
only DGMC* is trained by BB-GM's protocol, and the topic ``dgmc`` says what its own authors do.
"""

import tomllib
from importlib.resources import files
from typing import Any

import pandas as pd

COLUMNS = {"what": "", "paper": "the paper's text", "code": "the authors' code", "here": "here", "option": "option"}
"""Keys of an entry, and their names in a table."""

AS_CODE = "as the code"


def load_unsaid() -> dict[str, pd.DataFrame]:
    """The entries of each topic, columns ``what, paper, code, here, option``; ``here`` is "as the code" if not given.

    Raises:
        ValueError: an entry has an unknown key, or lacks one of the first three.
    """
    content = tomllib.loads((files("bbgm.published") / "unsaid.toml").read_text(encoding="utf-8"))
    return {topic: pd.DataFrame([_entry(topic, entry) for entry in entries]) for topic, entries in content.items()}


def _entry(topic: str, entry: dict[str, Any]) -> dict[str, str]:
    if unknown := sorted(entry.keys() - COLUMNS.keys()):
        raise ValueError(f"unsaid.toml, {topic}: {unknown[0]!r} is not one of {list(COLUMNS)}")
    if lacking := [key for key in ("what", "paper", "code") if key not in entry]:
        raise ValueError(f"unsaid.toml, {topic}: an entry has no {lacking[0]!r}: {entry}")
    return {"here": AS_CODE, "option": "", **entry}


def unsaid_table(topic: str) -> str:
    """One topic as a Markdown table, for a notebook.

    Raises:
        ValueError: no such topic.
    """
    topics = load_unsaid()
    if topic not in topics:
        raise ValueError(f"topic {topic!r} is not one of {list(topics)}")
    frame = topics[topic][list(COLUMNS)]
    option = frame["option"].where(frame["option"] == "", "`" + frame["option"] + "`")
    frame = frame.assign(option=option, paper=frame["paper"].replace("", "–"))
    lines = [list(COLUMNS.values()), ["---"] * len(COLUMNS), *frame.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
