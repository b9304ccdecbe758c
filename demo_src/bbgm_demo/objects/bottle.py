"""A wine bottle."""

import numpy as np

from bbgm_demo.rendering.mesh import Part, bezier, both_sides, revolve, surface
from bbgm_demo.rendering.paint import Material, Noise, Paint, blend, colour, plain, random_colour, step
from bbgm_demo.rendering.scene import Model

CODE = 0.3
"""Height of the middle of the bar code on the back label, as a share of the label's."""


def bottle(generator: np.random.Generator, noise: Noise) -> Model:
    """Glass, capsule, a label and a smaller one on the back; left and right of the outline look alike."""
    height = 2.2
    radius = generator.uniform(0.27, 0.4)
    neck = generator.uniform(0.10, 0.13)
    shoulder = generator.uniform(1.05, 1.35)
    neck_base = min(shoulder + generator.uniform(0.2, 0.5), 1.75)
    round_ = generator.uniform(0.1, 0.9)
    curve = bezier(
        (radius, shoulder),
        (radius, shoulder + round_ * (neck_base - shoulder)),
        (neck, neck_base - 0.6 * round_ * (neck_base - shoulder)),
        (neck, neck_base),
        n=12,
    )
    lip = [(neck * 1.18, height - 0.09), (neck * 1.18, height - 0.02), (neck * 1.05, height), (0, height)]
    profile = np.concatenate([[(0, 0), (radius * 0.93, 0), (radius, 0.06)], curve, [(neck, height - 0.1)], lip])
    glass = [
        colour(0.3, 0.75, 0.22),
        colour(0.27, 0.65, 0.42),
        colour(0.08, 0.8, 0.2),
        colour(0.12, 0.45, 0.6),
        colour(0.55, 0.25, 0.65),
        colour(0.0, 0.3, 0.1),
    ][generator.integers(6)]
    parts = [revolve(profile, Material(plain(glass), 0.9, 90.0), n=40)]

    foil = random_colour(generator, (0.3, 0.9), (0.2, 0.7))
    top = generator.uniform(neck_base + 0.05, height - 0.2)
    parts.append(
        revolve(
            [(neck * 1.04, top), (neck * 1.04, height - 0.1), (neck * 1.22, height - 0.09),
             (neck * 1.22, height - 0.02), (neck, height + 0.012), (0, height + 0.012)],
            Material(plain(foil), 0.6, 25.0), n=40,
        )
    )  # fmt: skip
    low, high = generator.uniform(0.12, 0.3), shoulder - generator.uniform(0.05, 0.25)
    turn, half = np.radians(generator.uniform(-40, 40)), np.radians(generator.uniform(70, 110))
    emblem = generator.uniform(0.55, 0.75)
    parts.append(_sticker(radius, (low, high), turn, half, _label(generator, noise, low, high, turn, half, emblem)))
    small = low + generator.uniform(0.05, 0.15), high - generator.uniform(0.1, 0.3)
    behind, narrow = turn + np.pi, np.radians(generator.uniform(40, 60))
    parts.append(_sticker(radius, small, behind, narrow, _back_label(generator, noise, *small, behind, narrow)))
    keypoints = np.array([
        (neck * 1.2, 0, height - 0.03), (-neck * 1.2, 0, height - 0.03),
        (-neck, 0, neck_base), (neck, 0, neck_base),
        (-radius, 0, shoulder), (radius, 0, shoulder),
        (-radius, 0, 0.55 * shoulder), (radius, 0, 0.55 * shoulder),
        (-radius, 0, 0.04), (radius, 0, 0.04),
    ])  # fmt: skip
    sides = both_sides({
        "Top": (-neck * 1.2, 0, height - 0.03), "Neck": (-neck, 0, neck_base), "Shoulder": (-radius, 0, shoulder),
        "Base": (-radius, 0, 0.04),
    }, axis=0)  # fmt: skip
    front = 1.012 * radius * np.array([np.sin(turn), -np.cos(turn), 0])
    label = {
        "Label_Top": front + [0, 0, high - 0.03],
        "Label_Emblem": front + [0, 0, low + emblem * (high - low)],
        "Label_Bottom": front + [0, 0, low + 0.03],
        "BackLabel_Top": [0, 0, small[1] - 0.03] - front,
        "BackLabel_Code": [0, 0, small[0] + CODE * (small[1] - small[0])] - front,
        "BackLabel_Bottom": [0, 0, small[0] + 0.03] - front,
    }
    outline = frozenset(sides)
    return Model(parts, keypoints, sides | label, azimuth=0, elevation=(1, 32), aspect=(0.72, 1.1), outline=outline)


def _sticker(radius: float, span: tuple[float, float], turn: float, half: float, paint: Paint) -> Part:
    """Paper on the glass: its lower and upper end, and the angles of its middle and of half its width."""
    angle = np.linspace(turn - half, turn + half, 32)
    ring = 1.012 * radius * np.stack([np.sin(angle), -np.cos(angle), 0 * angle], axis=-1)
    grid = ring[None] + np.linspace(*span, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    return surface(grid, Material(paint, 0.05), (False, False), sheet=True)


def _around(local: np.ndarray, turn: float, half: float) -> np.ndarray:
    """Where points are on a sticker, -1 at its left edge and 1 at its right one."""
    angle = np.arctan2(local[:, 0], -local[:, 1]) - turn
    return ((angle + np.pi) % (2 * np.pi) - np.pi) / half


def _label(
    generator: np.random.Generator, noise: Noise, low: float, high: float, turn: float, half: float, emblem: float
) -> Paint:
    """A frame, an emblem, and lines of words below it."""
    paper = colour(generator.uniform(0.05, 0.16), generator.uniform(0.02, 0.25), generator.uniform(0.75, 0.98))
    ink, seal = random_colour(generator, (0.2, 0.9), (0.1, 0.5)), random_colour(generator)
    lines = generator.uniform(14, 22)

    def paint(local: np.ndarray) -> np.ndarray:
        u = _around(local, turn, half)
        v = (local[:, 2] - low) / (high - low)
        rgb = paper * (0.92 + 0.16 * noise.fractal(local * 12, 2))[:, None]
        frame = np.maximum(np.abs(u) / 0.97, np.abs(2 * v - 1) / 0.95)
        rgb = blend(step(frame, 0.9, 0.02) * (1 - step(frame, 0.95, 0.02)), rgb, ink)
        rgb = blend(1 - step(np.hypot(u * 1.2, (v - emblem) * 2.5), 0.33, 0.03), rgb, seal)
        rgb = blend(1 - step(np.hypot(u * 1.2, (v - emblem) * 2.5), 0.2, 0.03), rgb, paper)
        words = (np.abs(v * lines % 1 - 0.5) < 0.2) & (v < emblem - 0.22) & (v > 0.1)
        letters = noise(np.stack([u * 22, np.floor(v * lines)], axis=1)) > 0.42
        return blend((words & letters & (np.abs(u) < 0.65)) * 0.85, rgb, ink)

    return paint


def _back_label(
    generator: np.random.Generator, noise: Noise, low: float, high: float, turn: float, half: float
) -> Paint:
    """Small print, and a bar code at the height `CODE`."""
    paper = colour(generator.uniform(0.05, 0.16), generator.uniform(0.0, 0.12), generator.uniform(0.85, 1.0))
    ink, bars, lines = np.full(3, 0.03), generator.random(24) < 0.5, generator.uniform(16, 24)

    def paint(local: np.ndarray) -> np.ndarray:
        u, v = _around(local, turn, half), (local[:, 2] - low) / (high - low)
        words = (np.abs(v * lines % 1 - 0.5) < 0.2) & (v > CODE + 0.2) & (v < 0.93)
        letters = noise(np.stack([u * 30, np.floor(v * lines)], axis=1)) > 0.4
        code = (np.abs(v - CODE) < 0.13) & (np.abs(u) < 0.6) & bars[np.clip((u + 0.6) * 20, 0, 23).astype(int)]
        return blend((words & letters & (np.abs(u) < 0.8)) | code, np.broadcast_to(paper, (len(u), 3)), ink)

    return paint
