"""Linear assignment."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from bbgm.matching.instance import check_finite


def linear_assignment(scores: np.ndarray) -> np.ndarray:
    """The one-to-one assignment with the largest sum of scores, which leaves no node of the smaller side out.

    Args:
        scores: (n1, n2), finite.

    Returns:
        (n1,) int32: for each row its column, -1 = none is left.

    Raises:
        ValueError: scores that are not finite, which is what a network that diverged gives.
    """
    check_finite("scores of matches", scores)
    found = np.full(len(scores), -1, dtype=np.int32)
    rows, columns = linear_sum_assignment(scores, maximize=True)
    found[rows] = columns
    return found
