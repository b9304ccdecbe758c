"""Views: the keypoints go where the picture goes, and what is drawn depends on the image and the number only."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.config import ProtocolConfig
from bbgm.config.models import ViewsConfig
from bbgm.data import FRAME, KeypointImage, sample_training_batch
from bbgm.data.images.views import BORDER, mirrored_name, view_of
from tests.support.images import bare_dataset

SPOTS = np.array([(40.0, 60.0), (200.0, 50.0), (128.0, 128.0), (90.0, 210.0), (215.0, 205.0)])
VIEWS = ViewsConfig(count=20)


@pytest.fixture
def spotted(tmp_path: Path) -> KeypointImage:
    """A grey picture with a white spot at each keypoint."""
    rows, columns = np.mgrid[:FRAME, :FRAME] + 0.5
    distance = np.min([np.hypot(columns - x, rows - y) for x, y in SPOTS], axis=0)
    pixels = np.where(distance < 6, 255, 60).astype(np.uint8)
    Image.fromarray(np.repeat(pixels[..., None], 3, axis=2)).save(tmp_path / "spots.png")
    return KeypointImage("X/spots", "X", tmp_path / "spots.png", (FRAME, FRAME), tuple("abcde"), SPOTS)


def test_keypoints_stay_on_what_they_mark(spotted: KeypointImage) -> None:
    for number in range(1, 21):
        view = view_of(spotted, number, VIEWS)
        pixels = view.crop().astype(float)[..., 0]
        x, y = np.floor(view.xy).astype(int).T
        assert (pixels[y, x] > 200).all(), number
        others = np.roll(view.xy, 1, axis=0) / 2 + view.xy / 2  # half way to the next
        x, y = np.floor(others).astype(int).T
        assert np.median(pixels[y, x]) < 100


def test_keypoints_stay_in_the_frame_whatever_the_map(spotted: KeypointImage) -> None:
    wild = ViewsConfig(count=50, rotation=180, scale=1.5, stretch=0.8, translation=200)
    for number in range(1, 51):
        xy = view_of(spotted, number, wild).xy
        assert xy.min() >= BORDER - 1e-9
        assert xy.max() <= FRAME - BORDER + 1e-9


def test_without_a_map_the_picture_is_the_same(spotted: KeypointImage) -> None:
    still = view_of(spotted, 1, ViewsConfig(count=1, rotation=0, scale=0, stretch=0, translation=0))
    np.testing.assert_allclose(still.xy, spotted.xy)
    np.testing.assert_array_equal(still.crop(), spotted.crop())
    assert view_of(spotted, 0, VIEWS) is spotted


def test_a_view_depends_on_image_and_number_only(spotted: KeypointImage) -> None:
    one, again = (view_of(spotted, 3, VIEWS) for _ in range(2))
    np.testing.assert_array_equal(one.xy, again.xy)
    assert one.image_id == again.image_id != spotted.image_id
    for other in (view_of(spotted, 4, VIEWS), view_of(replace(spotted, image_id="X/other"), 3, VIEWS)):
        assert np.abs(other.xy - one.xy).max() > 1


def test_turns_and_sizes_are_within_the_settings(spotted: KeypointImage) -> None:
    """A map without stretch is a similarity: its angle and its scale can be read from it."""
    settings = ViewsConfig(count=40, rotation=30, scale=0.2, stretch=0, translation=5)
    angles, sizes = [], []
    for number in range(1, 41):
        view = view_of(spotted, number, settings).view
        assert view is not None
        a, b, _, c, d, _ = view
        assert (a, b) == pytest.approx((d, -c))
        angles.append(np.degrees(np.arctan2(c, a)))
        sizes.append(np.log(np.hypot(a, c)))
    assert np.abs(angles).max() <= 30
    assert np.ptp(angles) > 40
    assert max(sizes) <= 0.2
    assert np.ptp(sizes) > 0.25


def test_training_pairs_are_seen_in_views_and_stay_the_same_pairs() -> None:
    dataset, plain = bare_dataset(), ProtocolConfig()
    seen = plain.model_copy(update={"views": ViewsConfig(count=3)})
    ends = []
    for iteration in range(30):
        for one, other in zip(
            sample_training_batch(dataset, plain, 0, 0, iteration, 8),
            sample_training_batch(dataset, seen, 0, 0, iteration, 8),
            strict=True,
        ):
            np.testing.assert_array_equal(one.kept1, other.kept1)
            np.testing.assert_array_equal(one.truth, other.truth)
            for image, view in ((one.source, other.source), (one.target, other.target)):
                assert view.image_id.partition("#")[0] == image.image_id
                ends.append(view.image_id.partition("#")[2])
    counts = [ends.count(end) for end in ("", "1", "2", "3")]
    assert sum(counts) == len(ends)
    assert min(counts) > len(ends) / 5  # each of four equally often


def test_every_second_view_is_mirrored_and_its_sides_change_names(spotted: KeypointImage) -> None:
    named = replace(spotted, names=("L_Eye", "R_Eye", "Nose", "LeftEar", "L_F_Paw"))
    mirrored, plain = VIEWS.model_copy(update={"mirror": True}), VIEWS
    for number in range(1, 7):
        view, other = view_of(named, number, mirrored), view_of(named, number, plain)
        if number % 2 == 0:
            assert view.names == named.names
            np.testing.assert_array_equal(view.xy, other.xy)
            continue
        assert view.names == ("R_Eye", "L_Eye", "Nose", "RightEar", "R_F_Paw")
        np.testing.assert_allclose(view.xy, [FRAME, 0] + other.xy * [-1, 1])
        pixels = view.crop().astype(float)
        assert np.abs(pixels - other.crop()[:, ::-1]).mean() < 1
        x, y = np.floor(view.xy).astype(int).T
        assert (pixels[y, x, 0] > 200).all()


def test_names_without_a_side_stay() -> None:
    names = ("Nose", "Rear_L", "FrontLeftWheel", "TailBase", "R_B_Elbow", "left", "XL_1")
    assert [mirrored_name(name) for name in names] == [
        "Nose", "Rear_L", "FrontRightWheel", "TailBase", "L_B_Elbow", "right", "XL_1",
    ]  # fmt: skip


def test_both_images_of_a_pair_are_mirrored_or_none() -> None:
    data = bare_dataset("X")
    protocol = ProtocolConfig(views=ViewsConfig(count=3, mirror=True))
    seen = set()
    for iteration in range(40):
        for pair in sample_training_batch(data, protocol, 0, 0, iteration, 8):
            one, other = (int(image.image_id.partition("#")[2] or 0) for image in (pair.source, pair.target))
            assert one % 2 == other % 2
            assert pair.truth_matrix.any()
            seen.add((one, other))
    assert len(seen) == 8
