"""``bbgm pretrain-backbone``: trains the weights "demo" again."""

import argparse
from pathlib import Path
from typing import Any


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``pretrain-backbone``."""
    parser = commands.add_parser(
        "pretrain-backbone",
        help="train the small backbone on rendered photographs",
        description="Train the small backbone on rendered photographs that are in no data set, and store it as "
        "safetensors in half precision. With the default numbers these are the weights 'demo' that come with the "
        "package; torch of another version, or on another processor, may round differently.",
    )
    parser.add_argument("file", type=Path, help="output file, e.g. bbgm/features/pretrained/small.safetensors")
    parser.add_argument("--photos", type=int, default=250, help="photographs of each class (default %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=2000, help="training steps of 16 photographs (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the training (default %(default)s)")
    parser.set_defaults(command=_pretrain)


def _pretrain(options: argparse.Namespace) -> None:
    from bbgm.base.atomic import check_writable
    from bbgm.features.pretrain import pretrain, write_weights

    for name, least in (("photos", 1), ("steps", 1), ("seed", 0)):
        if getattr(options, name) < least:
            raise ValueError(f"--{name} is {getattr(options, name)}, expected {least} or more")
    if options.seed >= 2**63:
        raise ValueError(f"--seed is {options.seed}, expected less than 2^63")
    check_writable(options.file)  # before minutes of work, not after them
    how = {"photos": options.photos, "steps": options.steps, "seed": options.seed}
    write_weights(options.file, pretrain(*how.values()), **how)
    print(options.file)
