"""What a reader leaves out or moves, and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

EITHER = "either"

Counts = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class Drop:
    """One object, image or pair that is not used, or something of it that was changed.

    Attributes:
        subset: "train" or "test", or ``EITHER`` if the split is made later.
        cls: its class.
        item: its identifier.
        reason: in a few words, the same for all items of a kind.
    """

    subset: str
    cls: str
    item: str
    reason: str


@dataclass(frozen=True)
class DropReport:
    """All that the protocol leaves out of a data set.

    Attributes:
        drops: what is not used.
        cuts: what is used, but was outside of its image and is cut to its border.
    """

    drops: tuple[Drop, ...] = ()
    cuts: tuple[Drop, ...] = ()

    def record(self) -> Counts:
        """Counts ``{subset: {reason: {class: n}}}`` of what is left out, for the record of a run."""
        return _counts(self.drops)

    def cut_record(self) -> Counts:
        """The same of what is cut."""
        return _counts(self.cuts)

    def summary(self, subset: str, cls: str | None = None) -> str:
        """Counts of one part, or of one class there, as text: ``12 difficult, 3 occluded``; or ``none``."""
        wanted = (drop for drop in self.drops if drop.subset in (subset, EITHER) and cls in (None, drop.cls))
        counts = Counter(drop.reason for drop in wanted)
        return ", ".join(f"{n} {reason}" for reason, n in counts.items()) or "none"


def _counts(drops: Sequence[Drop]) -> Counts:
    result: Counts = {}
    for (subset, reason, cls), n in Counter((drop.subset, drop.reason, drop.cls) for drop in drops).items():
        result.setdefault(subset, {}).setdefault(reason, {})[cls] = n
    return result
