"""This project's solver, measured in the same way as the others."""

from collections.abc import Callable
from typing import ClassVar

import bbgm_solver as gm

from bbgm.bench.peers.peer import Answer, Peer


class Best(Peer):
    """Method "best" of bbgm_solver."""

    title = "best"
    package = "bbgm-solver"
    settings = "defaults"
    method: ClassVar[str] = "best"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""

        def solve() -> Answer:
            result = gm.solve(problem, self.method)
            return Answer(result.assignment, result.optimal)

        return solve


class Dual(Best):
    """Method "dual", the paper's solver written again."""

    title = "dual"
    settings = "defaults: 100 iterations, rounded every 10"
    method = "dual"
