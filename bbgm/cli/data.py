"""``bbgm data``: what data there are, and the demo data."""

import argparse
import json
from pathlib import Path
from typing import Any


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``data``."""
    parser = commands.add_parser("data", help="data sets: what is there, and the rendered demo data")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    status = actions.add_parser("status", help="what is there, what is missing and how to get it")
    status.set_defaults(command=_status)

    demo = actions.add_parser("demo", help="render the demo data; prints what they are, as JSON")
    demo.add_argument("--budget", default="demo", help="as many images as this budget wants (default %(default)s)")
    demo.add_argument("--folder", type=Path, help="where to; default: the cache, where runs look for them")
    demo.add_argument("--seed", type=int, help="default: the budget's")
    demo.add_argument("--images", type=int, help="images of each class; default: the budget's")
    demo.set_defaults(command=_demo)


def _status(options: argparse.Namespace) -> None:
    from bbgm.data.status import data_status

    print(data_status())


def _demo(options: argparse.Namespace) -> None:
    from bbgm.config import load_run
    from bbgm.data.demo import demo_root, make_demo, manifest

    data = load_run("bbgm", options.budget, seed=0).data
    seed = data.demo_seed if options.seed is None else options.seed
    images = data.demo_images_per_class if options.images is None else options.images
    tree = make_demo(options.folder or demo_root(seed, images), seed, images)
    print(json.dumps({"folder": str(tree), **manifest(seed, images)}, indent=2))
