"""``bbgm bench peers``."""

import argparse
from typing import Any

from bbgm.cli.bench.options import add_folder, check_folder, use_one_thread


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    peers = subjects.add_parser(
        "peers", help="run our solver and others that are installed on every .dd and .dd.xz file of two graphs"
    )
    add_folder(peers, repeats=3, records="the records of each peer")
    peers.add_argument("--peers", metavar="NAME,NAME", help="which ones, see bbgm/bench/peers (default: all)")
    peers.add_argument("--record", action="store_true", help="keep the table in measured/instances/peers.csv")
    peers.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    use_one_thread()
    from bbgm.base.atomic import write_json
    from bbgm.base.progress import progress
    from bbgm.bench.live import bench_peers, busiest, chosen_peers, family_rows, is_shared, peers_report

    check_folder(options)
    peers, missing = chosen_peers(options.peers and options.peers.split(","))
    for line in missing:
        print(line)
    records = bench_peers(
        options.folder, peers, repeats=options.repeats, progress=lambda paths: progress(paths, "instances")
    )
    rows = family_rows(options.folder, records, "bbgm bench peers --record")
    print(peers_report(rows))
    for line in busiest(records):
        print(line)
    if is_shared(records):
        print("the machine did other work meanwhile: times are too long, measure again when it is idle")
    if options.json:
        write_json(options.json, {peer.title: own for peer, own in records.items()})
    if options.record:
        from bbgm.prose import record_solvers

        print(f"kept in {record_solvers(rows, shared=is_shared(records))}")
