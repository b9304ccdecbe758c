"""The paper's tables, rebuilt from runs: obtained, published, difference, number of runs, budget.

``make_table("Willow", "demo")`` reads every finished run of the budget and gives a :class:`Table`, which a notebook
shows and :func:`write_table` writes as CSV and LaTeX. A further table is one :class:`TableSpec` in ``specs.py``.
"""

from bbgm.tables.build import make_table, write_table
from bbgm.tables.render import Table
from bbgm.tables.specs import SPECS, TableSpec

__all__ = ["SPECS", "Table", "TableSpec", "make_table", "write_table"]
