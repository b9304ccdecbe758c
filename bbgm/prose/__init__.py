"""Numbers in prose: README files and notebooks quote results through markers only, and ``bbgm prose`` fills them in.

The numbers come from ``measured/<budget>/<table>.csv``, which ``bbgm table --record`` writes from finished runs
(`measured`), and from `bbgm.published`. ``bbgm tune --record`` writes ``measured/<budget>/tuning.csv``,
``bbgm compare --record`` a file with the name of what is compared, ``bbgm bench peers --record``
``measured/instances/peers.csv`` (`solvers`), and two other subjects of ``bbgm bench`` the files beside it (`curves`).
`markers` has the markers, `files` the files.
Imports `bbgm.tables` and what is below it.
"""

from bbgm.prose.curves import effort_figures, record_effort, record_scaling, scaling_figures
from bbgm.prose.files import fill_files, filled, quoting_files
from bbgm.prose.markers import fill
from bbgm.prose.measured import check_record, read_measured, record, record_tuning
from bbgm.prose.solvers import record_solvers, solver_figures

__all__ = [
    "check_record",
    "effort_figures",
    "fill",
    "fill_files",
    "filled",
    "quoting_files",
    "read_measured",
    "record",
    "record_effort",
    "record_scaling",
    "record_solvers",
    "record_tuning",
    "scaling_figures",
    "solver_figures",
]
