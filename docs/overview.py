"""Draw figures/overview.png, the picture at the head of the README: `python docs/overview.py`, a minute on one core.

A pair of rendered objects, matched by the network before its first step and by the model that comes with bbgm; beside
it the loss of the solver's matching along two random directions of the costs, and the interpolation of which Alg. 1
takes the gradient. The pair is the one where training gains most among the first test pairs of each class.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm import plotting
from bbgm.base.paths import project_root
from bbgm.config import load_run
from bbgm.data import open_dataset, test_pairs
from bbgm.methods.bbgm import landscape
from bbgm.models import load_model
from bbgm.plotting.landscape import draw_surface
from bbgm.plotting.style import styled
from bbgm.runs.train import load_matcher, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 7.2, 4.1  # inches
POINTS = 61  # of the surfaces, along each direction


def main() -> None:
    config = load_run("bbgm_untrained", "demo", 0)
    untrained, trained = load_matcher(run(config)), load_model().matcher
    dataset = open_dataset(config.data, config.protocol)
    pairs = [pair for cls in dataset.classes for pair in test_pairs(dataset, config.protocol, cls)[:20]]
    before, after = untrained.predict(pairs), trained.predict(pairs)
    right = [[np.sum(y == pair.truth) for y, pair in zip(ys, pairs, strict=True)] for ys in (before, after)]
    chosen = int(np.argmax(np.subtract(right[1], right[0])))
    pair = pairs[chosen]

    instance: Any = trained.costs([pair])[0].numpy()
    generator = np.random.default_rng(0)
    first, second = (landscape.random_direction(instance, generator, edges=False) for _ in range(2))
    edges = len(instance.edges1) / len(instance.unary)
    stake = float(instance.unary.std() + edges * np.abs(instance.quadratic).mean())
    s = 2 * stake * np.linspace(-1, 1, POINTS)
    section = landscape.loss_section(instance, pair.truth_matrix, (first, second), s, s, [stake])

    titles = [
        f"{when}: {n[chosen]} of {len(pair.truth)} right"
        for when, n in zip(("untrained", "trained"), right, strict=True)
    ]
    surfaces = {
        "loss $L$: terraces, no gradient": section.loss,
        r"$f_\lambda$: what Alg. 1 descends": section.interpolations[stake],
    }
    figure = draw(pair, dict(zip(titles, (before[chosen], after[chosen]), strict=True)), s, surfaces)
    plotting.write_figure(figure, project_root() / "figures" / "overview.png")


@styled
def draw(pair: Any, matchings: dict[str, np.ndarray], s: np.ndarray, surfaces: dict[str, np.ndarray]) -> "Figure":
    """Two matchings below each other, with their titles, and two surfaces on one scale beside them."""
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  (registers the projection)

    figure = plotting.new_figure(HEIGHT, WIDTH)
    figure.set_layout_engine("none")  # leaves wide margins around 3-D axes
    low, high = (float(extreme([extreme(values) for values in surfaces.values()])) for extreme in (np.min, np.max))
    for k, (title, assignment) in enumerate(matchings.items()):
        plotting.plot_matching(
            figure.add_axes((0.005, 0.505 - 0.5 * k, 0.6, 0.445)), pair, assignment, edges=True, title=title
        )
    for k, (title, values) in enumerate(surfaces.items()):
        draw_surface(figure.add_axes((0.63, 0.5 - 0.5 * k, 0.36, 0.45), projection="3d"), s, s, values, low, high)
        figure.text(0.81, 0.965 - 0.5 * k, title, ha="center", va="center", size="medium")
    return figure


if __name__ == "__main__":
    main()
