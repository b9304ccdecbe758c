"""A table in words: the paragraph below it in a notebook, made from its numbers."""

from math import sqrt

import pandas as pd

from bbgm.tables.render import Table


def read_table(table: Table, method: str, baseline: str | None = None, keypoints: int = 10) -> str:
    """What a table says about one method, in Markdown.

    Args:
        method: name of the row, of one setting.
        baseline: name of another row of the same table, to compare with if it is there.
        keypoints: of a test pair, for the uncertainty that comes from the choice of pairs.

    Raises:
        ValueError: the table has no such row, or several settings of it.
    """
    mean = table.value(method, table.columns[-1])
    rows = table.frame[table.frame["method"] == method].set_index("row")
    classes = rows.loc["obtained", list(table.columns[:-1])].astype(float)
    n, pairs = int(rows.loc["obtained", "n"]), int(rows.loc["obtained", "pairs"])
    sentences = [
        f"At the **{table.frame['budget'].iloc[0]}** budget {method} finds **{mean:.1f} %** of the true matches, "
        f"averaged over the classes and {n} run{'s' if n > 1 else ''}; best is {classes.idxmax()} with "
        f"{classes.max():.1f} %, worst {classes.idxmin()} with {classes.min():.1f} %."
    ]
    if baseline is not None and baseline in set(table.frame["method"]):
        other = table.value(baseline, table.columns[-1])
        sentences.append(f"That is {_points(mean - other, 'more', 'less')} than {baseline} ({other:.1f} %).")
    if "difference" in rows.index:
        sentences.append(_compare(rows.loc["difference", list(table.columns)].astype(float)))
    share = min(max(mean / 100, 0.0), 1.0)
    spread = 100 * sqrt(share * (1 - share) / (pairs * keypoints))
    sentences.append(
        f"A run is tested on {pairs} pairs: if their keypoints were independent of each other, the choice of the pairs "
        f"alone would move its mean by ±{spread:.1f} points (one standard deviation); they are not, so it is more."
    )
    if n > 1:
        sentences.append(f"Between the runs the standard deviation is {rows.loc['std', table.columns[-1]]:.1f} points.")
    return " ".join(sentences)


def _compare(difference: "pd.Series[float]") -> str:
    """One sentence on the distance to the published row."""
    summary, classes = float(difference.iloc[-1]), difference.iloc[:-1]
    text = f"It is {_points(summary, 'above', 'below')} the published mean"
    if classes.isna().any():
        return f"{text}, which belongs to other pictures: it is no measure of the reproduction."
    largest = classes.abs().idxmax()
    return f"{text}; the largest difference of a class is {classes[largest]:+.1f} ({largest})."


def _points(difference: float, positive: str, negative: str) -> str:
    size = f"{abs(difference):.1f}"
    return f"{size} point{'' if size == '1.0' else 's'} {positive if difference >= 0 else negative}"
