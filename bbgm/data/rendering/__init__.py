"""Stand-in renderer: discs."""

import numpy as np
from PIL import Image, ImageDraw

from bbgm.data.willow import KEYPOINT_NAMES

CLASSES = tuple(KEYPOINT_NAMES)


def render_image(cls: str, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (h, w, 3) uint8 and keypoints (10, 2) px."""
    base = np.random.default_rng(CLASSES.index(cls)).uniform(-1, 1, (10, 3)) * [0.8, 0.7, 0.3]
    colours = np.random.default_rng(CLASSES.index(cls) + 99).integers(0, 255, (5, 3))[np.arange(10) // 2]
    points = base + generator.normal(0, 0.05, base.shape)
    angle = generator.uniform(-0.5, 0.5)
    x = points[:, 0] * np.cos(angle) + points[:, 2] * np.sin(angle)
    width, height = generator.integers(256, 400, 2)
    scale = generator.uniform(0.7, 1.0)
    xy = np.stack([width / 2 * (1 + 0.9 * scale * x), height / 2 * (1 + 0.9 * scale * points[:, 1])], axis=1)
    xy = np.clip(xy, 2, [width - 2, height - 2])
    noise = generator.integers(0, 255, (height // 16 + 1, width // 16 + 1, 3)).astype(np.uint8)
    image = Image.fromarray(noise).resize((int(width), int(height)), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    draw.line([tuple(p) for p in xy], fill="gray", width=12)
    for (px, py), colour in zip(xy, colours, strict=True):
        draw.ellipse([px - 13, py - 13, px + 13, py + 13], fill=tuple(int(c) for c in colour), outline="black")
    return np.asarray(image), xy
