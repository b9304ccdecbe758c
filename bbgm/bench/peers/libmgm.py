"""pylibmgm: fusion moves on a dual (Hutschenreiter et al., ICCV 2021), as GREEDA uses them (Kahl et al., CVPR 2025)."""

from collections.abc import Callable

import bbgm_solver as gm
import numpy as np

from bbgm.bench.peers.peer import Answer, Peer, Unsupported

SEED = 1


class LibMGM(Peer):
    """Its solver of two graphs, which knows no bound: it proves nothing."""

    title = "pylibmgm"
    package = "pylibmgm"
    settings = f"QAPSolver, defaults, seed {SEED}, one thread"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""
        if problem.unmatched1.any() or problem.unmatched2.any():
            raise Unsupported("costs of unmatched nodes")
        import pylibmgm as mgm  # type: ignore[import-not-found, import-untyped, unused-ignore]

        mgm.omp_set_num_threads(1)
        graphs = mgm.Graph(0, problem.n1), mgm.Graph(1, problem.n2)
        model = mgm.GmModel(*graphs, problem.n_assignments, problem.n_terms)
        for (i, j), cost in zip(problem.assignments.tolist(), problem.costs.tolist(), strict=True):
            model.add_assignment(i, j, cost)
        for (a, b), cost in zip(problem.terms.tolist(), problem.term_costs.tolist(), strict=True):
            model.add_edge(a, b, cost)

        def solve() -> Answer:
            solver = mgm.QAPSolver(model) if problem.n_terms else mgm.LAPSolver(model)
            if problem.n_terms:
                solver.libmpopt_seed = SEED
            labels = solver.run().to_list_with_none()
            return Answer(np.array([-1 if label is None else label for label in labels], dtype=np.int64), False)

        return solve
