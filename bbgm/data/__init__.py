"""Data sets: readers of the original formats, the demo data, pairs and sets of images.

Folders, from the lowest: `images`, `fetch`, `sampling`, `readers`, `datasets` (one module per data set: settings and
facts). Above them `open` opens a data set, and `status` and `usable` report on what is there. `demo` asks the package
`bbgm_demo` for demo data. May import `bbgm.config` and `bbgm.base`.
"""

from bbgm.data.images.keypoints import FRAME, Dataset, ImagePair, KeypointImage
from bbgm.data.open import open_dataset
from bbgm.data.sampling.filters import FILTERS
from bbgm.data.sampling.pairs import KeypointPair, make_pair, sample_training_batch, test_pairs
from bbgm.data.sampling.sets import KeypointSet, test_sets

__all__ = [
    "FILTERS",
    "FRAME",
    "Dataset",
    "ImagePair",
    "KeypointImage",
    "KeypointPair",
    "KeypointSet",
    "make_pair",
    "open_dataset",
    "sample_training_batch",
    "test_pairs",
    "test_sets",
]
