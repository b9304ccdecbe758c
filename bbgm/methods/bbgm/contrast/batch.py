"""The keypoints of all pairs of a batch together, for losses that look at more than one pair."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.affinity import Affinity
from bbgm.methods.bbgm.contrast.settings import ContrastConfig
from bbgm.methods.bbgm.forward_pass import ForwardPass


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a pair.

    Attributes:
        similarity: (E1, E2), what one edge in both directions would gain, so twice minus the cost.
        true1, true2: (M,) int64, the edges of both graphs whose ends correspond.
    """

    similarity: Tensor
    true1: Tensor
    true2: Tensor

    @classmethod
    def of(cls, pair: KeypointPair, instance: Instance[Tensor]) -> "Edges":
        """The edges of a pair with these costs."""
        n2, ends = len(pair.kept2), pair.truth[instance.edges1]
        wanted = np.where((ends >= 0).all(axis=1), ends[:, 0] * n2 + ends[:, 1], -1)
        have = instance.edges2[:, 0] * n2 + instance.edges2[:, 1]
        _, true1, true2 = np.intersect1d(wanted, have, return_indices=True)
        on_device = (torch.from_numpy(true).to(instance.quadratic.device) for true in (true1, true2))
        return cls(-2 * instance.quadratic, *on_device)


@dataclass(frozen=True, eq=False)
class Batch:
    """N1 keypoints of the sources and N2 of the targets of P pairs, one pair after another; K true correspondences.

    Attributes:
        x, y: features (N1, C) and (N2, C), after the refinement.
        pair1, pair2: (N1,) and (N2,) int64, the pair of each keypoint.
        label1, label2: (N1,) and (N2,) int64, equal for keypoints with the same name of the same class,
            or with `names: shared` of any class.
        true1, true2: (K,) int64, where a keypoint and its partner are in x and in y.
        rows, columns: (N1, N2), similarities of a source's keypoint to all targets', and of a target's keypoint to all
            sources', computed as its own pair computes them. Within a pair both are the same.
        edges: of each pair; empty where no term asks for them.
        costs: vertex costs (n1, n2) of each pair, and its truth (n1,) int64, -1 = without a partner; empty where no
            term asks for them.
        scale, edge_scale: e^l, the inverse of the learned temperature of keypoints and of edges, scalars.
        settings: of the losses.
        teacher: the same batch as the teacher sees it, without gradients; None: there is none.
        alpha: share of the teacher in the targets at this iteration.
    """

    x: Tensor
    y: Tensor
    pair1: Tensor
    pair2: Tensor
    label1: Tensor
    label2: Tensor
    true1: Tensor
    true2: Tensor
    rows: Tensor
    columns: Tensor
    edges: tuple[Edges, ...]
    costs: tuple[tuple[Tensor, Tensor], ...]
    scale: Tensor
    edge_scale: Tensor
    settings: ContrastConfig
    teacher: "Batch | None" = None
    alpha: float = 0.0

    @classmethod
    def of(
        cls,
        pairs: Sequence[KeypointPair],
        passes: Sequence[ForwardPass],
        affinity: Affinity,
        scales: Tensor,
        settings: ContrastConfig,
    ) -> "Batch":
        """The batch that these pairs are.

        Args:
            passes: what the network computes of the pairs, in their order.
            affinity: of vertices.
            scales: of keypoints and of edges, (2,).
        """
        sizes1, sizes2 = [len(pair.kept1) for pair in pairs], [len(pair.kept2) for pair in pairs]
        x, y = (
            torch.cat([row[:n] for row, n in zip((r for one in passes for r in one.refined[side]), sizes, strict=True)])
            for side, sizes in enumerate((sizes1, sizes2))
        )
        if settings.similarity == "cosine":
            rows = columns = cosines(x, y)
        else:
            g = torch.cat([one.g for one in passes])
            rows, columns = compare(affinity, x, y, g, sizes1, sizes2)
        numbers: dict[tuple[str, str], int] = {}
        shared = settings.names == "shared"
        labels = (
            [
                numbers.setdefault(("" if shared else pair.source.cls, name), len(numbers))
                for pair in pairs
                for name in names(pair)
            ]
            for names in (_source_names, _target_names)
        )
        starts = np.cumsum([0, *sizes2[:-1]])
        truth = ((pair.truth, start) for pair, start in zip(pairs, starts, strict=True))
        matched = np.concatenate([np.where(one >= 0, one + start, -1) for one, start in truth])
        found = np.flatnonzero(matched >= 0)
        of_pair = (np.repeat(np.arange(len(pairs)), sizes) for sizes in (sizes1, sizes2))
        pair1, pair2, label1, label2, true1, true2 = (
            torch.from_numpy(np.asarray(index, dtype=np.int64)).to(x.device)
            for index in (*of_pair, *labels, found, matched[found])
        )
        edges: tuple[Edges, ...] = ()
        costs: tuple[tuple[Tensor, Tensor], ...] = ()
        if "edge_nce" in settings.terms:
            instances = (instance for one in passes for instance in one.instances())
            edges = tuple(Edges.of(pair, instance) for pair, instance in zip(pairs, instances, strict=True))
        if "partial_nce" in settings.terms:
            padded = (unary for one in passes for unary in one.unary)
            costs = tuple(
                (unary[: len(pair.kept1), : len(pair.kept2)], torch.from_numpy(pair.truth).to(x.device, torch.int64))
                for pair, unary in zip(pairs, padded, strict=True)
            )
        return cls(
            x,
            y,
            pair1,
            pair2,
            label1,
            label2,
            true1,
            true2,
            rows,
            columns,
            edges,
            costs,
            scales[0],
            scales[1],
            settings,
        )

    def taught_by(self, teacher: "Batch", alpha: float) -> "Batch":
        """The same batch with a teacher."""
        return replace(self, teacher=teacher, alpha=alpha)

    @property
    def true_cosines(self) -> tuple[Tensor, Tensor, Tensor]:
        """Cosines of the features at the K correspondences: S11, S22 and S12, (K, K) each; see `consistency`."""
        a, b = self.x[self.true1], self.y[self.true2]
        return cosines(a, a), cosines(b, b), cosines(a, b)


def _source_names(pair: KeypointPair) -> list[str]:
    return [pair.source.names[k] for k in pair.kept1]


def _target_names(pair: KeypointPair) -> list[str]:
    return [pair.target.names[k] for k in pair.kept2]


def cosines(x: Tensor, y: Tensor) -> Tensor:
    """Cosine of the angle of each row of x (N1, C) with each of y (N2, C): (N1, N2)."""
    return F.normalize(x, dim=1) @ F.normalize(y, dim=1).T


def compare(
    affinity: Affinity, x: Tensor, y: Tensor, g: Tensor, sizes1: Sequence[int], sizes2: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Similarities of the keypoints of P pairs, also across pairs, by the affinity, which depends on the pair.

    Args:
        x, y: features (N1, C) and (N2, C), one pair after another.
        g: global features (P, Cg).
        sizes1, sizes2: numbers of keypoints of each pair, P each, with the sums N1 and N2.

    Returns:
        (N1, N2) with the coefficients of the source keypoint's pair, and with those of the target keypoint's pair.
    """
    (one, mask1), (two, mask2) = _padded(x, sizes1), _padded(y, sizes2)
    rows = affinity(one, y.expand(len(g), -1, -1), g)[mask1]
    columns = affinity(x.expand(len(g), -1, -1), two, g).transpose(1, 2)[mask2].T
    return rows, columns


def _padded(x: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Rows (P, longest, C) of each pair, padded with zeros, and where they are no padding, (P, longest) bool."""
    parts = pad_sequence(list(torch.split(x, list(sizes))), batch_first=True)
    places = torch.arange(parts.shape[1], device=x.device)
    return parts, places < torch.tensor(sizes, device=x.device)[:, None]
