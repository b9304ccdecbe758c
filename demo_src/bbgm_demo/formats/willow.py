"""The format of Willow ObjectClass: one object per image, all ten keypoints annotated, seen or not."""

from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

from bbgm_demo.parallel import in_parallel
from bbgm_demo.pictures import CLASSES, render_image
from bbgm_demo.seeds import key

FOLDER = "WILLOW-ObjectClass"


def write_tree(tree: Path, seed: int, images_per_class: int) -> None:
    """Write ``<Class>/demo_0000.png`` and ``.mat``, ..."""
    for cls in CLASSES:
        (tree / cls).mkdir()
    jobs = [
        partial(write_example, tree / cls / f"demo_{index:04d}", cls, [seed, key(cls), index])
        for cls in CLASSES
        for index in range(images_per_class)
    ]
    in_parallel(jobs, "rendering the demo data like Willow")


def write_example(stem: Path, cls: str, seed: list[int]) -> None:
    """Render one object; write the picture and its annotation."""
    pixels, xy = render_image(cls, np.random.default_rng(seed))
    Image.fromarray(pixels).save(stem.with_suffix(".png"), compress_level=3)
    stem.with_suffix(".mat").write_bytes(mat_bytes(xy))


def mat_bytes(xy: np.ndarray) -> bytes:
    """A .mat file with ``pts_coord`` = xy.T, without the date that SciPy writes into its header."""
    buffer = BytesIO()
    savemat(buffer, {"pts_coord": np.ascontiguousarray(xy.T, dtype=np.float64)})
    return b"MATLAB 5.0 MAT-file".ljust(116) + buffer.getvalue()[116:]
