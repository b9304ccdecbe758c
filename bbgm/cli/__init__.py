"""The command ``bbgm``. Only what a subcommand needs is imported, so that ``bbgm --help`` is instant."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from bbgm import __version__
from bbgm.base.account import provide_folders
from bbgm.base.plugins import choose_plugins
from bbgm.base.stopping import TERMINATED, WORKS_FOR, Terminated, end_with, terminable
from bbgm.cli import bench, data, match, model, plan, pretrain, runs, solver, tune, verify

GROUPS = (runs, match, model, verify, tune, plan, data, solver, bench, pretrain)
"""Each module adds its subcommands; a new group is a module with ``add_commands``."""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line, like every other error."""

    def error(self, message: str) -> Any:
        self.exit(2, f"bbgm: error: {message} (see '{self.prog} --help')\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser with all subcommands; each sets ``command``, a function of the arguments that may return a status."""
    parser = _Parser(prog="bbgm", description="BB-GM: deep graph matching with a blackbox-differentiated solver.")
    parser.add_argument("--version", action="version", version=f"bbgm {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument(
        "--plugin",
        action="append",
        metavar="MODULE",
        help="a module or .py file that registers your own parts, instead of 'plugins' in config.yaml; may be "
        "given several times",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        group.add_commands(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Exit status: 0; what the command returns, e.g. 1 if a run differs; 2 after an error, one line on stderr; 130
        after Ctrl-C; 143 after SIGTERM.
    """
    if workflow := os.environ.get(WORKS_FOR):
        end_with(int(workflow))
    try:
        with terminable():
            return _run(arguments)
    except Terminated as error:
        print("bbgm:", error, file=sys.stderr)
        return TERMINATED


def _run(arguments: Sequence[str] | None) -> int:
    debug = False
    try:
        options = make_parser().parse_args(arguments)
        debug = options.debug
        if options.plugin:
            choose_plugins(options.plugin)
        provide_folders()
        logging.basicConfig(format="bbgm: %(message)s", stream=sys.stderr)
        logging.getLogger("bbgm").setLevel(logging.INFO)  # of other modules, warnings only
        return options.command(options) or 0
    except KeyboardInterrupt:
        print("bbgm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has closed it, e.g. 'head'
        sys.stderr.close()
        return 1
    except (ValueError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if debug:
            raise
        print("bbgm: error:", " ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        return 2
