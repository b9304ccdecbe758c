"""``bbgm match``: the keypoints of two pictures, your own or of a run's data set."""

import argparse
import json
from pathlib import Path
from typing import Any

USAGE = """\
  bbgm match a.jpg b.jpg --points a.json b.json      two pictures of your own
  bbgm match RUN IMAGE1 IMAGE2                       two images of a run's data set, by their ids, e.g. Car/demo_0021

A points file holds [[x, y], ...] or {"name": [x, y], ...}, in px of the picture from its upper left corner. Names only
say which matches are right; the matching does not depend on them.
"""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``match``."""
    match = commands.add_parser(
        "match",
        help="match the keypoints of two pictures",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=USAGE,
    )
    match.add_argument("pictures", nargs="+", metavar="PICTURE", help="two pictures; or a run and two image ids")
    match.add_argument("--points", nargs=2, type=Path, metavar="JSON", help="the points file of each picture")
    match.add_argument(
        "--model", type=Path, help="a file of 'bbgm model export', or the folder of a run; default: one that comes "
        "with bbgm and has seen rendered toys only"
    )  # fmt: skip
    match.add_argument(
        "--box", nargs=4, type=float, action="append", metavar=("LEFT", "TOP", "RIGHT", "BOTTOM"),
        help="the object's box in px; give it twice, for each picture in turn; default: around the points",
    )  # fmt: skip
    match.add_argument(
        "--partial", action="store_true", help="keypoints stay unmatched where that is cheaper; default: all of the "
        "smaller set are matched"
    )  # fmt: skip
    match.add_argument(
        "--solver", default="best", help="best, dual or exact; unary and sinkhorn ignore edges (default %(default)s)"
    )
    match.add_argument("--figure", type=Path, help="draw the matching into this file (.png or .pdf)")
    match.add_argument("--edges", action="store_true", help="draw the graphs too")
    match.add_argument("--json", action="store_true", help="print JSON: matches, costs, bound, whether it is proved")
    match.add_argument("--output", type=Path, metavar="FILE", help="write that JSON to this file")
    match.set_defaults(command=_match)


def _match(options: argparse.Namespace) -> None:
    if len(options.pictures) == 3 and not options.points:
        given = ("model", "box", "partial", "edges", "json", "output")
        if wrong := [name for name in given if getattr(options, name)]:
            raise ValueError(f"--{wrong[0]} is for pictures of your own: give two pictures and --points A.json B.json")
        return _match_images(options)
    if len(options.pictures) != 2 or not options.points:
        raise ValueError(
            "give two pictures and their points, 'bbgm match a.jpg b.jpg --points a.json b.json', or a run and the ids "
            "of two of its images, 'bbgm match RUN IMAGE1 IMAGE2'"
        )
    if options.box and len(options.box) != 2:
        raise ValueError(f"--box is given {len(options.box)} times: give it twice, for each picture in turn, or not")
    _check_targets(options)
    from bbgm.photos import match

    one, two = options.pictures
    box1, box2 = options.box or (None, None)
    found = match(
        one, options.points[0], two, options.points[1], model=options.model, box1=box1, box2=box2,
        partial=options.partial, solver=options.solver,
    )  # fmt: skip
    if options.figure:
        found.draw(options.figure, edges=options.edges)
    if options.output:
        from bbgm.base.atomic import write_json

        write_json(options.output, found.record())
    print(json.dumps(found.record(), indent=2) if options.json else found)


def _check_targets(options: argparse.Namespace) -> None:
    """Report files that cannot be written before anything is computed."""
    from bbgm.base.atomic import check_writable
    from bbgm.plotting.style import check_suffix

    if options.figure:
        check_suffix(options.figure)
    for path in (options.figure, options.output):
        if path:
            check_writable(path)


def _match_images(options: argparse.Namespace) -> None:
    import numpy as np

    from bbgm.data import make_pair, open_dataset
    from bbgm.runs.results import load
    from bbgm.runs.train import load_matcher

    run, *ids = options.pictures
    record = load(Path(run))
    dataset = open_dataset(record.config.data, record.config.protocol)
    images = {image.image_id: image for part in (dataset.train, dataset.test) for one in part.values() for image in one}
    for image_id in ids:
        if image_id not in images:
            example = next(iter(images))
            raise ValueError(f"no image {image_id!r} in the data of this run: ids look like {example!r}")
    source, target = (images[image_id] for image_id in ids)
    if source.cls != target.cls:
        raise ValueError(
            f"{source.image_id} and {target.image_id} are of different classes: choose two images of one class"
        )
    pair = make_pair(source, target, np.random.default_rng(0), record.config.protocol.filter)
    if not (len(pair.kept1) and len(pair.kept2)):
        raise ValueError(
            f"{source.image_id} and {target.image_id} have no keypoints to match under the filter "
            f"{record.config.protocol.filter!r}: choose other images"
        )
    assignment = load_matcher(record).predict([pair])[0]

    for i, (j, true) in enumerate(zip(assignment, pair.truth, strict=True)):
        found = "unmatched" if j < 0 else target.names[pair.kept2[j]]
        print(f"{source.names[pair.kept1[i]]:<24}{found:<24}{'right' if j == true else 'wrong'}")
    print(f"{np.sum(assignment == pair.truth)} of {len(assignment)} right")
    if options.figure:
        from bbgm.plotting import draw_matching

        draw_matching(pair, assignment, options.figure)
