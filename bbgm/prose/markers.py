"""Markers in Markdown, and the text between them.

A table, in lines of its own::

    <!-- measured: willow/Willow column=face column=mean published=yes -->
    ...
    <!-- end -->

A number in running text::

    <!-- measured: demo/Willow method=BB-GM setting=Pt=no;Wt=yes column=mean -->97.1 ± 0.5<!-- end -->

After ``measured:`` stands a file of ``measured/``, after ``published:`` one of the paper's tables. The rest, quoted as
in a shell, chooses lines of it: a column of the file and a value, several times for several values. ``show`` puts one
of `FACTS` in place of a number with its deviation; ``published=yes`` adds the paper's rows to a table.
"""

import re
import shlex
from collections.abc import Collection, Sequence

import pandas as pd

from bbgm import published
from bbgm.prose.measured import read_measured
from bbgm.tables import SPECS
from bbgm.tables.build import published_summary
from bbgm.tables.specs import TableSpec

MARKER = re.compile(r"(<!-- (measured|published): (.*?) -->)(.*?)(<!-- end -->)", re.DOTALL)
START = re.compile(r"<!-- (measured|published): .*? -->")
FACTS = ("value", "n", "pairs", "date", "hardware", "commit")
OPTIONS = ("show", "published")
HEADS = {
    "peers": ("solver", "family", "instances"),
    "effort": ("effort", "family", "instances"),
    "scaling": ("kind", "problem", "instances"),
}
"""Tables that are not of accuracies: other names of the columns method, setting and runs; three digits are shown."""


def fill(text: str) -> str:
    """Markdown with every marker filled in.

    Raises:
        ValueError: a marker asks for what is not there, or has no end; names it.
    """

    def filled(match: re.Match[str]) -> str:
        start, kind, query, content, end = match.groups()
        try:
            name, options = _parse(query)
            whole = _load(kind, name)
            numbers = _choose(whole, options)
            as_table = content.startswith("\n")
            inner = _table(numbers, options, set(whole["column"])) if as_table else _fact(numbers, options)
        except ValueError as error:
            raise ValueError(f"{start}: {error}") from error
        return start + inner + end

    for match in MARKER.finditer(text):
        if "<!--" in match[4]:
            raise ValueError(f"{match[1]} has no <!-- end --> of its own before the next marker: add it")
    if START.search(rest := MARKER.sub("", text)):
        raise ValueError(f"{START.search(rest)[0]} has no <!-- end -->: add it")  # type: ignore[index]
    return MARKER.sub(filled, text)


def _parse(query: str) -> tuple[str, dict[str, list[str]]]:
    name, *rest = shlex.split(query)
    options: dict[str, list[str]] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} is not of the form name=value; a value with spaces stands in quotes")
        options.setdefault(key, []).append(value)
    return name, options


def _load(kind: str, name: str) -> pd.DataFrame:
    return read_measured(name) if kind == "measured" else _published(name)


def _published(table: str) -> pd.DataFrame:
    """The paper's numbers; where it prints no mean of a row, with that of its classes."""
    numbers = published.load(table)
    means = [
        {
            **dict(zip(published.KEY, key, strict=True)),
            "column": "mean",
            "value": rows["value"].mean(),
            "std": float("nan"),
            "n": rows["n"].max(),
        }
        for key, rows in numbers.groupby(published.KEY, sort=False)
        if not {"mean", "all"} & set(rows["column"])
    ]
    return pd.concat([numbers, pd.DataFrame(means).astype(numbers.dtypes[list(means[0])])]) if means else numbers


def _choose(numbers: pd.DataFrame, options: dict[str, list[str]]) -> pd.DataFrame:
    """The lines that have the wanted values."""
    for key, wanted in options.items():
        if key in OPTIONS:
            continue
        if key not in numbers:
            raise ValueError(f"there is no column {key!r}: there are {list(numbers)}, and the options {list(OPTIONS)}")
        have = list(dict.fromkeys(numbers[key]))
        if unknown := [value for value in wanted if value not in have]:
            raise ValueError(f"no {key} is {unknown[0]!r} here: there are {have}")
        numbers = numbers[numbers[key].isin(wanted)]
    return numbers


def _fact(numbers: pd.DataFrame, options: dict[str, list[str]]) -> str:
    """One number, or one of `FACTS` that all chosen lines share."""
    (show,) = options.get("show", [None])
    if show not in (None, *FACTS):
        raise ValueError(f"show is {show!r}, must be one of {list(FACTS)}")
    if show in (None, "value"):
        found = [
            _number(value, None if show else std, table)
            for value, std, table in numbers[["value", "std", "table"]].itertuples(index=False)
        ]
    else:
        found = list(dict.fromkeys(map(str, numbers[show])))
    if len(found) != 1:
        raise ValueError(f"chooses {len(found)} in place of one: {found}")
    return found[0]


def _table(numbers: pd.DataFrame, options: dict[str, list[str]], measured: Collection[str]) -> str:
    """A row for each method, setting and origin; an origin that all share stands below.

    Args:
        measured: the columns that the file has.
    """
    columns = list(dict.fromkeys(numbers["column"]))
    numbers = numbers.assign(origin=_origins(numbers))
    settings, origins = numbers["setting"].nunique() > 1, numbers["origin"].nunique() > 1

    def line(method: str, setting: str, rows: pd.DataFrame, origin: str) -> str:
        n = rows["n"].iloc[0]
        by_column = rows.set_index("column")[["value", "std"]].reindex(columns)
        cells = [_number(value, std, table) for value, std in by_column.itertuples(index=False)]
        return _line(
            [method, *[setting.replace(";", ", ")] * settings, *cells, "" if pd.isna(n) else str(n)], origin, origins
        )

    table = numbers["table"].iloc[0]
    method_head, setting_head, runs_head = HEADS.get(table, ("method", "setting", "runs"))
    head = [method_head, *[setting_head] * settings, *columns, runs_head]
    lines = [_line(head, "measured on", origins), _line(["---"] * len(head), "---", origins)]
    printed: set[tuple[str, str]] = set()  # the paper has one row where we have one for each way of scoring sets
    for (method, setting), rows in numbers.groupby(["method", "setting"], sort=False):
        if options.get("published") == ["yes"]:
            paper = _printed_row(SPECS[rows["table"].iloc[0]], method, setting, measured)
            keys = set(zip(paper["method"], paper["setting"], strict=True))
            lines += [] if keys <= printed else [line(f"{method}, published", setting, paper, "")]
            printed |= keys
        lines += [line(method, setting, one, origin) for origin, one in rows.groupby("origin", sort=False)]
    below = [] if origins else ["", f"Measured on {numbers['origin'].iloc[0]}."]
    return "\n".join(["", *lines, *below, ""])


def _printed_row(spec: TableSpec, method: str, setting: str, measured: Collection[str]) -> pd.DataFrame:
    """The paper's row beside a measured one; its mean is that of the measured classes, as in the tables."""
    paper = published.load(spec.published)
    paper = paper[paper["method"] == spec.printed_as.get(method, method)]
    settings = [setting] if setting in set(paper["setting"]) else [f"filter={name}" for name in spec.filters]
    paper = paper[paper["setting"].isin(settings)]
    if paper.empty:
        return paper
    mean = published_summary(spec, paper.set_index("column"), measured)
    if mean in paper["value"][paper["column"] == spec.summary].to_list():
        return paper  # with the printed deviation
    classes = paper[paper["column"] != spec.summary]
    return pd.concat([classes, classes.iloc[:1].assign(column=spec.summary, value=mean, std=float("nan"))])


def _origins(numbers: pd.DataFrame) -> list[str]:
    """When, on what, and from which commit."""
    parts = zip(numbers["date"], numbers["hardware"], numbers["commit"], strict=True)
    return [
        ", ".join(filter(None, (date, hardware, commit and f"commit {commit}"))) for date, hardware, commit in parts
    ]


def _line(cells: Sequence[str], origin: str, origins: bool) -> str:
    return f"| {' | '.join([*cells, *[origin] * origins])} |"


def _number(value: float, deviation: float | None, table: str) -> str:
    if pd.isna(value):
        return ""
    if table in HEADS:
        return f"{float(f'{value:.3g}'):g}"  # three digits, and thousands in full
    return f"{value:.1f}" + ("" if deviation is None or pd.isna(deviation) else f" ± {deviation:.1f}")
