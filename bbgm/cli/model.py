"""``bbgm model``: trained models as single files."""

import argparse
from pathlib import Path
from typing import Any


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``model export`` and ``model show``."""
    model = commands.add_parser("model", help="write a trained model to one file, or print its model card")
    actions = model.add_subparsers(title="actions", metavar="ACTION", required=True)
    export = actions.add_parser(
        "export",
        help="write the model of a finished run to one file, which 'match' and 'evaluate' read anywhere",
        description="The test pairs are matched again with the parameters as stored, and what has changed is recorded.",
    )
    export.add_argument("run", type=Path, metavar="RUN", help="folder of a finished run")
    export.add_argument(
        "--output", type=Path, metavar="FILE", help="default: <dataset>-<method>-<budget>.safetensors, in this folder"
    )
    export.add_argument("--name", help="of the model; default: the file's")
    export.add_argument("--licence", default="MIT", help="of the file (default %(default)s)")
    export.add_argument(
        "--precision", choices=("half", "single"), default="half", help="of the parameters (default %(default)s)"
    )
    export.add_argument(
        "--unmeasured", action="store_true", help="do not match the test pairs again, e.g. where the data are missing"
    )
    export.set_defaults(command=_export)

    show = actions.add_parser("show", help="print the model card of a file")
    show.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="a file of 'export'; default: the model that comes with bbgm"
    )
    show.set_defaults(command=_show)


def _export(options: argparse.Namespace) -> None:
    from bbgm.models import export_run
    from bbgm.runs.results import load

    record = load(options.run)
    config = record.config
    path = options.output or Path(f"{config.data.dataset}-{config.method}-{config.budget}.safetensors")
    info = export_run(
        record, path, name=options.name, licence=options.licence, precision=options.precision,
        measure=not options.unmeasured,
    )  # fmt: skip
    print(f"{path}: {info.name}, {path.stat().st_size / 1e6:.1f} MB")
    stored = info.scores["stored"]
    if "pairs" in stored:
        print(
            f"accuracy {100 * stored['accuracy']:.2f} %, of the run {100 * stored['accuracy_of_run']:.2f} %; "
            f"{stored['keypoints_matched_differently']} of {stored['keypoints']} keypoints matched differently"
        )


def _show(options: argparse.Namespace) -> None:
    from bbgm.models import SHIPPED, read_info

    print(read_info(options.file or SHIPPED).card, end="")
