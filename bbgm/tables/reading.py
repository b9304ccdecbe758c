"""A table in words: the paragraph below it in a notebook, made from its numbers."""

import pandas as pd

from bbgm.tables.compare import TOO_FEW, compare_methods, signed
from bbgm.tables.render import Table
from bbgm.tables.specs import SPECS


def read_table(table: Table, method: str, baseline: str | None = None, setting: str | None = None) -> str:
    """What a table says about one method, in Markdown.

    Args:
        method: name of the row.
        baseline: name of another row of the same table, to compare with if it is there.
        setting: of the method, if it has rows of several; a baseline of the same setting is preferred.

    Raises:
        ValueError: the table has no such row, or several settings of it.
    """
    summary = table.columns[-1]
    mean = table.value(method, summary, setting=setting)
    frame = table.frame[
        (table.frame["method"] == method) & (table.frame["setting"] == (setting or _only(table, method)))
    ]
    rows = frame.set_index("row")
    columns = rows.loc["obtained", list(table.columns[:-1])].astype(float)
    spec = SPECS[table.name]
    n, pairs = int(rows.loc["obtained", "n"]), int(rows.loc["obtained", "pairs"])
    found = "reaches an F1 score of" if "F1" in spec.title else "finds"
    what = "" if "F1" in spec.title else " of the true matches"
    sentences = [
        f"At the **{table.frame['budget'].iloc[0]}** budget {method} {found} **{mean:.1f} %**{what}, "
        f"averaged over the classes and {n} run{'s' if n > 1 else ''}; best is {columns.idxmax()} with "
        f"{columns.max():.1f} %, worst {columns.idxmin()} with {columns.min():.1f} %."
    ]
    if baseline is not None:
        sentences += _against(table, method, baseline, setting, mean)
    if "difference" in rows.index:
        sentences.append(_published(rows.loc["difference", list(table.columns)].astype(float)))
    if "pairs std" in rows.index:
        sentences.append(
            f"A run is tested on {pairs} pairs: other pairs of the same images would move the mean by "
            f"±{rows.loc['pairs std', summary]:.1f} points (one standard deviation)."
        )
    if n > 1:
        sentences.append(f"Between the runs the standard deviation is {rows.loc['std', summary]:.1f} points.")
    return " ".join(sentences)


def _only(table: Table, method: str) -> str:
    """The setting of a method that has one."""
    rows = table.frame[(table.frame["method"] == method) & (table.frame["row"] == "obtained")]
    return str(rows["setting"].item())


def _against(table: Table, method: str, baseline: str, setting: str | None, mean: float) -> list[str]:
    """The comparison with another row: with its verdict where both are of one setting."""
    obtained = table.frame[(table.frame["method"] == baseline) & (table.frame["row"] == "obtained")]
    own = setting or _only(table, method)
    row = obtained[obtained["setting"] == own] if own in set(obtained["setting"]) else obtained
    if len(row) != 1:
        return []  # not there, or in several settings, of which none is the method's
    summary = table.columns[-1]
    other = float(row[summary].item())
    text = f"That is {_points(mean - other, 'more', 'less')} than {baseline} ({other:.1f} %)"
    if row["setting"].item() != own:
        return [f"{text}, which was trained otherwise."]
    line = compare_methods(table, method, baseline, own).loc[summary]
    text += f"; with other test pairs {signed(line['pairs_low'])} to {signed(line['pairs_high'])}"
    if pd.notna(line["runs_low"]):
        text += f", with other runs {signed(line['runs_low'])} to {signed(line['runs_high'])}"
    text += " (95 %)"
    verdict = str(line["verdict"])
    if verdict == TOO_FEW:
        text += f"; {TOO_FEW} whether the methods differ"
    elif verdict.startswith("open"):
        text += f": whether there is a difference stays open ({verdict.removeprefix('open: ')})"
    return [f"{text}."]


def _published(difference: "pd.Series[float]") -> str:
    """One sentence on the distance to the published row."""
    summary, columns = float(difference.iloc[-1]), difference.iloc[:-1]
    text = f"It is {_points(summary, 'above', 'below')} the published mean"
    largest = columns.abs().idxmax()
    return f"{text}; the largest difference of a column is {columns[largest]:+.1f} ({largest})."


def _points(difference: float, positive: str, negative: str) -> str:
    size = f"{abs(difference):.1f}"
    return f"{size} point{'' if size == '1.0' else 's'} {positive if difference >= 0 else negative}"
