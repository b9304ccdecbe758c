"""papermill's command line, with the kernel of this Python, without a home folder too, and a second faster.

On import, `jsonschema` compiles a grammar of internationalised addresses, if `rfc3987_syntax` is there, for a check
that notebooks do not need. A pipeline starts papermill some fifty times.
"""

import sys

# The folder of this file comes first, where `import papermill` would find this file.
sys.path = sys.path[1:]
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # as if it were not installed

from bbgm.base.account import provide_folders, put_own_kernel_first  # noqa: E402

provide_folders()
put_own_kernel_first()

from papermill.cli import papermill  # noqa: E402

papermill()
