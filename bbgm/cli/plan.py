"""``bbgm plan``: what a budget costs, before anything starts."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbgm.runs.plan import Group, Plan


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``plan``."""
    plan = commands.add_parser(
        "plan",
        help="list the runs of a budget with their hours, disk and memory, before anything starts",
        description="List the runs of a budget, what they cost at the speeds in config/throughput.toml, and which data "
        "are missing. Reads only the configuration, and writes nothing.",
    )
    plan.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
    plan.add_argument("--json", action="store_true", help="print JSON")
    plan.add_argument(
        "--measured", type=Path, metavar="RUN", help="print the speed of this finished run, for config/throughput.toml"
    )
    plan.set_defaults(command=_plan)


def _plan(options: argparse.Namespace) -> None:
    if options.measured:
        import datetime

        from bbgm.runs.results import load
        from bbgm.runs.throughput import measurement_of

        run = load(options.measured)
        written = (run.folder / "metrics.json").stat().st_mtime
        print(measurement_of(run, datetime.date.fromtimestamp(written)))
        return
    from bbgm.runs.plan import make_plan

    plan = make_plan(options.budget)
    if not plan.groups:
        raise ValueError(
            f"no run is listed for the budget {options.budget!r}: see experiments and seeds in config/config.yaml"
        )
    print(json.dumps(plan.to_dict(), indent=2) if options.json else _describe(plan))


def _describe(plan: "Plan") -> str:
    import pandas as pd

    rows = pd.DataFrame([_row(group) for group in plan.groups]).to_string(index=False)
    total = plan.to_dict()["total"]
    lines = [f"Budget {plan.budget}: {total['runs']} runs, {total['training_pairs']:,} training pairs", "", rows, ""]
    lines.append("* parents: " + ", ".join(sorted({group.parent for group in plan.groups if group.parent} or {"none"})))
    for device, hours in total["hours"].items():
        lines.append(f"{device.upper()} hours, one run after another: {_total(plan, device, hours)}")
    caches = ", ".join(f"{name} {size:.1f}" for name, size in plan.caches_gb.items())
    working = max((group.working_gb for group in plan.groups), default=0)
    lines.append(
        f"disk: {plan.disk_gb:.1f} GB when all is done{f' (caches, at most: {caches})' if caches else ''}, and "
        f"up to {working:.1f} GB for each run in progress"
    )
    lines += [f"missing: {line}" for line in plan.missing] or ["data and weights: nothing is missing"]
    for one in plan.measurements:
        where = ", ".join(f"{name} {value}" for name, value in one.where.items())
        lines.append(f"measured {one.date} on {one.hardware}: {where}")
    return "\n".join(lines)


def _row(group: "Group") -> dict[str, str]:
    return {
        "data set": group.dataset,
        "filter": group.filter,
        "method": group.method + ("*" if group.parent else ""),
        "runs": str(group.runs),
        "iterations": str(group.iterations),
        "training pairs": str(group.training_pairs),
        "test pairs": "all listed" if group.test_pairs is None else str(group.test_pairs),
        "in sets": str(group.set_pairs or ""),
        **{f"{device.upper()} h": _number(hours, "not measured") for device, hours in group.hours.items()},
        "disk GB": f"{group.disk_gb:.1f}",
        **{f"{device.upper()} GB": _number(size, "?") for device, size in group.memory_gb.items()},
    }


def _number(value: float | None, absent: str) -> str:
    return absent if value is None else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _total(plan: "Plan", device: str, hours: float | None) -> str:
    if hours is not None:
        return _number(hours, "")
    known = [group for group in plan.groups if group.hours[device] is not None]
    if not known:
        return "not measured (config/throughput.toml)"
    part = sum(group.hours[device] or 0 for group in known)
    return f"{_number(part, '')} for {len(known)} of {len(plan.groups)} groups; the others are not measured"
