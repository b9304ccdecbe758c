"""A duck: a wild one, a farm one, or a toy."""

import numpy as np

from bbgm_demo.rendering.mesh import Part, bezier, both_sides, superellipsoid, tube
from bbgm_demo.rendering.paint import Material, Noise, Paint, blend, colour, plain, random_colour, step
from bbgm_demo.rendering.scene import Model


def duck(generator: np.random.Generator, noise: Noise) -> Model:
    """Body, neck, head, beak, eyes, wings, tail; it looks to the right."""
    fat, long = generator.uniform(0.85, 1.15), generator.uniform(0.9, 1.15)
    neck = generator.uniform(0.05, 0.5)
    head = generator.uniform(0.85, 1.15)
    tail = generator.uniform(0.1, 0.45)

    # The body's middle line from tail to breast; radii sideways and upwards.
    tip, breast = np.array([-1.12 * long, 0, 0.6 + tail]), np.array([0.8 * long, 0, 0.58])
    spine = bezier(tip, (-0.75 * long, 0, 0.5), (-0.1, 0, 0.34), (0.5 * long, 0, 0.4), breast, n=22)
    s = np.linspace(0, 1, 22)
    bulge = np.sin(np.pi * s**1.5) ** 0.62
    radii = np.stack([0.02 + 0.46 * fat * bulge, 0.02 + 0.36 * fat * bulge], axis=1)
    lift = max(float((radii[:, 1] - spine[:, 2]).max()), -0.2)
    spine, tip, breast = (array + np.array([0, 0, lift]) for array in (spine, tip, breast))

    skull = np.array([0.72 * long + 0.06, 0, lift + 0.98 + neck])
    bend = (0.68 * long, 0, lift + 0.72), (0.5 * long, 0, lift + 0.85 + 0.6 * neck)
    throat = bezier((0.34 * long, 0, lift + 0.42), *bend, skull, n=12)
    thick = 0.19 * head + 0.12 * np.linspace(1, 0, 12) ** 1.5
    beak, bill, size = skull + [0.2 * head, 0, -0.04], generator.uniform(0.24, 0.38), 0.26 * head

    plumage = _plumage(generator, noise, lift, neck)
    skin = Material(plumage, 0.12, 18)
    orange = Material(
        plain(colour(generator.uniform(0.04, 0.13), generator.uniform(0.6, 1), generator.uniform(0.5, 1))), 0.3
    )
    parts = [
        tube(spine, radii, skin, n=20, flat=False),
        tube(throat, thick, skin, n=16, flat=False),
        superellipsoid(skull, (size, size * 0.86, size * 0.92), skin),
        *_beak(beak, head, bill, orange),
    ]
    eye = skull + [0.10 * head, -0.19 * head, 0.07 * head]
    for side in (1, -1):
        spot = eye * [1, side, 1]
        parts.append(superellipsoid(spot, 0.055 * head, Material(plain(colour(0.1, 0.3, 0.9)), 0.5)))
        parts.append(
            superellipsoid(
                spot + [0.015, -0.025 * side, 0.005], 0.042 * head, Material(plain(np.full(3, 0.01)), 1.0, 80)
            )
        )
        wing = superellipsoid(
            (-0.22 * long, -0.41 * fat * side, lift + 0.55),
            (0.52 * long, 0.1, 0.23 * fat),
            Material(_wing(generator, noise, plumage), 0.1),
        )
        parts.append(wing)
    if generator.random() < 0.5:
        legs, rise = _legs(generator.uniform(0.12, 0.28), fat, orange)
        parts = [part.placed(np.eye(3), np.array([0, 0, rise])) for part in parts] + legs
    else:
        rise = 0.0
    up = np.array([0, 0, rise + lift])
    nape = throat[4] + [-thick[4], 0, 0.0] + [0, 0, rise]
    keypoints = np.array([
        beak + [0.96 * bill * head, 0, -0.03 + rise], eye + [0, 0, rise], skull + [-size, 0, 0.02 + rise], nape,
        np.array([0.72 * long + 0.07, -0.06, 0.5]) + up,
        np.array([-0.05, -0.1, 0.38 + 0.36 * fat]) + up, np.array([-0.55 * long, -0.08, 0.46 + 0.31 * fat]) + up,
        tip + [0, 0, rise],
        np.array([-0.4 * long, -0.2, 0.46 - 0.28 * fat]) + up, np.array([0.3 * long, -0.2, 0.42 - 0.3 * fat]) + up,
    ])  # fmt: skip
    reach, flank = 0.45 * long, 0.41 * fat + 0.05
    landmarks = both_sides(
        {
            "Eye": eye * [1, -1, 1] + [0.02, 0.06 * head, rise],
            "Wing_Base": np.array([-0.22 * long + reach, flank, 0.55]) + up,
            "Wing_Tip": np.array([-0.22 * long - reach, flank, 0.55]) + up,
        },
        ("Left_", "Right_"),
    ) | {
        "Beak_Tip": keypoints[0],
        "Beak_Base": skull + [0.28 * head, 0, 0.04 * head + rise],
        "Head_Top": skull + [0, 0, 0.92 * size + rise],
        "Upper_Neck_Base": nape,
        "Lower_Neck_Base": keypoints[4] * [1, 0, 1],
        "Back": keypoints[5] * [1, 0, 1],
        "Tail_Tip": keypoints[7],
    }
    return Model(parts, keypoints, landmarks, azimuth=68, elevation=(2, 36), aspect=(0.95, 1.4))


def _beak(root: np.ndarray, head: float, length: float, material: Material) -> list[Part]:
    """Upper and lower half, flat towards the tip."""
    s = np.linspace(0, 1, 8)
    parts = []
    for offset, thickness in ((0.02, 0.08), (-0.035, 0.05)):
        path = root + np.stack([length * s * head, 0 * s, offset - 0.06 * s + 0.05 * s**3], axis=1)
        wide = 0.11 * head * (1 - 0.35 * s) * np.sqrt(1 - s**6 * 0.98)
        parts.append(
            tube(path, np.stack([wide, thickness * head * (1 - 0.75 * s)], axis=1), material, n=14, flat=False)
        )
    return parts


def _legs(height: float, fat: float, material: Material) -> tuple[list[Part], float]:
    parts = []
    for side in (1, -1):
        x, y = 0.02 + 0.06 * side, -0.18 * fat * side
        parts.append(tube([(x, y, 0.02), (x, y, height + 0.12)], 0.035, material))
        web = np.array([[0.0, 0.03], [0.1, 0.1], [0.22, 0.13]])
        path = np.stack([x + web[:, 0], np.full(3, y), 0.025 + 0 * web[:, 0]], axis=1)
        parts.append(tube(path, np.stack([web[:, 1], np.full(3, 0.02)], axis=1), material))
    return parts, height


def _plumage(generator: np.random.Generator, noise: Noise, lift: float, neck: float) -> Paint:
    """Head, collar, breast and body, in one colour or in several."""
    body = colour(generator.uniform(0.06, 0.16), generator.uniform(0.02, 0.75), generator.uniform(0.4, 0.97))
    wild = generator.random() < 0.55
    head = random_colour(generator, (0.3, 0.9), (0.2, 0.7)) if wild else body
    breast = colour(generator.uniform(0.02, 0.1), 0.6, generator.uniform(0.3, 0.6)) if wild else body
    collar = lift + 0.78 + 0.3 * neck
    ring = 0.035 if wild and generator.random() < 0.6 else -1.0

    def paint(local: np.ndarray) -> np.ndarray:
        x, z = local[:, 0], local[:, 2]
        rgb = blend(step(x, 0.42, 0.2), body, breast)
        upper = step(z, collar, 0.04) * step(x, 0.1, 0.1)
        rgb = blend(upper, rgb, head)
        rgb = blend(step(ring - np.abs(z - collar), 0, 0.02) * step(x, 0.1, 0.1), rgb, np.array([0.9, 0.9, 0.88]))
        feathers = noise.fractal(local * [9, 9, 18], 2)
        return rgb * (0.8 + 0.4 * feathers)[:, None]

    return paint


def _wing(generator: np.random.Generator, noise: Noise, plumage: Paint) -> Paint:
    """Darker than the body, with rows of feathers and a bright patch."""
    dark, patch = generator.uniform(0.45, 0.95), random_colour(generator)
    rows, place = generator.uniform(8, 14), generator.uniform(-0.65, -0.35)

    def paint(local: np.ndarray) -> np.ndarray:
        x, z = local[:, 0], local[:, 2]
        bars = np.abs((z * 0.8 - 0.25 * x + 0.03 * noise(local * 8)) * rows % 1 - 0.5)
        rgb = plumage(local * [1, 1, 0] - [1, 0, 0]) * (dark * (0.75 + 0.5 * bars))[:, None]
        return blend(step(0.1 - np.abs(x - place), 0, 0.03) * 0.8 * step(bars, 0.12, 0.1), rgb, patch)

    return paint
