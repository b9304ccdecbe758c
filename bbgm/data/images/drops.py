"""What a reader leaves out, and why."""

from collections import Counter
from dataclasses import dataclass

EITHER = "either"


@dataclass(frozen=True)
class Drop:
    """One object, image or pair that is not used.

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
    """All that the protocol leaves out of a data set."""

    drops: tuple[Drop, ...] = ()

    def record(self) -> dict[str, dict[str, dict[str, int]]]:
        """Counts ``{subset: {reason: {class: n}}}``, for the record of a run."""
        result: dict[str, dict[str, dict[str, int]]] = {}
        for (subset, reason, cls), n in Counter((drop.subset, drop.reason, drop.cls) for drop in self.drops).items():
            result.setdefault(subset, {}).setdefault(reason, {})[cls] = n
        return result

    def summary(self, subset: str, cls: str | None = None) -> str:
        """Counts of one part, or of one class there, as text: ``12 difficult, 3 occluded``; or ``none``."""
        wanted = (drop for drop in self.drops if drop.subset in (subset, EITHER) and cls in (None, drop.cls))
        counts = Counter(drop.reason for drop in wanted)
        return ", ".join(f"{n} {reason}" for reason, n in counts.items()) or "none"
