"""The paper's tables, rebuilt from runs: obtained, published, difference, number of runs, budget.

``make_table("Willow", "demo")`` reads the finished runs that the table shows and gives a :class:`Table`, which a
notebook shows and :func:`write_table` writes as CSV and LaTeX; :func:`compare_methods` says which differences between
its rows are real. A further table is one :class:`TableSpec` in ``specs.py``.

May import `bbgm.runs` and everything below it.
"""

from bbgm.tables.build import make_table, write_table
from bbgm.tables.compare import compare_methods, describe_comparisons, list_comparisons
from bbgm.tables.reading import read_table
from bbgm.tables.render import Table
from bbgm.tables.specs import SPECS, TableSpec

__all__ = [
    "SPECS",
    "Table",
    "TableSpec",
    "compare_methods",
    "describe_comparisons",
    "list_comparisons",
    "make_table",
    "read_table",
    "write_table",
]
