"""A wine bottle."""

import numpy as np

from bbgm.data.rendering.mesh import bezier, both_sides, revolve, surface
from bbgm.data.rendering.paint import Material, Noise, Paint, blend, colour, plain, random_colour, step
from bbgm.data.rendering.scene import Model


def bottle(generator: np.random.Generator, noise: Noise) -> Model:
    """Glass, capsule and a label; it may be seen from any side of the label, so left and right look alike."""
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
    angle = np.linspace(turn - half, turn + half, 32)
    ring = 1.012 * radius * np.stack([np.sin(angle), -np.cos(angle), 0 * angle], axis=-1)
    grid = ring[None] + np.linspace(low, high, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    parts.append(
        surface(grid, Material(_label(generator, noise, low, high, turn, half), 0.05), (False, False), sheet=True)
    )
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
    stuck = 1.012 * radius * np.array([np.sin(turn), -np.cos(turn), 0])
    label = {"Label_Top": stuck + [0, 0, high - 0.03], "Label_Bottom": stuck + [0, 0, low + 0.03]}
    outline = frozenset(sides)
    return Model(parts, keypoints, sides | label, azimuth=0, elevation=(1, 32), aspect=(0.72, 1.1), outline=outline)


def _label(generator: np.random.Generator, noise: Noise, low: float, high: float, turn: float, half: float) -> Paint:
    paper = colour(generator.uniform(0.05, 0.16), generator.uniform(0.02, 0.25), generator.uniform(0.75, 0.98))
    ink, seal = random_colour(generator, (0.2, 0.9), (0.1, 0.5)), random_colour(generator)
    emblem, lines = generator.uniform(0.55, 0.75), generator.uniform(14, 22)

    def paint(local: np.ndarray) -> np.ndarray:
        u = (np.arctan2(local[:, 0], -local[:, 1]) - turn) / half
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
