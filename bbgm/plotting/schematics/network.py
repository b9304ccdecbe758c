"""The network as block diagrams: what is computed of one image (paper Fig. 4), and of a pair (paper Fig. 5).

Every size is read off the steps of a pair, `bbgm.methods.bbgm.steps.follow_pair`, and off the network.
"""

from typing import TYPE_CHECKING

import numpy as np

from bbgm.plotting.schematics import shapes as draw
from bbgm.plotting.schematics.shapes import INK, LEARNED, PLAIN, SOURCE, TARGET
from bbgm.plotting.style import WIDE, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import nn

    from bbgm.methods.bbgm.network import BBGM
    from bbgm.methods.bbgm.settings import BBGMRun
    from bbgm.methods.bbgm.steps import PairSteps

FINE, COARSE = "#B9D3E8", "#86AFD1"
"""Parts of the features, by the map that they are from."""


@styled
def plot_image_features(steps: "PairSteps", network: "BBGM", config: "BBGMRun") -> "Figure":
    """Stages 1 and 2 for the source of a pair: from the image to the features of its keypoints and its global vector.

    Args:
        network, config: those that the steps were computed with.

    Raises:
        ValueError: the network has no SplineCNN.
    """
    from bbgm.methods.spline.convolution import SplineConv

    spline = network.refinement
    if spline is None:
        raise ValueError("the network has no SplineCNN: draw the whole BB-GM")
    one, size = steps.source, steps.shapes()["size"]
    nodes, channels = one.visual.shape
    convolutions = [part for part in spline.modules() if isinstance(part, SplineConv)]
    kernel = convolutions[0].kernel_size
    alt = (
        f"Block diagram of stages 1 and 2. An image of {size['image']} goes through the backbone, which gives maps of "
        f"{size['map relu4_2']} and {size['map relu5_1']} and a global vector of {size['global vector of an image']} "
        f"numbers. Interpolated at {nodes} keypoints, the maps give {nodes} x {channels} visual features; SplineCNN on "
        f"the keypoints' graph changes them, and what it gives is added to them."
    )
    figure, ax = draw.canvas(WIDE, 2.75, alt)
    middle = 1.75
    draw.draw_picture(ax, (0.1, middle - 0.5, 1.0, 1.0), steps.pair.source.crop(), one.graph.xy, SOURCE[0], None)
    _title(ax, 0.6, "image", size["image"], middle - 0.5)

    draw.draw_arrow(ax, (1.12, middle), (1.36, middle))
    draw.draw_funnel(ax, (1.38, middle - 0.55, 0.86, 1.1), f"backbone\n{config.network.backbone}")
    draw.write(ax, (1.81, middle - 0.66), _parameters(network.backbone), color=LEARNED[0])
    draw.draw_arrow(ax, (2.26, middle + 0.2), (2.52, middle + 0.3))
    draw.draw_arrow(ax, (2.26, middle - 0.2), (2.52, middle - 0.3))
    resolution = [part.shape[-1] for part in one.maps]
    sides = [0.62, 0.62 * resolution[1] / resolution[0]]
    for name, bottom, side, colour in (
        ("relu4_2", middle + 0.1, sides[0], FINE),
        ("relu5_1", middle - 0.48, sides[1], COARSE),
    ):
        draw.draw_stack(ax, (2.58, bottom), side, (INK, colour))
        where = (2.58 + side + 0.2, bottom + side / 2 + 0.06)
        draw.write(ax, where, f"{name}\n{size[f'map {name}']}", ha="left")

    draw.draw_arrow(ax, (4.12, middle + 0.3), (4.42, middle + 0.12))
    draw.draw_arrow(ax, (4.12, middle - 0.24), (4.42, middle - 0.12))
    share = one.maps[0].shape[0] / channels
    draw.draw_rows(ax, (4.48, middle - 0.42, 0.72, 0.84), nodes, parts=((share, FINE), (1 - share, COARSE)))
    draw.write(ax, (4.1, middle + 0.03), "interpolated", ha="right")
    _title(ax, 4.84, "at the keypoints", f"{nodes} x {channels}", middle - 0.42)

    draw.draw_arrow(ax, (5.22, middle), (5.36, middle))
    text = f"SplineCNN\n{len(convolutions)} layers\n{kernel} x {kernel} kernels"
    draw.draw_box(ax, (5.38, middle - 0.36, 0.84, 0.72), text, LEARNED)
    draw.write(ax, (5.8, middle + 0.47), _parameters(spline), color=LEARNED[0])
    draw.draw_arrow(ax, (6.24, middle), (6.44, middle))
    draw.write(ax, (6.52, middle), "+", size=11, weight="bold")
    draw.write(ax, (6.34, middle + 0.11), f"x {spline.weight:g}", size=6)
    top = middle + 0.66
    draw.draw_arrow(ax, (4.84, middle + 0.44), (4.84, top), (6.52, top), (6.52, middle + 0.1))
    draw.draw_arrow(ax, (6.6, middle), (6.72, middle))
    draw.draw_rows(ax, (6.76, middle - 0.42, 0.34, 0.84), nodes, SOURCE)
    _title(ax, 6.9, "$f^v$", f"{nodes} x {channels}", middle - 0.42)

    low = 0.42
    corner, extent = one.graph.xy.min(axis=0), np.ptp(one.graph.xy, axis=0).max()
    draw.draw_keypoints(ax, (5.42, low - 0.28, 0.72, 0.72), (one.graph.xy - corner) / extent, SOURCE[0], one.graph)
    draw.write(ax, (5.28, low + 0.04), f"graph, {len(one.graph.edges)}\ndirected edges", ha="right")
    draw.draw_arrow(ax, (5.8, low + 0.5), (5.8, middle - 0.38))
    draw.draw_arrow(ax, (2.42, middle), (2.42, low), (2.54, low))
    ax.plot([2.26, 2.42], [middle, middle], color=INK, linewidth=0.9, linestyle="-")
    draw.draw_rows(ax, (2.58, low - 0.07, 0.9, 0.14), 1, SOURCE)
    text = f"global vector: {size['global vector of an image']}\n(maximum over the last map)"
    draw.write(ax, (2.58, low - 0.24), text, ha="left")
    draw.write(ax, (0.1, 0.12), "green: learned", ha="left", color=LEARNED[0])
    return figure


@styled
def plot_pair_costs(steps: "PairSteps", network: "BBGM", config: "BBGMRun", assignment: np.ndarray) -> "Figure":
    """Stage 3 and the solver's layer: from the features of two images to costs, to a matching, and back.

    Args:
        network, config: those that the steps were computed with.
        assignment: (n1,), the solver's matching, -1 = unmatched.

    Raises:
        ValueError: the coefficients do not come from the global vector.
    """
    if config.network.affinity != "global" or network.edge_affinity is None:
        raise ValueError("the network's coefficients are not those of the global vector: draw the whole BB-GM")
    size = steps.shapes()["size"]
    (n1, n2), (e1, e2) = steps.costs.unary.shape, steps.costs.quadratic.shape
    channels, joined = len(steps.a_vertex), len(steps.g)
    alt = (
        f"Block diagram of stage 3. The features of two images, {n1} and {n2} keypoints and {e1} and {e2} directed "
        f"edges with {channels} channels each, are compared by inner products whose coefficients come from both global "
        f"vectors, {joined} numbers. This gives {n1} x {n2} vertex costs and {e1} x {e2} edge costs, from which the "
        "solver makes the matching. A dashed arrow leads from the loss back to the costs."
    )
    figure, ax = draw.canvas(WIDE, 3.35, alt)
    vertices, gate, edges = 2.68, 1.78, 0.92
    for name, side, image, bottom, look in (
        ("source", steps.source, steps.pair.source, 2.14, SOURCE),
        ("target", steps.target, steps.pair.target, 0.62, TARGET),
    ):
        draw.draw_picture(ax, (0.1, bottom, 0.9, 0.9), image.crop(), side.graph.xy, look[0], side.graph)
        draw.write(ax, (0.55, bottom + 1.0), name, color=look[0], weight="bold")
        draw.draw_arrow(ax, (1.02, bottom + 0.45), (1.2, bottom + 0.45), colour=look[0])
    draw.draw_box(ax, (1.22, 0.62, 0.72, 2.42), "stages\n1 and 2,\nthe same\nfor both\nimages", LEARNED)

    for centre, letter, rows in ((vertices, "v", (n1, n2)), (edges, "e", (e1, e2))):
        draw.draw_arrow(ax, (1.96, centre), (2.2, centre))
        for row, part, look, count in ((0.06, "s", SOURCE, rows[0]), (-0.34, "t", TARGET, rows[1])):
            draw.draw_rows(ax, (2.24, centre + row, 0.5, 0.3), count, look)
            text = f"$f^{letter}_{part}$: {count} x {channels}"
            draw.write(ax, (2.8, centre + row + 0.15), text, ha="left", color=look[0])
        draw.draw_arrow(ax, (3.62, centre), (3.8, centre))
        draw.draw_box(ax, (3.82, centre - 0.28, 1.06, 0.56), "weighted\ninner products", PLAIN)
        draw.draw_arrow(ax, (4.9, centre), (5.04, centre))
    draw.write(ax, (2.24, edges - 0.46), "of an edge: its start's less its end's", ha="left", size=6.2)

    draw.draw_arrow(ax, (1.96, gate), (2.2, gate))
    draw.draw_rows(ax, (2.24, gate - 0.08, 0.9, 0.16), 1, parts=((0.5, SOURCE[1]), (0.5, TARGET[1])))
    draw.write(ax, (2.69, gate - 0.2), f"both global vectors, $g$: {joined}")
    draw.draw_arrow(ax, (3.18, gate), (3.8, gate))
    both = _parameters(network.vertex_affinity, network.edge_affinity)
    draw.draw_box(ax, (3.82, gate - 0.2, 1.06, 0.4), f"linear, tanh\n{both}", LEARNED)
    draw.draw_arrow(ax, (4.35, gate + 0.22), (4.35, vertices - 0.3))
    draw.draw_arrow(ax, (4.35, gate - 0.22), (4.35, edges + 0.3))
    draw.write(ax, (4.41, gate + 0.4), f"$a^v$: {channels}", ha="left")
    draw.write(ax, (4.41, gate - 0.38), f"$a^e$: {channels}", ha="left")

    for centre, letter, matrix in ((vertices, "v", steps.costs.unary), (edges, "e", steps.costs.quadratic)):
        draw.draw_values(ax, (5.08, centre - 0.3, 0.6, 0.6), matrix.detach().cpu().numpy())
        draw.write(ax, (5.38, centre + 0.38), f"$c^{letter}$: {size[_COSTS[letter]]}")
        draw.draw_arrow(ax, (5.7, centre), (5.88, centre))
    draw.draw_box(ax, (5.9, edges - 0.3, 0.5, vertices - edges + 0.6), f"solver\n({config.solver.method})")
    draw.draw_arrow(ax, (6.42, gate), (6.52, gate))
    made = np.zeros((n1, n2))
    made[np.flatnonzero(assignment >= 0), assignment[assignment >= 0]] = 1
    draw.draw_values(ax, (6.54, gate - 0.28, 0.56, 0.56), made, "Greys")
    draw.write(ax, (6.82, gate + 0.37), f"matching\n{n1} x {n2}", va="bottom")
    draw.write(ax, (6.82, gate - 0.42), "loss, in\ntraining", va="top")
    low = 0.28
    draw.draw_arrow(ax, (6.82, gate - 0.78), (6.82, low), (5.38, low), (5.38, edges - 0.32), dashed=True, colour=_BACK)
    draw.draw_arrow(ax, (5.38, edges + 0.48), (5.38, vertices - 0.32), dashed=True, colour=_BACK)
    gradient = r"$(y_\lambda - y)\;/\;\lambda$ for all costs"
    text = rf"backward: solved once more, $\lambda$ = {config.solver.lambda_:g}; {gradient}"
    draw.write(ax, (6.86, 0.13), text, ha="right", color=_BACK)
    return figure


_COSTS = {"v": "vertex costs, n1 x n2", "e": "edge costs, E1 x E2"}
_BACK = "#A33B00"


def _title(ax: "Axes", x: float, name: str, size: str, bottom: float) -> None:
    """Name and size of something, below it."""
    draw.write(ax, (x, bottom - 0.05), f"{name}\n{size}", va="top")


def _parameters(*modules: "nn.Module") -> str:
    """How many parameters these have together."""
    count = sum(part.numel() for module in modules for part in module.parameters())
    return f"{count / 1e6:.1f} M parameters" if count >= 1e6 else f"{count:,} parameters"
