"""``bbgm bench spline``: the spline convolution beside its reference, torch_geometric's on torch-spline-conv."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bbgm.data.images.keypoints import FRAME
from bbgm.methods.spline.convolution import SplineConv

NODES, DEGREE = 10, 5
"""Nodes of a graph, as in a Willow instance; neighbours of a node, about as many as in a Delaunay triangulation."""


def bench_spline(channels: int = 1024, graphs: int = 16, threads: int = 2, repeats: int = 3) -> dict[str, Any]:
    """Time one layer forward and backward on a batch of graphs, and compare the numbers.

    Args:
        channels: C, of input and output.
        graphs: of 10 nodes and 50 directed edges each; 16 make the batch of 8 pairs.
        threads: of torch.
        repeats: how often the layer runs; the shortest time counts. The reference runs once: at full width it takes
            minutes.

    Returns:
        nodes, edges, channels, threads, seconds; reference_seconds, speedup and max_difference (output and gradients,
        relative to the largest entry of each), None where torch-spline-conv is not installed.
    """
    generator = torch.Generator().manual_seed(0)
    nodes = graphs * NODES
    place = torch.rand(nodes, 2, generator=generator) * FRAME
    target = torch.arange(nodes).repeat_interleave(DEGREE)
    # Each node has the DEGREE nodes after it within its graph as neighbours.
    source = (target // NODES) * NODES + (target % NODES + 1 + torch.arange(nodes * DEGREE) % DEGREE) % NODES
    edge_index = torch.stack([source, target])
    pseudo = 0.5 + 0.5 * (place[source] - place[target]) / FRAME
    x = torch.randn(nodes, channels, generator=generator) * channels**-0.5
    gradient = torch.randn(nodes, channels, generator=generator)

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layer = SplineConv(channels, channels)
        seconds, ours = min((_timed(layer, x, edge_index, pseudo, gradient) for _ in range(repeats)), key=_seconds)
        record = {"nodes": nodes, "edges": len(source), "channels": channels, "threads": threads, "seconds": seconds}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reference warns that it is old, and that it runs on a CPU
            reference = _reference(layer, channels)
            if reference is None:
                return record | {"reference_seconds": None, "speedup": None, "max_difference": None}
            slow, theirs = _timed(reference, x, edge_index, pseudo, gradient)
    finally:
        torch.set_num_threads(before)
    difference = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(ours, theirs, strict=True))
    return record | {"reference_seconds": slow, "speedup": slow / seconds, "max_difference": difference}


def _seconds(run: tuple[float, list[Tensor]]) -> float:
    return run[0]


def _timed(
    layer: Callable[..., Tensor], x: Tensor, edge_index: Tensor, pseudo: Tensor, gradient: Tensor
) -> tuple[float, list[Tensor]]:
    """Seconds, and the output with the gradients of input and kernel."""
    point = x.clone().requires_grad_()
    layer.weight.grad = None  # type: ignore[attr-defined]
    start = time.perf_counter()
    output = layer(point, edge_index, pseudo)
    torch.autograd.backward(output, gradient)
    seconds = time.perf_counter() - start
    assert point.grad is not None
    return seconds, [output.detach(), point.grad, layer.weight.grad]  # type: ignore[attr-defined]


def _reference(layer: SplineConv, channels: int) -> Any | None:
    try:
        import torch_spline_conv  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
        from torch_geometric.nn import SplineConv as Reference
    except ImportError:
        return None
    reference = Reference(channels, channels, dim=2, kernel_size=layer.kernel_size, degree=1, aggr="max")
    reference.load_state_dict(layer.state_dict(), strict=False)  # its sizes are buffers, ours are not
    return reference
