"""How much of a data set is used, and whether its reader can read it, for ``bbgm data status``."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data import READERS
from bbgm.data.crops import decode
from bbgm.data.folder import read_folder
from bbgm.data.keypoints import SUBSETS

READ = ("voc", "willow", "spair")
"""Original data sets that have a reader, by their names in ``registry.toml``."""


def describe_usable(name: str) -> tuple[list[str], list[str]]:
    """Report lines for an original data set, and what is broken in it, one phrase each.

    Images or pairs of both parts, and what is left out and why.

    All annotations are read, seconds for the whole of a data set; images are not decoded.
    """
    data = DataConfig.model_validate({"dataset": name, "source": "original"})
    try:
        dataset = READERS[name](data, ProtocolConfig())
    except FileNotFoundError as error:  # a part of it that is reported on its own
        return [f"  not read  {error}"], []
    except (ValueError, OSError) as error:
        return [], [str(error)]
    lines = []
    for subset in SUBSETS:
        pairs = [dataset.pairs(cls, subset) for cls in dataset.classes]
        images = sum(len(one.images) for one in pairs)
        count = f"{sum(map(len, pairs))} pairs of {images} images" if dataset.listed else f"{images} objects"
        lines.append(f"  {subset:<9} {count} in {len(pairs)} classes; left out: {dataset.dropped.summary(subset)}")
        if few := [cls for cls, one in zip(dataset.classes, pairs, strict=True) if not len(one)]:
            lines.append(
                f"  no pair   in the {subset} part of {', '.join(few)}: runs must leave it out by data.classes"
            )
    return lines, []


def describe_folder(root: Path, check: bool = False) -> tuple[list[str], list[str]]:
    """Report lines for a folder of one's own images, and what is broken in it, one phrase each.

    Args:
        root: the folder.
        check: decode every image, too.
    """
    try:
        images, splits, dropped = read_folder(root)
    except (ValueError, OSError) as error:
        return [f"{root}", f"  status    broken: {error}"], [str(error)]
    members = [image for one in images.values() for image in one]
    faults = broken_images(sorted({image.path for image in members})) if check else []
    counts = ", ".join(f"{cls} {len(one)}" for cls, one in images.items())
    left_out = dict(Counter(drop.reason for drop in dropped.drops))
    parts = Counter(splits[image.image_id] for image in members) if splits else {}
    lines = [
        f"{root}",
        "  status    " + (f"broken: {'; '.join(faults)}" if faults else "found"),
        f"  objects   {counts}",
        f"  split     {', '.join(f'{n} {part}' for part, n in parts.items()) or 'none: by protocol.train_per_class'}",
        f"  left out  {', '.join(f'{n} {reason}' for reason, n in left_out.items()) or 'none'}",
    ]
    return lines, faults


def broken_images(files: Sequence[Path]) -> list[str]:
    """For each image that cannot be decoded, in the order given, why."""
    with ThreadPoolExecutor(4) as pool:
        return [reason for reason in pool.map(_fault, files) if reason]


def _fault(file: Path) -> str:
    try:
        decode(file)
    except (ValueError, OSError) as error:
        return str(error)
    return ""
