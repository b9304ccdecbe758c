"""``bbgm data``: status and download of data sets and weights, and the demo data."""

import argparse
import json
from pathlib import Path
from typing import Any

NAMES = "voc, voc-keypoints, voc-split, willow, spair, vgg16_bn, vgg16_bn-timm, vgg16"
"""The items of ``sources.toml``; repeated here, because reading that file would slow down ``bbgm --help``."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``data``."""
    parser = commands.add_parser("data", help="data sets: status, downloads, and the rendered demo data")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    status = actions.add_parser(
        "status",
        help="show what is there, what is missing and how to get it",
        description="Show which data are there, whether they are complete, and how to get what is missing. Fails if "
        "something is broken.",
    )
    status.add_argument("names", nargs="*", metavar="NAME", help=f"show only these; fails if one is missing: {NAMES}")
    status.add_argument(
        "--check", action="store_true", help="also compare the content of every file and decode every image"
    )
    status.add_argument(
        "--folder", type=Path, metavar="DIR", help="show only this folder of your own images (data.root)"
    )
    status.set_defaults(command=_status)

    download = actions.add_parser(
        "download",
        help="download data sets and weights; an interrupted download is resumed",
        description="Download data sets and weights from one of their mirrors, check and unpack them, and print where "
        "they are. What is already there is not downloaded again, and an interrupted download is resumed. An archive "
        "that you put into the folder by hand is used instead of the network.",
    )
    download.add_argument("names", nargs="+", metavar="NAME", help=f"one or more of: {NAMES}")
    download.add_argument(
        "--to", type=Path, metavar="DIR", help="target folder; default: BBGM_DATA, for weights BBGM_WEIGHTS"
    )
    download.set_defaults(command=_download)

    demo = actions.add_parser(
        "demo",
        help="render the demo data, and describe them as JSON",
        description="Render the demo data in the formats of the three data sets, and print their description as JSON.",
    )
    demo.add_argument("formats", nargs="*", metavar="FORMAT", help="willow, voc, spair; default: all")
    demo.add_argument(
        "--budget", default="demo", help="render as many images as this budget needs (default %(default)s)"
    )
    demo.add_argument("--folder", type=Path, help="target folder; default: the cache, where runs expect them")
    demo.add_argument("--seed", type=int, help="default: the budget's")
    demo.add_argument(
        "--images",
        type=int,
        help="images of each class in Willow's format; the other formats scale with it; default: the budget's",
    )
    demo.set_defaults(command=_demo)


def _status(options: argparse.Namespace) -> None:
    from bbgm.data.status import data_status, folder_status

    report = (
        folder_status(options.folder, options.check) if options.folder else data_status(options.names, options.check)
    )
    print(report.text, flush=True)
    if report.problems:
        raise ValueError("; ".join(report.problems))


def _download(options: argparse.Namespace) -> None:
    from bbgm.data.fetch.download import download
    from bbgm.data.fetch.sources import find

    for name in options.names:
        find(name)  # reports a wrong name before the first gigabyte is downloaded
    for name in options.names:
        print(download(name, options.to), flush=True)


def _demo(options: argparse.Namespace) -> None:
    from bbgm.config import load_run
    from bbgm.data.demo import explain_missing_renderer, make_demo

    with explain_missing_renderer():
        from bbgm_demo import manifest

    data = load_run("bbgm", options.budget, seed=0).data
    seed = data.demo_seed if options.seed is None else options.seed
    images = data.demo_images_per_class if options.images is None else options.images
    trees = make_demo(options.formats, seed, images, options.folder)
    report = {name: {"folder": str(tree), **manifest(name, seed, images)} for name, tree in trees.items()}
    print(json.dumps(report, indent=2))
