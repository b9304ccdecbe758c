"""How much of a data set is used, and whether its reader can read it, for ``bbgm data status``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

from bbgm.config import DATASETS, DataConfig, ProtocolConfig
from bbgm.data.fetch.sources import find
from bbgm.data.images.drops import DropReport
from bbgm.data.images.keypoints import SUBSETS, Subset
from bbgm.data.images.pictures import decode
from bbgm.data.images.split import Images
from bbgm.data.readers.folder import find_faults, read_folder


def original_data(name: str) -> DataConfig | None:
    """The original data set that is downloaded under this name; None: it is weights, or a part of a data set."""
    return DATASETS[name](dataset=name, source="original") if name in DATASETS and DATASETS[name].downloads else None


def describe_usable(data: DataConfig) -> tuple[list[str], list[str]]:
    """Report lines for an original data set, and what is broken in it, one phrase each.

    Images or pairs of both parts, and what is left out and why.

    Reads all annotations, which takes seconds for a complete data set; images are not decoded.
    """
    try:
        dataset = data.open(ProtocolConfig())
    except (ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError) and not _is_complete(data):  # missing files are reported separately
            return [f"  not read  {error}"], []
        return [], [str(error)]
    lines = []
    for subset in SUBSETS:
        pairs = [dataset.pairs(cls, subset) for cls in dataset.classes]
        images = sum(len(one.images) for one in pairs)
        count = f"{sum(map(len, pairs))} pairs of {images} images" if dataset.listed else f"{images} objects"
        lines.append(f"  {subset:<9} {count} in {len(pairs)} classes; left out: {dataset.dropped.summary(subset)}")
        if few := [cls for cls, one in zip(dataset.classes, pairs, strict=True) if not len(one)]:
            lines.append(
                f"  no pair   in the {subset} part of {', '.join(few)}: runs must leave them out with data.classes"
            )
    return lines, []


def _is_complete(data: DataConfig) -> bool:
    """Whether all parts of a data set are there; a custom ``.json`` file may replace VOC's split."""
    items = [find(part) for part in data.downloads]
    places = [item.locate(item.folder()) for item in items]
    return all(place.exists() or place.with_suffix(".json").exists() for place in places)


def describe_folder(root: Path, check: bool = False) -> tuple[list[str], list[str]]:
    """Report lines for a folder of your own images, and what is broken in it, one phrase each.

    Args:
        root: the folder.
        check: also decode every image.
    """
    try:
        faults = find_faults(root)
        images, splits, dropped = ({}, {}, DropReport()) if faults else read_folder(root)
    except (ValueError, OSError) as error:
        faults = [str(error)]
    if faults:
        return [f"{root}", f"  status    broken: {'; '.join(faults)}"], faults
    members = [image for one in images.values() for image in one]
    faults = _without_pairs(images, splits)
    if check:
        faults += broken_images(sorted({image.path for image in members}))
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
    if cuts := Counter(cut.reason for cut in dropped.cuts):
        lines.append(f"  cut       to the border: {', '.join(f'{n} {reason}' for reason, n in cuts.items())}")
    return lines, faults


def _without_pairs(images: Images, splits: Mapping[str, Subset]) -> list[str]:
    """Classes that no run can use, one phrase each: they lack a pair to train with, or one to test with."""
    if not images:
        return ["no object has a keypoint"]
    faults = []
    for cls, members in images.items():
        parts = {f"class {cls}": list(members)}
        if splits:
            parts = {
                f"the {part} part of class {cls}": [one for one in members if splits[one.image_id] == part]
                for part in SUBSETS
            }
        for named, ones in parts.items():
            if len(ones) < (least := 2 if splits else 4):
                faults.append(f"{named} has {len(ones)} objects, a run needs {least}")
            elif not any(len({*one.names} & {*other.names}) > 1 for one, other in combinations(ones, 2)):
                faults.append(f"{named} has no two images with two common keypoints")
    return [f"{fault}: add images, or leave the class out with data.classes" for fault in faults]


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
