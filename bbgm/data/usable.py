"""How much of a data set is used, for ``bbgm data status``."""

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data import READERS
from bbgm.data.keypoints import SUBSETS


def describe_usable(name: str) -> list[str]:
    """Report lines for an original data set that brings its split ("voc", "spair").

    Images or pairs of both parts, and what is left out and why.

    All annotations are read, seconds for the whole of a data set; images are not decoded.
    """
    try:
        dataset = READERS[name](DataConfig(dataset=name, source="original"), ProtocolConfig())
    except (ValueError, OSError) as error:
        return [f"  not read  {error}"]
    lines = []
    for subset in SUBSETS:
        pairs = [dataset.pairs(cls, subset) for cls in dataset.classes]
        images = sum(len(one.images) for one in pairs)
        count = f"{sum(map(len, pairs))} pairs of {images} images" if dataset.listed else f"{images} objects"
        lines.append(f"  {subset:<9} {count} in {len(pairs)} classes; left out: {dataset.dropped.summary(subset)}")
    return lines
