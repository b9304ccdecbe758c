"""``bbgm verify``: whether finished runs are as they were written, and their networks give their results again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbgm.runs.checks.verify import Verdict


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``verify``."""
    verify = commands.add_parser(
        "verify",
        help="check the files of finished runs, and that their networks give their results again",
        description="Compare the files of finished runs with their checksums and with each other, match all test pairs "
        "again with the stored network, and compare the results exactly. Writes nothing. The exit status is 0 if "
        "everything is right, and 1 if something differs. On another processor, GPU or version of torch, pairs may be "
        "matched differently although no file was altered; the differences from the run's machine are then listed.",
    )
    verify.add_argument("runs", type=Path, nargs="*", metavar="RUN", help="folder of a finished run")
    verify.add_argument("--all", action="store_true", help="every finished run below the results folder")
    verify.add_argument("--budget", default=argparse.SUPPRESS, help="with --all: only the runs of this budget")
    verify.add_argument("--files", action="store_true", help="check only the files: no network is evaluated again")
    verify.set_defaults(command=_verify)


def _verify(options: argparse.Namespace) -> int:
    budget = getattr(options, "budget", None)
    if options.all == bool(options.runs):
        raise ValueError("give the folder of a run, or --all, and not both: bbgm verify RUN, or bbgm verify --all")
    if budget and not options.all:
        raise ValueError("--budget is for --all: bbgm verify --all --budget NAME")
    from bbgm.runs.checks.verify import verify_run

    folders = list(options.runs) or _all_runs(budget)
    faulty = 0
    for folder in folders:
        verdict = verify_run(folder, repeat=not options.files)
        print(*_describe(verdict), sep="\n", flush=True)
        faulty += bool(verdict.wrong)
    if faulty:
        print(
            f"{faulty} of {len(folders)} runs {'differ' if faulty > 1 else 'differs'}: restore the files from a copy, "
            "or repeat the run with 'bbgm train', which moves this one aside"
        )
    return 1 if faulty else 0


def _all_runs(budget: str | None) -> list[Path]:
    from bbgm.base.paths import results_root
    from bbgm.config import check_budget
    from bbgm.runs.checks.checksums import RECORD

    if budget:
        check_budget(budget)
    root = results_root()
    found = [path.parent for path in sorted(root.glob(f"{budget or '*'}/*/*/*/seed*/{RECORD}"))]
    if not found:
        raise ValueError(f"no finished run below {root / (budget or '')}: make one with 'bbgm train'")
    return found


def _describe(verdict: "Verdict") -> list[str]:
    notes = [f"  note: {note}" for note in verdict.notes]
    if verdict.wrong:
        return [f"{verdict.folder}: differs", *(f"  {line}" for line in verdict.wrong), *notes]
    pairs = f", {verdict.pairs} pairs matched again" if verdict.pairs else ""
    return [f"{verdict.folder}: as it was written{pairs}", *notes]
