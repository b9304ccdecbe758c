"""Contradictions between the matchings of three graphs."""

import numpy as np
import pytest

from bbgm.scoring.cycles import broken_cycles, contradicted, inconsistent_triples, most_repaired
from bbgm.scoring.predictions import SetPrediction


def matchings(**pairs: list[int]) -> dict[tuple[int, int], np.ndarray]:
    return {(int(name[1]), int(name[2])): np.array(match) for name, match in pairs.items()}


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (matchings(m01=[0, 1], m12=[0, 1], m02=[0, 1]), {}),
        (matchings(m01=[0, -1], m12=[-1, 1], m02=[-1, 0]), {}),  # partial: no two matches meet
        (matchings(m01=[0, 1], m12=[0, 1], m02=[0, -1]), {(0, 1): [1], (1, 2): [1]}),  # 1 - 1 - 1 is not closed
        (matchings(m01=[0, 1], m12=[0, -1], m02=[0, 1]), {(0, 1): [1], (0, 2): [1]}),
        (matchings(m01=[0, -1], m12=[0, 1], m02=[0, 1]), {(0, 2): [1], (1, 2): [1]}),
        (matchings(m01=[0, 1], m12=[1, 0], m02=[0, 1]), {(0, 1): [0, 1], (1, 2): [0, 1], (0, 2): [0, 1]}),
    ],
)
def test_matches_of_broken_cycles_are_marked(
    found: dict[tuple[int, int], np.ndarray], broken: dict[tuple[int, int], list[int]]
) -> None:
    marked = {pair: np.flatnonzero(mask).tolist() for pair, mask in contradicted(found).items() if mask.any()}
    assert marked == broken
    assert inconsistent_triples(found) == ([(0, 1, 2)] if broken else [])


def test_a_broken_cycle_is_two_matches_that_are_not_closed() -> None:
    found = matchings(m01=[0, 1], m12=[0, 1], m02=[0, -1])
    assert broken_cycles(found) == [((0, 1), (1, 1), (2, 1))]


def test_more_graphs_and_a_definition_by_matrices() -> None:
    """X_pq X_qr <= X_pr in all three roles, as the paper has it."""
    rng = np.random.default_rng(0)
    sizes, seen = (3, 2, 4, 3), {True: 0, False: 0}
    for _ in range(200):
        found, x = {}, {}
        for p in range(4):
            for q in range(p + 1, 4):
                matrix = np.zeros((sizes[p], sizes[q]), dtype=int)
                k = rng.integers(0, 3)
                matrix[rng.permutation(sizes[p])[:k], rng.permutation(sizes[q])[:k]] = 1
                found[p, q] = np.where(matrix.any(axis=1), matrix.argmax(axis=1), -1)
                x[p, q], x[q, p] = matrix, matrix.T
        triples = inconsistent_triples(found)
        for p, q, r in [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]:
            roles = ((p, q, r), (q, p, r), (p, r, q))
            broken = any((x[a, b] @ x[b, c] > x[a, c]).any() for a, b, c in roles)
            assert ((p, q, r) in triples) == broken
            seen[broken] += 1
        assert bool(triples) == any(mask.any() for mask in contradicted(found).values())
    assert min(seen.values()) > 50


def test_a_missing_pair_is_named() -> None:
    with pytest.raises(ValueError, match=r"no matching of graphs \(0, 2\)"):
        contradicted(matchings(m01=[0], m12=[0]))


def test_the_triple_that_gains_most_is_chosen() -> None:
    truth = np.arange(3)

    def predictions(number: int, alone: list[int], joint: list[int]) -> list[SetPrediction]:
        """Pairs (0, 1), (0, 2), (1, 2): the last is right, the others are as given."""
        return [
            SetPrediction("Cup", "a", "b", "", truth, truth, np.array(found), truth, number, p, q, np.array(together))
            for (p, q), found, together in [
                ((0, 1), alone, joint),
                ((0, 2), [0, 1, 2], joint),
                ((1, 2), [0, 1, 2], joint),
            ]
        ]

    consistent = predictions(0, [0, 1, 2], [0, 1, 2])
    little = predictions(1, [0, -1, 2], [0, 1, -1])
    much, again = predictions(2, [1, 0, 2], [0, 1, 2]), predictions(3, [1, 0, 2], [0, 1, 2])
    assert most_repaired([*consistent, *little]) == tuple(little)  # even if the joint solution loses
    assert most_repaired([*consistent, *little, *much, *again]) == tuple(much)
    with pytest.raises(ValueError, match="no three matchings among these 3 contradict each other"):
        most_repaired(consistent)
