"""Types of arguments, for ``add_argument(type=...)``."""

import argparse


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)
