"""A motorbike."""

import numpy as np

from bbgm_demo.rendering.mesh import Part, bezier, both_sides, revolve, superellipsoid, surface, tube
from bbgm_demo.rendering.paint import Material, Noise, blend, colour, plain, random_colour, step
from bbgm_demo.rendering.scene import Model


def motorbike(generator: np.random.Generator, noise: Noise) -> Model:
    """Wheels, frame, engine, tank, seat, fork; exhaust on the one side, chain and stand on the other. Faces right."""
    wheel_rear, wheel_front = generator.uniform(0.33, 0.38), generator.uniform(0.33, 0.4)
    base = generator.uniform(0.68, 0.82)  # half the wheelbase
    raise_ = generator.uniform(-0.05, 0.08)
    steel = Material(plain(np.full(3, generator.uniform(0.35, 0.65))), 0.9, 40)
    dark = Material(plain(np.full(3, generator.uniform(0.012, 0.05))), 0.3)
    rgb, second = random_colour(generator), random_colour(generator)
    band = generator.uniform(0.5, 0.9)
    lacquer = Material(
        lambda p: blend(step(0.035 - np.abs(p[:, 2] - band), 0, 0.015), np.broadcast_to(rgb, p.shape), second), 0.8, 60
    )
    frame = Material(plain(rgb if generator.random() < 0.5 else np.full(3, 0.03)), 0.5)

    rear, front = np.array([-base, 0, wheel_rear]), np.array([base, 0, wheel_front])
    parts = _wheel(rear, wheel_rear, generator.uniform(0.075, 0.11), steel) + _wheel(front, wheel_front, 0.065, steel)
    head = np.array([base - generator.uniform(0.28, 0.36), 0, 0.92 + raise_])
    seat_rear, seat_front = np.array([-0.55, 0, 0.74 + raise_]), np.array([-0.1, 0, 0.72 + raise_])
    bottom = np.array([0.0, 0, 0.2])
    for y in (-0.09, 0.09):
        side = np.array([0, y, 0])
        parts += [
            tube([front + side * 1.1, head + side + [0.02, 0, 0]], [0.028, 0.022], steel, n=8),
            tube([front + side * 1.1, front + side + (head - front) * 0.5], 0.038, dark, n=8),
            tube(
                bezier(head + side, head + side + [-0.1, 0, -0.45], bottom + side + [0.22, 0, 0], bottom + side, n=8),
                0.028,
                frame,
                n=8,
            ),
            tube(
                [bottom + side, bottom + side + [-0.3, 0, 0.05], seat_front + side + [-0.15, 0, -0.06]],
                0.028,
                frame,
                n=8,
            ),
            tube([bottom + side + [-0.25, 0, 0.1], rear + side * 1.2], 0.032, steel, n=8),
            tube([rear + side * 1.3, seat_rear + side + [0.12, 0, -0.04]], 0.026, steel, n=8),
            tube([seat_front + side, seat_rear + side], 0.026, frame, n=8),
        ]
    tank_rear, tank_front = np.array([-0.06, 0, 0.82 + raise_]), head + [-0.08, 0, -0.03]
    tank_height = generator.uniform(0.12, 0.19)
    s = np.linspace(0, 1, 9)
    path = (
        tank_rear + s[:, None] * (tank_front - tank_rear) + np.stack([0 * s, 0 * s, 0.04 * np.sin(np.pi * s)], axis=1)
    )
    belly = np.sin(np.pi * (0.12 + 0.8 * s)) ** 0.6
    parts.append(tube(path, np.stack([0.17 * belly, tank_height * belly], axis=1), lacquer, n=18, flat=False))
    hump = generator.uniform(0.02, 0.08)
    cushion = bezier(seat_front + [0.05, 0, 0.06], (-0.3, 0, 0.72 + raise_), seat_rear + [-0.1, 0, 0.1 + hump], n=9)
    parts.append(tube(cushion, np.stack([0.13 + 0 * s, 0.06 + 0.02 * s], axis=1), dark, n=14, flat=False))

    engine, exhaust = _engine(generator, steel, dark)
    drive, left = _chain_side(generator, rear, steel, lacquer)
    parts += engine + drive
    parts += _mudguards(generator, rear, wheel_rear, front, wheel_front, lacquer)
    bar, wide = head + [-0.04, 0, generator.uniform(0.08, 0.2)], generator.uniform(0.3, 0.4)
    grips = [bar + [-0.1, y, 0.02] for y in (-wide, wide)]
    parts.append(
        tube(
            bezier(
                grips[0],
                bar + [0, -0.2, 0.02],
                head + [0, -0.1, 0.02],
                head + [0, 0.1, 0.02],
                bar + [0, 0.2, 0.02],
                grips[1],
                n=16,
            ),
            0.018,
            steel,
            n=8,
        )
    )
    for grip in grips:
        parts.append(tube([grip + [0, -0.06, 0], grip + [0, 0.06, 0]], 0.03, dark, n=8))
    lamp = head + [0.14, 0, 0.0]
    parts.append(
        revolve([(0, -0.12), (0.06, -0.1), (0.1, 0), (0.1, 0.02), (0, 0.02)], lacquer, base=lamp, axis="x", n=20)
    )
    parts.append(
        superellipsoid(lamp + [0.02, 0, 0], (0.025, 0.09, 0.09), Material(plain(np.array([0.9, 0.9, 0.75])), 1, 60))
    )
    tail = rear + [-wheel_rear * 0.62, 0, wheel_rear * 0.95]
    parts.append(
        superellipsoid(tail + [-0.03, 0, 0.04], (0.035, 0.06, 0.035), Material(plain(colour(0, 0.95, 0.8)), 0.7))
    )
    keypoints = np.array([
        front + [0, -0.06, 0], rear + [0, -0.06, 0], (-0.02, -0.1, 0.17), (-0.32, -0.12, 0.66 + raise_),
        tank_rear + [0.05, -0.12, -0.04], tank_front + [-0.04, -0.1, -0.06], bar + [-0.03, -0.12, 0.0],
        lamp + [0.04, 0, 0], (0.08, -0.14, 0.42), tail,
    ])  # fmt: skip
    middle = (tank_rear + tank_front) / 2
    landmarks = both_sides({
        "HandleTip": grips[1] + [0, 0.06, 0], "Tank": middle + [0, 0.165, 0.04], "Crank": (-0.06, 0.16, 0.32),
    }) | {
        "F_WheelCenter": front, "B_WheelCenter": rear,
        "F_WheelEnd": front + [wheel_front, 0, 0], "B_WheelEnd": rear - [wheel_rear, 0, 0],
        "HeadLight": lamp + [0.045, 0, 0], "TailLight": tail + [-0.06, 0, 0.04],
        "TankTop": middle + [0, 0, 0.04 + tank_height], "SeatBase": cushion[4] + [0, 0, 0.07],
        "SeatEnd": cushion[-1],
    }  # fmt: skip
    landmarks |= exhaust | left
    return Model(parts, keypoints, landmarks, azimuth=62, elevation=(2, 34), aspect=(1.0, 1.4))


def _wheel(centre: np.ndarray, radius: float, thick: float, steel: Material) -> list[Part]:
    """Tyre, rim, hub with brake disc, and spokes."""
    t = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    tyre = [(radius - thick + thick * np.cos(a), 0.9 * thick * np.sin(a)) for a in t]
    rim = [(radius - 1.75 * thick + 0.022 * np.cos(a), 0.045 * np.sin(a)) for a in t[::2]]
    rubber = Material(plain(np.full(3, 0.015)), 0.15)
    parts = [
        revolve(tyre, rubber, base=centre, axis="y", n=36, ring=True),
        revolve(rim, steel, base=centre, axis="y", n=36, ring=True),
        revolve([(0, -0.07), (0.05, -0.07), (0.05, 0.07), (0, 0.07)], steel, base=centre, axis="y", n=14),
        revolve([(0, -0.055), (0.14, -0.055), (0.14, -0.045), (0, -0.045)], steel, base=centre, axis="y", n=24),
    ]
    for angle in np.arange(10) * np.pi / 5:
        out = np.array([np.cos(angle), 0, np.sin(angle)])
        parts.append(tube([centre, centre + (radius - 1.7 * thick) * out], 0.011, steel, n=5))
    return parts


def _engine(
    generator: np.random.Generator, steel: Material, dark: Material
) -> tuple[list[Part], dict[str, np.ndarray]]:
    """Crankcase, one or two cylinders with cooling fins, exhaust; and the exhaust's landmarks."""
    block = steel if generator.random() < 0.5 else dark
    parts = [
        superellipsoid((0.0, 0, 0.32), (0.22, 0.14, 0.12), block, (0.5, 0.5)),
        revolve(
            [(0, -0.16), (0.11, -0.16), (0.12, -0.13), (0.12, 0.13), (0, 0.16)],
            steel,
            base=(-0.06, 0, 0.32),
            axis="y",
            n=20,
        ),
    ]
    tilts = (-25, 25) if generator.random() < 0.4 else (12,)
    for tilt in tilts:
        lean = np.array([np.sin(np.radians(tilt)), 0, np.cos(np.radians(tilt))])
        fins = [(0.12 if k % 2 else 0.085, 0.035 * (k // 2) + (0.0 if k % 2 else -0.002)) for k in range(0, 14)]
        radius, along = np.array([(0.0, 0.0), *fins, (0.0, fins[-1][1])]).T
        grid_angle = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        u, v = np.cross([0.0, 1.0, 0.0], lean), np.array([0.0, 1.0, 0.0])
        ring = np.cos(grid_angle)[:, None] * u + np.sin(grid_angle)[:, None] * v
        grid = np.array([0.06, 0, 0.4]) + along[:, None, None] * lean + radius[:, None, None] * ring
        parts.append(surface(grid, block))
    pipe = bezier(
        (0.12, -0.1, 0.5), (0.38, -0.14, 0.5), (0.3, -0.16, 0.18), (-0.1, -0.17, 0.2), (-0.45, -0.17, 0.24), n=14
    )
    end = np.array([generator.uniform(-1.1, -0.75), -0.18, 0.33])
    parts.append(tube(pipe, 0.03, steel, n=10))
    parts.append(tube(np.array([(-0.4, -0.17, 0.235), (-0.48, -0.17, 0.245), end]), [0.035, 0.055, 0.06], steel, n=12))
    return parts, {"ExhaustEnd": end, "ExhaustBend": pipe[7]}


def _chain_side(
    generator: np.random.Generator, rear: np.ndarray, steel: Material, lacquer: Material
) -> tuple[list[Part], dict[str, np.ndarray]]:
    """The left side's own: a guard over the chain, and the stand; and their landmarks."""
    crank, hub = np.array([-0.06, 0.165, 0.34]), rear + [0, 0.13, 0.03]
    foot = np.array([generator.uniform(-0.32, -0.2), generator.uniform(0.2, 0.28), 0.02])
    parts = [
        tube([crank, hub], [[0.02, 0.085], [0.02, 0.06]], lacquer, n=12),
        tube(np.array([(-0.1, 0.1, 0.2), foot]), 0.022, steel, n=8),
        superellipsoid(foot, (0.06, 0.035, 0.02), steel, (0.5, 0.5)),
    ]
    return parts, {"ChainGuard": (crank + hub) / 2 + [0, 0.02, 0], "Stand": foot}


def _mudguards(
    generator: np.random.Generator,
    rear: np.ndarray,
    wheel_rear: float,
    front: np.ndarray,
    wheel_front: float,
    lacquer: Material,
) -> list[Part]:
    """Bands around the upper part of both wheels."""
    parts = []
    for centre, radius, start, stop, width in (
        (rear, wheel_rear + 0.035, 60, generator.uniform(150, 175), 0.09),
        (front, wheel_front + 0.03, generator.uniform(20, 50), generator.uniform(110, 140), 0.07),
    ):
        angle = np.radians(np.linspace(start, stop, 14))
        path = centre + radius * np.stack([np.cos(angle), 0 * angle, np.sin(angle)], axis=1)
        parts.append(tube(path, (0.014, width)[::-1] * np.ones((14, 2)), lacquer, n=12))
    return parts
