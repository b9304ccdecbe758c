"""A head with shoulders."""

from collections.abc import Callable

import numpy as np

from bbgm_demo.rendering.mesh import (
    Part,
    bezier,
    both_sides,
    loft,
    outermost,
    revolve,
    superellipsoid,
    surface,
    tube,
)
from bbgm_demo.rendering.paint import Material, Noise, Paint, blend, colour, plain, random_colour, random_paint, step
from bbgm_demo.rendering.scene import Model


def face(generator: np.random.Generator, noise: Noise) -> Model:
    """Both halves are alike but for a few degrees of turn; it looks at the viewer."""
    wide, tall = generator.uniform(0.5, 0.62), generator.uniform(0.68, 0.8)
    middle = 1.5
    tone = generator.random() ** 1.7
    skin_rgb = colour(generator.uniform(0.045, 0.075), 0.34 + 0.3 * tone, 0.97 - 0.6 * tone)
    skin = Material(_skin(generator, noise, skin_rgb, middle), 0.16, 14)
    hair_rgb = colour(generator.uniform(0.02, 0.12), generator.uniform(0.1, 0.75), generator.uniform(0.08, 0.85))
    hair = Material(lambda p: hair_rgb * (0.55 + 0.9 * noise.fractal(p * [26, 26, 5], 2))[:, None], 0.25, 12)

    def front(x: float, z: float, out: float = 0.0) -> np.ndarray:
        """The point of the head's front at height z above its middle."""
        u, v = x / wide, z / tall
        return np.array([x, -(0.56 + out) * np.sqrt(max(1 - u**2 - v**2, 0.05)) - 0.02, middle + z])

    parts = [superellipsoid((0, 0, middle), (wide, 0.58, tall), skin, power=(0.92, 0.95), n=(25, 32))]
    parts.append(superellipsoid((0, -0.12, middle - 0.5 * tall), (0.72 * wide, 0.42, 0.46 * tall), skin))  # jaw
    parts.append(tube([(0, 0.1, 0.45), (0, 0.06, 0.8), (0, 0.02, middle - 0.3)], [0.36, 0.3, 0.31], skin, n=16))
    eye_x, eye_z = generator.uniform(0.2, 0.24), generator.uniform(0.04, 0.12)
    brow = generator.uniform(0.12, 0.18)
    iris = colour(generator.uniform(0.05, 0.62), 0.6, generator.uniform(0.2, 0.7))
    keys: dict[str, np.ndarray] = {}
    glasses = generator.random() < 0.3
    for side, name in ((-1, "left"), (1, "right")):
        eye = front(side * eye_x, eye_z)
        parts.append(
            superellipsoid(eye + [0, 0.035, 0], (0.105, 0.075, 0.062), Material(plain(np.full(3, 0.85)), 0.7, 80))
        )
        look = eye + [0, -0.028, 0]
        parts.append(superellipsoid(look, (0.048, 0.022, 0.048), Material(plain(iris), 0.8, 90)))
        parts.append(
            superellipsoid(look + [0, -0.014, 0], (0.024, 0.014, 0.024), Material(plain(np.full(3, 0.01)), 1, 90))
        )
        lid = bezier(
            eye + [-0.12, 0.02, 0.0], eye + [-0.05, -0.05, 0.11], eye + [0.05, -0.05, 0.11], eye + [0.12, 0.02, 0], n=9
        )
        parts.append(tube(lid, 0.022, skin, n=8, flat=False))
        arch = [
            front(side * (eye_x + dx), eye_z + brow + dz, 0.05)
            for dx, dz in ((-0.13, -0.01), (0.0, 0.04), (0.14, -0.02))
        ]
        parts.append(tube(bezier(*arch, n=8), np.linspace(0.035, 0.02, 8), hair, n=8, flat=False))
        ear = np.array([side * (wide + 0.015), 0.04, middle + 0.02])
        parts.append(superellipsoid(ear, (0.05, 0.11, 0.17), skin))
        if glasses:
            rim = [(0.145 + 0.015 * np.cos(t), 0.015 * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 6, endpoint=False)]
            metal = Material(plain(hair_rgb * 0.2), 0.8, 60)
            parts.append(revolve(rim, metal, base=eye + [0, -0.09, 0], axis="y", n=24, ring=True))
            parts.append(tube([eye + [side * 0.14, -0.09, 0.02], ear + [0, -0.05, 0.1]], 0.013, metal, n=6))
        keys |= {f"{name} eye": look, f"{name} ear": ear, f"{name} cheek": front(side * 0.27, -0.2, 0.02)}
    nose = front(0, -0.14) + [0, -generator.uniform(0.1, 0.16), 0]
    bridge = bezier(front(0, 0.12), front(0, 0.05) + [0, -0.02, 0], nose + [0, 0, 0.06], nose, n=8)
    parts.append(tube(bridge, np.linspace(0.035, 0.08, 8), skin, n=12, flat=False))
    parts.append(superellipsoid(nose + [0, 0.03, -0.01], (0.105, 0.075, 0.065), skin))
    parts += _mouth(generator, front, keys, skin_rgb)
    parts += _hair(generator, hair, wide, tall, middle)
    parts += _shoulders(generator, noise)
    names = ("left eye", "right eye", "nose", "left mouth", "right mouth", "left cheek", "right cheek")
    keypoints = np.array(
        [keys.get(n, nose + [0, -0.05, 0]) for n in names] + [front(0, 0.42, 0.02), keys["left ear"], keys["right ear"]]
    )
    framed = np.array([[-0.8, 0, 0.62], [0.8, 0, 0.62], [0, 0, middle + tall + 0.12]])
    landmarks = both_sides(
        {
            "Eye": keys["right eye"] + [0, -0.02, 0],
            "Ear": keys["right ear"] + [0.05, 0, 0],
            "MouthCorner": keys["right mouth"],
            "Shoulder": (0.83, 0.1, 0.47),
        },
        axis=0,
    ) | {
        "Nose": keypoints[2],
        "Forehead": keypoints[7],
        "Chin": np.array([0, -0.45, middle - 0.82 * tall]),
        "Head_Top": outermost(parts, (0, 0, middle), (0, 0, 1)),
        "B_Head": outermost(parts, (0, 0, middle + 0.2), (0, 1, 0)),
        "B_Neck": outermost(parts[2:3], (0, 0, 0.85), (0, 1, 0)),
    }
    return Model(parts, keypoints, landmarks, 38, (-3, 18), (0.75, 1.25), framed, clutter_in_front=False)


def _mouth(
    generator: np.random.Generator, front: Callable[..., np.ndarray], keys: dict[str, np.ndarray], skin: np.ndarray
) -> list[Part]:
    half, smile, z = generator.uniform(0.14, 0.2), generator.uniform(-0.01, 0.07), generator.uniform(-0.37, -0.31)
    lips = Material(plain(skin * [0.75, 0.42, 0.42]), 0.3, 25)
    corners = [front(side * half, z + smile, 0.05) for side in (-1, 1)]
    keys["left mouth"], keys["right mouth"] = corners
    parts = []
    for drop, thick in ((0.02, 0.024), (-0.05 - 0.5 * smile, 0.032)):
        centre = front(0, z + drop, 0.08)
        curve = bezier(corners[0], centre + [-0.08, 0, 0], centre + [0.08, 0, 0], corners[1], n=12)
        parts.append(tube(curve, thick * np.sin(np.linspace(0.25, np.pi - 0.25, 12)), lips, n=8, flat=False))
    teeth = Material(plain(np.array([0.8, 0.78, 0.72]) if smile > 0.035 else skin * [0.4, 0.2, 0.2]), 0.4)
    middle = front(0, z - 0.01, 0.055)
    parts.append(superellipsoid(middle + [0, 0.02, 0.2 * smile], (half * 0.85, 0.035, 0.03), teeth))
    return parts


def _hair(generator: np.random.Generator, hair: Material, wide: float, tall: float, middle: float) -> list[Part]:
    """A cap down to a hairline: high in front, lower at the sides, lowest behind."""
    if generator.random() < 0.08:
        return []
    turn = np.linspace(-np.pi, np.pi, 36, endpoint=False)[None, :]  # 0 = forwards
    forward = 0.5 + 0.5 * np.cos(turn)
    back = generator.uniform(-0.97, -0.3)
    front = generator.uniform(0.6, 0.82)
    line = back + (front - back) * forward ** generator.uniform(0.5, 1.6)
    s = np.linspace(0, 1, 12)[:, None]
    polar = np.pi / 2 + s * (np.arcsin(line) - np.pi / 2)
    curls = 1 + generator.uniform(0, 0.5) * np.sin(generator.integers(5, 12) * turn) * np.sin(9 * polar)
    thick = generator.uniform(0.05, 0.16) * np.sqrt(np.maximum(1 - s**6, 0.03)) * curls + 0.01
    x, y = (wide + thick) * np.cos(polar) * np.sin(turn), -(0.58 + thick) * np.cos(polar) * np.cos(turn)
    cap = np.stack([x, y + 0.01, middle + (tall + thick) * np.sin(polar)], axis=-1)
    return [surface(cap, hair, (False, True), sheet=True)]


def _shoulders(generator: np.random.Generator, noise: Noise) -> list[Part]:
    cloth = Material(random_paint(generator, noise, 0.8), 0.05)
    angle = np.linspace(0, 2 * np.pi, 28, endpoint=False)
    rows = []
    for z, half, deep in (
        (0.0, 0.92, 0.42),
        (0.25, 0.94, 0.42),
        (0.45, 0.85, 0.37),
        (0.6, 0.6, 0.33),
        (0.7, 0.36, 0.32),
    ):
        x, y = np.cos(angle), np.sin(angle)
        rows.append(np.stack([half * np.sign(x) * np.abs(x) ** 0.8, 0.1 + deep * y, np.full(28, z)], axis=-1))
    collar = Material(plain(random_colour(generator, (0, 0.8), (0.3, 1.0))), 0.05)
    return [
        loft(np.array(rows), cloth),
        revolve([(0.36 + 0.05 * np.cos(t), 0.69 + 0.06 * np.sin(t)) for t in np.linspace(0, 6.28, 8, endpoint=False)],
                collar, base=(0, 0.1, 0), ring=True),
    ]  # fmt: skip


def _skin(generator: np.random.Generator, noise: Noise, rgb: np.ndarray, middle: float) -> Paint:
    """Redder cheeks, and on some faces a beard."""
    blush, stubble = generator.uniform(0.1, 0.4), generator.uniform(0.3, 0.85) * (generator.random() < 0.35)

    def paint(local: np.ndarray) -> np.ndarray:
        x, y, z = local[:, 0], local[:, 1], local[:, 2] - middle
        red = np.exp(-((np.abs(x) - 0.28) ** 2 + (z + 0.2) ** 2) / 0.02) * (y < 0)
        shade = rgb * (0.93 + 0.14 * noise.fractal(local * 9, 2))[:, None]
        shade = blend(blush * red, shade, rgb * [1.0, 0.55, 0.5])
        beard = step(-z - 0.35 * np.abs(x), 0.27, 0.1) * (y < 0.1) * step(z, -0.8, 0.1)
        return blend(stubble * beard * (0.6 + 0.4 * noise(local * 40)), shade, rgb * 0.12)

    return paint
