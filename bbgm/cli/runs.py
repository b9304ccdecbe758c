"""``bbgm train | evaluate | table | prose | provenance``: runs and what is made of them."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.cli.arguments import positive


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``train``, ``evaluate``, ``table``, ``prose`` and ``provenance``."""
    train = commands.add_parser(
        "train", help="train and evaluate one run, after its parent (resumes a killed one, reads a finished one)"
    )
    train.add_argument("--method", default="bbgm", help="a file of config/experiments (default %(default)s)")
    train.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
    train.add_argument(
        "--dataset",
        help="voc, willow, spair, folder or one that a plugin registers (default: the experiment's, else willow)",
    )
    train.add_argument("--filter", help="intersection (default), inclusion or unfiltered")
    train.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default %(default)s)")
    train.add_argument("--folder", type=Path, help="output folder; default: the run's folder below results/")
    train.set_defaults(command=_train)

    evaluate = commands.add_parser("evaluate", help="evaluate a trained run or model file again; nothing is written")
    evaluate.add_argument(
        "run", type=Path, metavar="RUN", help="folder of a finished run, or a file of 'bbgm model export'"
    )
    evaluate.add_argument("--pairs", type=positive, help="number of test pairs of each class; default: as in the run")
    evaluate.add_argument("--solver", help="solver of the test pairs, e.g. dual or best; default: the run's")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    evaluate.set_defaults(command=_evaluate)

    table = commands.add_parser("table", help="write a table of the paper from the finished runs, and print it")
    table.add_argument("table", metavar="TABLE", help="the paper's label, e.g. PascalVOCBig or Willow")
    table.add_argument("--budget", default="demo", help="budget of the runs (default %(default)s)")
    table.add_argument("--record", action="store_true", help="write its numbers to measured/, for 'bbgm prose'")
    table.set_defaults(command=_table)

    prose = commands.add_parser("prose", help="copy the numbers of measured/ into the README files and notebooks")
    prose.set_defaults(command=_prose)

    provenance = commands.add_parser("provenance", help="print when, where and how the finished runs were made, as CSV")
    provenance.add_argument("--budget", default="demo", help="budget of the runs (default %(default)s)")
    provenance.add_argument("--table", help="only the runs that this table shows")
    provenance.add_argument("--rst", action="store_true", help="print a few lines of reStructuredText instead of CSV")
    provenance.set_defaults(command=_provenance)


def _print_scores(per_class: Mapping[str, Mapping[str, Any]], mean: Mapping[str, float]) -> None:
    print(f"{'class':<14}{'accuracy %':>12}{'F1 %':>8}{'pairs':>8}")
    for cls, scores in per_class.items():
        print(f"{cls:<14}{100 * scores['accuracy']:>12.1f}{100 * scores['f1']:>8.1f}{scores['n_pairs']:>8}")
    print(f"{'mean':<14}{100 * mean['accuracy']:>12.1f}{100 * mean['f1']:>8.1f}")


def _train(options: argparse.Namespace) -> None:
    from bbgm.config import load_run
    from bbgm.runs.results import finished

    config = load_run(options.method, options.budget, options.seed, dataset=options.dataset, filter=options.filter)
    record = finished(config, options.folder)
    if record is None:
        from bbgm.runs.train import run

        record = run(config, options.folder)
    print(f"{config.title}, budget {config.budget}, seed {config.seed}: {record.folder}")
    _print_scores(record.metrics["per_class"], record.metrics["mean"])
    for name, solution in (("each alone", "pairwise"), ("jointly", "joint")):
        if sets := record.metrics.get("sets"):
            f1 = 100 * sets[solution]["all"]["mean"]["f1"]
            print(f"{sets['n_sets']} sets of {sets['set_size']} images, pairs matched {name}: F1 {f1:.1f} %")


def _evaluate(options: argparse.Namespace) -> None:
    if options.run.is_file():
        from bbgm.models import evaluate_model

        evaluation = evaluate_model(options.run, options.pairs, solver=options.solver)
    else:
        from bbgm.runs.results import load
        from bbgm.runs.train import evaluate_run

        evaluation = evaluate_run(load(options.run), options.pairs, solver=options.solver)
    if options.json:
        print(json.dumps({"per_class": evaluation.per_class, "mean": evaluation.mean}, indent=2))
    else:
        _print_scores(evaluation.per_class, evaluation.mean)


def _table(options: argparse.Namespace) -> None:
    from bbgm.tables import describe_comparisons, make_table, write_table

    table = make_table(options.table, options.budget)
    print(table)
    print(*describe_comparisons(table), sep="\n")
    for path in write_table(table):
        print(path)
    if options.record:
        from bbgm.prose import record

        print(record(table))


def _prose(options: argparse.Namespace) -> None:
    from bbgm.prose import fill_files

    for path in fill_files():
        print(path)


def _provenance(options: argparse.Namespace) -> None:
    from bbgm.tables.provenance import describe_provenance, list_provenance

    lines = list_provenance(options.budget, options.table)
    print(describe_provenance(lines) if options.rst else lines.to_csv(index=False), end="")
