"""``bbgm train | evaluate | match | table | prose | provenance``: runs and what is made of them."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.cli.arguments import positive


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``train``, ``evaluate``, ``match``, ``table``, ``prose`` and ``provenance``."""
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

    evaluate = commands.add_parser("evaluate", help="evaluate a trained run again; its folder is not changed")
    evaluate.add_argument("run", type=Path, metavar="RUN", help="folder of a finished run")
    evaluate.add_argument("--pairs", type=positive, help="number of test pairs of each class; default: as in the run")
    evaluate.add_argument("--solver", help="solver of the test pairs, e.g. dual or best; default: the run's")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    evaluate.set_defaults(command=_evaluate)

    match = commands.add_parser("match", help="match the keypoints of two images with a trained run")
    match.add_argument("run", type=Path, metavar="RUN", help="folder of a finished run")
    match.add_argument("source", metavar="IMAGE1", help="image id, e.g. Car/demo_0021")
    match.add_argument("target", metavar="IMAGE2", help="image id of the same class")
    match.add_argument("--figure", type=Path, help="draw the matching into this file (.png or .pdf)")
    match.set_defaults(command=_match)

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
    from bbgm.runs.results import load
    from bbgm.runs.train import evaluate_run

    evaluation = evaluate_run(load(options.run), options.pairs, solver=options.solver)
    if options.json:
        print(json.dumps({"per_class": evaluation.per_class, "mean": evaluation.mean}, indent=2))
    else:
        _print_scores(evaluation.per_class, evaluation.mean)


def _match(options: argparse.Namespace) -> None:
    import numpy as np

    from bbgm.data import make_pair, open_dataset
    from bbgm.runs.results import load
    from bbgm.runs.train import load_matcher

    record = load(options.run)
    dataset = open_dataset(record.config.data, record.config.protocol)
    images = {image.image_id: image for part in (dataset.train, dataset.test) for one in part.values() for image in one}
    for image_id in (options.source, options.target):
        if image_id not in images:
            example = next(iter(images))
            raise ValueError(f"no image {image_id!r} in the data of this run: ids look like {example!r}")
    source, target = images[options.source], images[options.target]
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
