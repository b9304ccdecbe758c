"""``python -m bbgm_demo FOLDER``: write demo data into a folder."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bbgm_demo.formats import FORMATS
from bbgm_demo.trees import make_trees


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the trees and print their folders.

    Returns:
        Exit status: 0, or 2 after an error, which is one line on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bbgm_demo",
        description="Write rendered data sets in the formats of Willow ObjectClass, Pascal VOC and SPair-71k.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write; it is made if it does not exist")
    parser.add_argument("--formats", nargs="+", metavar="FORMAT", help=f"default: all of {', '.join(FORMATS)}")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default %(default)s)")
    parser.add_argument(
        "--images",
        type=int,
        default=40,
        help="images per class in Willow's format; the other formats grow with it (default %(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        trees = make_trees(options.folder, options.formats or (), options.seed, options.images)
    except KeyboardInterrupt:
        print("bbgm_demo: interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError) as error:
        print(f"bbgm_demo: error: {error}", file=sys.stderr)
        return 2
    for tree in trees.values():
        print(tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
