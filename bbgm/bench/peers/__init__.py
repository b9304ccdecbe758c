"""Other solvers of two graphs, live: `bbgm bench peers` runs those that are installed on the same files as ours.

A peer is a subclass of `bbgm.bench.peers.peer.Peer` in a file of its own and one line in `PEERS`. A plugin adds one
with ``PEERS.add("mine", Mine)``. Its module imports the solver in the function that uses it, so that
it can be read without.
"""

from typing import Any

from bbgm.base.registry import Registry

PEERS: Registry[Any] = Registry(
    "peer",
    "bbgm bench peers --peers",
    "bbgm.bench.peers.peer:Peer",
    {
        "best": "bbgm.bench.peers.ours:Best",
        "dual": "bbgm.bench.peers.ours:Dual",
        "pylibmgm": "bbgm.bench.peers.libmgm:LibMGM",
        "pygmtools_rrwm": "bbgm.bench.peers.pygm:RRWM",
        "pygmtools_ipfp": "bbgm.bench.peers.pygm:IPFP",
        "pygmtools_sm": "bbgm.bench.peers.pygm:SpectralMatching",
        "scipy_milp": "bbgm.bench.peers.highs:HiGHS",
        "scipy_faq": "bbgm.bench.peers.qap:FAQ",
        "scipy_2opt": "bbgm.bench.peers.qap:TwoOpt",
        "scipy_lsa": "bbgm.bench.peers.assignment:LinearAssignment",
    },
)
"""Subclasses of `bbgm.bench.peers.peer.Peer`, in the order of the tables."""
