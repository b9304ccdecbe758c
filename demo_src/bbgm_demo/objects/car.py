"""A car: saloon, hatchback, coupe or van."""

import numpy as np

from bbgm_demo.rendering.mesh import Part, both_sides, loft, revolve, superellipsoid
from bbgm_demo.rendering.paint import Material, Noise, Paint, blend, colour, plain, random_colour, step
from bbgm_demo.rendering.scene import Model

WHITE, BLACK, GREY = np.full(3, 0.85), np.full(3, 0.012), np.full(3, 0.35)


def car(generator: np.random.Generator, noise: Noise) -> Model:
    """Body, cabin, wheels, lamps; its front is on the right."""
    half = generator.uniform(1.0, 1.15)  # half length
    wide = generator.uniform(0.4, 0.47)
    wheel = generator.uniform(0.16, 0.19)
    sill, belt = 0.11, generator.uniform(0.48, 0.58)
    hood, boot = belt - generator.uniform(0.0, 0.06), belt - generator.uniform(0.0, 0.06)
    roof = belt + generator.uniform(0.24, 0.34)
    axle_rear, axle_front = -half * generator.uniform(0.56, 0.64), half * generator.uniform(0.58, 0.66)
    screen, rear = half * generator.uniform(0.3, 0.45), -half * generator.uniform(0.5, 0.88)  # feet of the cabin

    rgb = random_colour(generator, (0.0, 0.95), (0.15, 0.95))
    body = Material(_body(generator, rgb, half, sill, belt, screen, rear), 0.75, 60)
    parts = [_hull(half, wide, sill, belt, hood, boot, screen, rear, body)]
    rake = generator.uniform(0.16, 0.3), generator.uniform(0.05, 0.25)
    top = (rear + rake[1], screen - rake[0])
    glass = Material(_cabin(rgb, belt, roof, (rear + screen) / 2), 0.95, 90)
    parts.append(_house(wide, belt, roof, (rear, screen), top, glass))

    rim = _rim(generator)
    for x in (axle_rear, axle_front):
        for side in (1, -1):
            parts += _wheel(
                np.array([x, -side * (wide - 0.058), wheel]), wheel, side, rim, int(generator.integers(4, 8))
            )
    lamp = generator.uniform(0.05, 0.075)
    for side in (1, -1):
        y = -side * wide * 0.74
        front, back = np.array([half - 0.045, y, hood - 0.13]), np.array([-half + 0.04, y, boot - 0.12])
        parts.append(
            superellipsoid(front, (0.06, 0.1, lamp), Material(plain(np.array([0.9, 0.9, 0.8])), 1, 60), (0.5, 0.5))
        )
        parts.append(
            superellipsoid(back, (0.045, 0.1, lamp), Material(plain(colour(0.0, 0.95, 0.8)), 0.8, 60), (0.4, 0.4))
        )
        mirror = np.array([screen - 0.12, -side * (wide + 0.05), belt + 0.04])
        parts.append(superellipsoid(mirror, (0.045, 0.06, 0.04), body, (0.6, 0.6)))
        handle = np.array([(rear + screen) / 2 - 0.02, -side * (wide + 0.005), belt - 0.07])
        parts.append(superellipsoid(handle, (0.06, 0.015, 0.014), Material(plain(GREY), 0.8), (0.4, 0.4)))
    trim = Material(plain(GREY * generator.uniform(0.1, 1.2)), 0.4)
    for end in (1, -1):
        parts.append(
            superellipsoid((end * (half - 0.02), 0, sill + 0.09), (0.07, wide * 0.95, 0.055), trim, (0.4, 0.35))
        )
    if generator.random() < 0.35:  # spoiler
        parts.append(superellipsoid((-half + 0.12, 0, boot + 0.1), (0.1, wide * 0.9, 0.02), body, (0.3, 0.3)))
        for y in (-0.6 * wide, 0.6 * wide):
            parts.append(superellipsoid((-half + 0.14, y, boot + 0.04), (0.05, 0.015, 0.07), body, (0.3, 0.3)))
    middle = (rear + screen) / 2
    keypoints = np.array([
        (axle_rear, -wide - 0.03, wheel), (axle_front, -wide - 0.03, wheel),
        (-half + 0.03, -wide * 0.8, boot - 0.12), (rear + 0.02, -wide * 0.85, belt + 0.01),
        (sum(top) / 2, -wide * 0.6, roof), (middle, -wide - 0.01, (sill + belt) / 2 + 0.02),
        (middle, -wide * 0.97, sill), (half - 0.02, -wide * 0.78, hood - 0.13),
        (-half, -wide * 0.8, sill + 0.09), (screen, -wide * 0.85, belt),
    ])  # fmt: skip
    pillar = 0.9 * (top[1] - top[0]) / 2  # along the roof, from its middle
    landmarks = both_sides({
        "F_WheelCenter": (axle_front, wide + 0.02, wheel), "B_WheelCenter": (axle_rear, wide + 0.02, wheel),
        "HeadLight": (half + 0.01, 0.76 * wide, hood - 0.13), "TailLight": (-half, 0.76 * wide, boot - 0.12),
        "F_RoofTop": (sum(top) / 2 + pillar, 0.7 * wide, roof - 0.01),
        "B_RoofTop": (sum(top) / 2 - pillar, 0.7 * wide, roof - 0.01),
        "SideviewMirror": (screen - 0.12, wide + 0.09, belt + 0.04),
    })  # fmt: skip
    return Model(parts, keypoints, landmarks, azimuth=65, elevation=(2, 34), aspect=(1.1, 1.5))


def _hull(
    half: float,
    wide: float,
    sill: float,
    belt: float,
    hood: float,
    boot: float,
    screen: float,
    rear: float,
    body: Material,
) -> Part:
    """Sections along x: round rectangles whose top follows boot, belt line and hood."""
    x = np.concatenate([[-half, -half + 0.02], np.linspace(-half + 0.08, half - 0.1, 14), [half - 0.03, half]])
    top = np.interp(
        x,
        [-half, rear, rear + 0.1, screen - 0.1, screen, half],
        [boot - 0.03, boot, belt, belt, belt - 0.01, hood - 0.05],
    )
    ends = np.clip(np.minimum(x + half, half - x) / 0.1, 0, 1) ** 0.5
    angle = np.linspace(0, 2 * np.pi, 28, endpoint=False) + 0.05
    y, z = (np.sign(f) * np.abs(f) ** 0.33 for f in (np.cos(angle), np.sin(angle)))
    lower = sill + 0.05 * (1 - ends)
    middle, tall = (top + lower) / 2, (top - lower) / 2 * (0.8 + 0.2 * ends)
    width = wide * (0.82 + 0.18 * ends)
    sections = np.stack(
        [np.broadcast_to(x[:, None], (len(x), 28)), width[:, None] * y, middle[:, None] + tall[:, None] * z], axis=-1
    )
    return loft(sections, body, flat=True)


def _house(
    wide: float, belt: float, roof: float, foot: tuple[float, float], top: tuple[float, float], material: Material
) -> Part:
    """Sections along z: round rectangles that shrink towards the roof."""
    s = np.concatenate([np.linspace(0, 0.86, 6), [0.95, 1.0]])
    shrink = np.concatenate([np.linspace(0, 0.86, 6), [0.98, 1.2]])
    angle = np.linspace(0, 2 * np.pi, 32, endpoint=False) + 0.05
    a, b = (np.sign(f) * np.abs(f) ** 0.35 for f in (np.cos(angle), np.sin(angle)))
    back, front = (foot[k] + shrink * (top[k] - foot[k]) for k in (0, 1))
    width = wide * (0.97 - 0.2 * shrink)
    sections = np.stack([
        ((back + front) / 2)[:, None] + ((front - back) / 2)[:, None] * a, width[:, None] * b,
        np.broadcast_to((belt - 0.03 + s * (roof - belt + 0.03))[:, None], (len(s), 32)),
    ], axis=-1)  # fmt: skip
    return loft(sections, material)


def _wheel(centre: np.ndarray, radius: float, side: int, rim: Material, spokes: int) -> list[Part]:
    """Tyre, dark arch behind it, and a rim with spokes; side 1 is the viewer's."""
    t = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    tyre = [(radius * 0.82 + radius * 0.18 * np.cos(a), 0.075 * np.sign(np.sin(a)) * abs(np.sin(a)) ** 0.6) for a in t]
    dark = Material(plain(np.full(3, 0.02)), 0.1)
    face = -side * 0.062
    parts = [
        revolve(tyre, dark, base=centre, axis="y", n=28, ring=True),
        revolve([(0, 0), (radius * 1.16, 0), (radius * 1.16, 0.01), (0, 0.01)],
                Material(plain(BLACK), 0.0), base=centre + [0, -side * 0.052, 0.01], axis="y", n=28),
        revolve([(0, 0), (radius * 0.2, 0), (radius * 0.12, -side * 0.02), (0, -side * 0.025)], rim,
                base=centre + [0, face, 0], axis="y", n=16),
        revolve([(radius * 0.7, 0.012), (radius * 0.7, -0.012), (radius * 0.58, -0.012), (radius * 0.58, 0.012)], rim,
                base=centre + [0, face, 0], axis="y", n=28, ring=True),
    ]  # fmt: skip
    for k in range(spokes):
        angle = 2 * np.pi * k / spokes + 0.3
        spoke = superellipsoid((0, 0, 0.35 * radius), (0.13 * radius, 0.012, 0.32 * radius), rim, (0.5, 0.5), n=(7, 10))
        c, s = np.cos(angle), np.sin(angle)
        parts.append(spoke.placed(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]), centre + [0, face, 0]))
    return parts


def _rim(generator: np.random.Generator) -> Material:
    tone = generator.choice([0.2, 0.55, 0.75])
    return Material(plain(tone * np.array([1.0, 1.0, generator.uniform(0.8, 1.05)])), 0.8, 40)


def _body(
    generator: np.random.Generator, rgb: np.ndarray, half: float, sill: float, belt: float, screen: float, rear: float
) -> Paint:
    """Lacquer with door seams, on some cars with stripes or a lower half in another colour."""
    kind, second = generator.integers(5), random_colour(generator, (0.0, 0.9), (0.1, 0.95))
    doors = np.linspace(rear + 0.12, screen - 0.05, generator.integers(2, 4))
    split = generator.uniform(0.35, 0.6)

    def paint(local: np.ndarray) -> np.ndarray:
        x, y, z = local.T
        height = (z - sill) / (belt - sill)
        out = np.broadcast_to(rgb, local.shape)
        if kind == 0:
            out = blend(step(-height, -split, 0.05), out, second)
        elif kind == 1:
            out = blend(step(0.09 - np.abs(height - split), 0, 0.02), out, second)
        elif kind == 2:
            out = blend(step(0.1 - np.abs(y), 0, 0.02), out, second)
        seam = step(0.012 - np.abs(x[:, None] - doors).min(axis=1), 0, 0.01) * (height > 0.12) * (height < 0.97)
        grille = (np.abs(x) > half - 0.02) & (np.abs(y) < 0.2) & (height > 0.35) & (height < 0.7) & (x > 0)
        return blend(np.maximum(0.8 * seam, 0.9 * grille), out, BLACK)

    return paint


def _cabin(rgb: np.ndarray, belt: float, roof: float, pillar: float) -> Paint:
    """Glass between roof, belt line and pillars."""

    def paint(local: np.ndarray) -> np.ndarray:
        x, y, z = local.T
        s = (z - belt) / (roof - belt)
        frame = np.maximum(step(s, 0.84, 0.05), step(-s, -0.07, 0.04))
        post = step(0.028 - np.abs(x - pillar), 0, 0.015)
        return blend(np.maximum(frame, post * (np.abs(y) > 0.2)), np.array([0.02, 0.03, 0.04]), rgb)

    return paint
