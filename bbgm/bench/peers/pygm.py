"""pygmtools: spectral and projection methods on the dense affinity matrix of Lawler's quadratic assignment problem.

Affinities are negated costs. These methods were made for affinities that are not negative; of three ways to give them
others, each method gets the one that serves it best over all families: as they are, shifted up by a constant, or with
zero for what is negative. Vertex costs get the mean 0 before. The methods match every node of the smaller graph;
matches that cost more than they bring are taken out afterwards, which is not timed.
"""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import bbgm_solver as gm
import numpy as np

from bbgm.bench.peers.peer import Answer, Peer, dense_form, without_costly

LARGEST = 3000
"""Rows of the affinity matrix."""


class _Affinity(Peer):
    """A method of pygmtools on its numpy backend, and its Hungarian method."""

    package = "pygmtools"
    method: ClassVar[str]

    @staticmethod
    def form(affinity: np.ndarray) -> np.ndarray:
        """The affinities that the method gets."""
        return affinity

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""
        unary, pairs = dense_form(problem, LARGEST)
        n1, n2 = problem.n1, problem.n2
        import pygmtools as pygm  # type: ignore[import-not-found, import-untyped, unused-ignore]

        affinity = -pairs
        affinity[np.diag_indices(n1 * n2)] = unary.mean() - unary.ravel()
        # Its index of the match (i, j) is i + n1 j.
        order = np.arange(n1 * n2).reshape(n1, n2).T.ravel()
        affinity = np.ascontiguousarray(self.form(affinity)[np.ix_(order, order)])
        method: Any = getattr(pygm, self.method)

        def solve() -> Answer:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of divisions by zero, which it makes where all affinities are alike
                soft = np.nan_to_num(method(affinity, n1, n2, backend="numpy"))
                matrix = np.asarray(pygm.hungarian(soft, n1, n2, backend="numpy"))
            return Answer(np.where(matrix.max(axis=1) > 0.5, matrix.argmax(axis=1), -1), False)

        return solve

    def finish(self, problem: gm.Problem, assignment: np.ndarray) -> np.ndarray:
        """See `Peer`."""
        return without_costly(problem, assignment)


class RRWM(_Affinity):
    """Reweighted random walks (Cho et al., 2010)."""

    title = "pygmtools RRWM"
    settings = "rrwm and hungarian, defaults, numpy, affinities as they are; costly matches are taken out"
    method = "rrwm"


class IPFP(_Affinity):
    """Integer projected fixed point (Leordeanu et al., 2009)."""

    title = "pygmtools IPFP"
    settings = "ipfp and hungarian, defaults, numpy, affinities shifted to 0 or more; costly matches are taken out"
    method = "ipfp"

    @staticmethod
    def form(affinity: np.ndarray) -> np.ndarray:
        """See `_Affinity`."""
        return affinity - affinity.min(initial=0.0)


class SpectralMatching(_Affinity):
    """Spectral matching (Leordeanu and Hebert, 2005)."""

    title = "pygmtools SM"
    settings = "sm and hungarian, defaults, numpy, negative affinities set to 0; costly matches are taken out"
    method = "sm"

    @staticmethod
    def form(affinity: np.ndarray) -> np.ndarray:
        """See `_Affinity`."""
        return np.maximum(affinity, 0.0)
