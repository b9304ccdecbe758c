"""What the editor shows of a matching, as plain values for the browser."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bbgm.photos import Match
from bbgm.photos.drawing import COLOURS
from bbgm.photos.solving import WITHOUT_EDGES
from bbgm.plotting.style import RIGHT, WRONG
from bbgm.widgets.pair import Keypoint, as_json


def points_files(
    files: Sequence[str], keypoints: Sequence[Sequence[Keypoint]], pictures: Sequence[str]
) -> list[dict[str, str]]:
    """Name and content of the points file of each picture.

    Raises:
        ValueError: two keypoints of a picture have the same name.
    """
    return [
        {"name": file, "text": as_json(side, picture)}
        for file, side, picture in zip(files, keypoints, pictures, strict=True)
    ]


def describe(
    match: Match, keypoints: Sequence[Sequence[Keypoint]], files: Sequence[str], solver: str, model: str | Path | None
) -> dict[str, Any]:
    """Matches and edges by the ids of keypoints, and the command that gives the same matching.

    Args:
        keypoints: of each picture; the hidden ones are not part of the matching.
        files: names of the points files.
        solver: that found it.
        model: the model's file or folder; None: the one that comes with the package.
    """
    ids = [[one.id for one in side if not one.hidden] for side in keypoints]
    right = match.right
    matches = [
        {
            "ids": [ids[0][i], ids[1][j]],
            "names": list(names),
            "unary": float(unary),
            "edges": float(edges),
            "right": None if right is None else bool(right[k]),
            "colour": COLOURS[k % len(COLOURS)] if right is None else RIGHT if right[k] else WRONG,
        }
        for k, ((i, j), names, unary, edges) in enumerate(
            zip(match.pairs.tolist(), match.names, match.unary_costs, match.edge_costs, strict=True)
        )
    ]
    pictures = [picture.name for picture in match.pictures]
    command = ["bbgm", "match", *pictures, "--points", *files]
    command += [] if solver == "best" else ["--solver", solver]
    command += ["--partial"] if match.partial else []
    command += [] if model is None else ["--model", str(model)]
    return {
        "matches": matches,
        "edges": [
            [[names[a], names[b]] for a, b in graph.edges.tolist() if a < b]
            for names, graph in zip(ids, match.graphs, strict=True)
        ],
        "command": shlex.join(command),
    }


def summary(match: Match, solver: str, seconds: float) -> str:
    """One line: how many matches, how many of them right, cost, bound, proof and time."""
    n = len(match.pairs)
    right, truth = match.right, match.truth
    score = "" if right is None or truth is None else f", {right.sum()} of {(truth >= 0).sum()} right"
    if match.optimal:
        proof = "proved optimal"
    elif solver in WITHOUT_EDGES:
        proof = "with edges, a cheaper matching may exist"
    else:
        proof = "not proved optimal"
    return (
        f"{n} match{'es' * (n != 1)}{score} · cost {match.objective:.4f} · lower bound {match.lower_bound:.4f}"
        f" · {proof} · {1000 * seconds:.0f} ms"
    )
