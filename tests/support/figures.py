"""What tests of figures draw, and how they read what was drawn."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bbgm.tables import Table


def heights(line: Line2D) -> np.ndarray:
    return np.asarray(line.get_ydata(), dtype=float)


def table(published: bool = True) -> Table:
    frame = pd.DataFrame(
        {
            "method": "BB-GM",
            "setting": "Pt=no;Wt=yes",
            "row": ["obtained", "std", "published", "difference"],
            "cup": [90.0, 1.0, np.nan, np.nan],
            "mean": [90.0, np.nan, 97.0, -7.0],
            "n": pd.array([1, 1, 20, None], dtype="Int64"),
        }
    )
    runs = pd.DataFrame({"method": ["BB-GM"], "setting": "Pt=no;Wt=yes", "seed": 0, "cup": 90.0, "mean": 90.0})
    title = "Accuracy (%), budget demo"
    return Table("Willow", title, ("cup", "mean"), frame if published else frame[:2], (), runs=runs)


def history(length: int, seed: int) -> pd.DataFrame:
    iterations = np.arange(1, length + 1)
    values = np.random.default_rng(seed).uniform(size=length)
    epochs = 1 + (iterations > length // 2)
    return pd.DataFrame({"epoch": epochs, "iteration": iterations, "loss": values, "accuracy": values})
