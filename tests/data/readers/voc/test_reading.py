"""What is read of Pascal VOC with keypoints, what the protocol leaves out, and a run on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.config import DataConfig, ProtocolConfig, load_run, make_data
from bbgm.data import FRAME, open_dataset, sample_training_batch
from bbgm.data import test_sets as fixed_sets
from bbgm.data.images.keypoints import SUBSETS
from bbgm.data.readers.voc import read_keypoints, read_voc
from bbgm.runs.train import run


def voc(**options: Any) -> DataConfig:
    return make_data(dataset="voc", source="original", **options)


def test_a_real_annotation_is_read_as_by_eye(real_folder: Path) -> None:
    """Read off the file by eye: 14 keypoints, 271 x 105 px at (104, 78)."""
    path = real_folder / "voc2011_keypoints_sample" / "annotations" / "aeroplane" / "2007_000032_1.xml"
    box, names, xy = read_keypoints(path)
    assert box == (104, 78, 375, 183)
    assert (len(names), names[0], names[-1]) == (14, "Top_Rudder", "Bot_Rudder_Front")
    np.testing.assert_array_equal(xy[[0, 5, 13]], [[245.14, 81.07], [107.97, 128.62], [244.26, 105.22]])


def test_real_annotations_in_crop_coordinates(real_folder: Path, empty_tree: Any) -> None:
    """The genuine keypoint files, beside stand-ins for the photographs and for VOC's own annotations."""
    annotations = real_folder / "voc2011_keypoints_sample" / "annotations" / "aeroplane"
    for name, size in (("2007_000032", (500, 281)), ("2007_000033", (500, 366)), ("2008_000585", (500, 375))):
        empty_tree.image(name, [{"name": "aeroplane"}], size)
        empty_tree.object("train", "aeroplane", f"{name}_1", text=(annotations / f"{name}_1.xml").read_text())
    images = read_voc(empty_tree.root, empty_tree.read_split()).train["aeroplane"]
    assert [len(image.names) for image in images] == [14, 12, 12]
    first, _, last = images
    assert first.image_id == "aeroplane/2007_000032_1"
    assert first.box == (104, 78, 375, 183)
    at = dict(zip(first.names, first.xy.tolist(), strict=True))
    assert at["Top_Rudder"] == pytest.approx([141.14 * 256 / 271, 3.07 * 256 / 105])
    assert at["NoseTip"] == pytest.approx([103.628, 193.292], abs=1e-3)
    at = dict(zip(last.names, last.xy.tolist(), strict=True))
    assert at["Left_Engine_Front"] == pytest.approx([497.6 * 256 / 498, 276.61 * 256 / 370])


def test_keypoints_are_scaled_to_the_crop_of_their_object(tree: Any) -> None:
    dataset = open_dataset(voc(), ProtocolConfig())
    assert (dataset.name, dataset.classes) == ("voc", ("cat",))
    assert [len(dataset.images("cat", part)) for part in SUBSETS] == [3, 2]
    image = dataset.train["cat"][0]
    assert (image.image_id, image.size, image.box) == ("cat/2008_000000_1", (60, 50), (10, 5, 50, 25))
    assert image.names == ("L_Eye", "R_Eye", "Nose")  # the tail is outside, the nose on the border
    np.testing.assert_allclose(image.xy, [[64, 128], [192, 64], [256, 256]])
    with Image.open(image.path) as picture:
        expected = picture.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box=(10, 5, 50, 25))
    np.testing.assert_array_equal(image.crop(), np.asarray(expected))
    pairs = sample_training_batch(dataset, ProtocolConfig(), 0, 0, 0, 8)
    assert all(len(pair.kept1) == 3 and (pair.truth >= 0).all() for pair in pairs)

    image = open_dataset(voc(keep_outside=True), ProtocolConfig()).train["cat"][0]
    assert image.names == ("L_Eye", "R_Eye", "Nose", "Tail")
    np.testing.assert_allclose(image.xy[3], [256.64, 192])


def test_what_the_protocol_leaves_out_is_counted(tree: Any) -> None:
    flags = [{"difficult": 1, "truncated": 1}, {"occluded": 1}, {"truncated": 1}, {"truncated": 0}, {}]
    tree.image("2009_000010", [{"name": "cat", **item} for item in flags])
    for k in range(1, 6):
        tree.object("train", "cat", f"2009_000010_{k}")
    tree.object("test", "cat", "2009_000010_6", points={"Tail": (5, 5)})
    tree.image("2009_000010", [{"name": "cat", **item} for item in [*flags, {}]])
    for name in ("2008_000011", "2008_000012", "2009_000011"):
        tree.image(name, [{}, {}])
        for k in (1, 2):
            tree.object("train" if k == 1 else "test", "person", f"{name}_{k}")
    dataset = open_dataset(voc(), ProtocolConfig())
    assert [image.image_id[-13:] for image in dataset.train["cat"][3:]] == ["2009_000010_4", "2009_000010_5"]
    assert len(dataset.train["person"]) == len(dataset.test["person"]) == 2
    assert dataset.dropped.record() == {
        "train": {
            **{"difficult": {"cat": 1}, "occluded": {"cat": 1}, "truncated": {"cat": 1}},
            "person after 2008": {"person": 1},
        },
        "test": {"without a keypoint in the box": {"cat": 1}, "person after 2008": {"person": 1}},
    }
    assert dataset.dropped.summary("train") == "1 difficult, 1 occluded, 1 truncated, 1 person after 2008"
    assert dataset.dropped.summary("test", "person") == "1 person after 2008"
    assert dataset.dropped.summary("train", "dog") == "none"


def test_classes_of_willow_can_be_left_out(tree: Any) -> None:
    for cls, number in (("car", 20), ("motorbike", 30)):
        for k, year in enumerate((2007, 2007, 2008, 2009, 2010, 2007)):
            tree.image(f"{year}_0000{number + k}", [{}])
            tree.object("train" if k < 4 else "test", cls, f"{year}_0000{number + k}_1")

    def counts(**options: Any) -> dict[str, tuple[int, int]]:
        dataset = open_dataset(voc(**options), ProtocolConfig())
        return {cls: (len(dataset.train[cls]), len(dataset.test[cls])) for cls in dataset.classes}

    assert counts() == {"car": (4, 2), "cat": (3, 2), "motorbike": (4, 2)}
    assert counts(exclude_willow="images_of_2007") == {"car": (2, 2), "cat": (3, 2), "motorbike": (2, 2)}
    assert counts(exclude_willow="classes") == {"cat": (3, 2)}
    assert counts(classes=["motorbike", "cat"]) == {"motorbike": (4, 2), "cat": (3, 2)}
    dropped = open_dataset(voc(exclude_willow="images_of_2007"), ProtocolConfig()).dropped
    assert dropped.record() == {"train": {"of 2007, as in Willow": {"car": 2, "motorbike": 2}}}
    with pytest.raises(ValueError, match=r"'Cat' is not one of \['car', 'cat', 'motorbike'\]"):
        counts(classes=["Cat"])


@pytest.mark.parametrize("place", ["VOCdevkit/VOC2011", "TrainVal/VOCdevkit/VOC2011", "VOC2012"])
def test_images_are_found_where_the_archives_unpack_them(tree: Any, place: str) -> None:
    (tree.root / place).parent.mkdir(parents=True, exist_ok=True)
    tree.kit.rename(tree.root / place)
    assert len(open_dataset(voc(), ProtocolConfig()).train["cat"]) == 3


def test_sets_and_keypoints_without_a_partner(tree: Any) -> None:
    protocol = ProtocolConfig(filter="unfiltered", test_sets_per_class=3, set_size=2)
    sets = fixed_sets(open_dataset(voc(), protocol), protocol, "cat")
    assert [len({image.image_id for image in one.images}) for one in sets] == [2, 2, 2]
    with pytest.raises(ValueError, match=r"class cat has \d test images, protocol\.set_size is 9: lower it"):
        open_dataset(voc(), protocol.model_copy(update={"set_size": 9}))


def test_pairs_to_draw_must_be_given(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"test_pairs_per_class is 0, .* voc lists none"):
        open_dataset(voc(), ProtocolConfig(test_pairs_per_class=0))


def test_a_run_records_what_was_left_out(tree: Any, tmp_path: Path) -> None:
    """Training and evaluation from the files to the scores; what was left out is recorded."""
    tree.image("2008_000002", [{"truncated": 1}])
    config = load_run(
        "bbgm", "smoke", 0, data={"dataset": "voc", "source": "original"},
        optimiser={"epochs": 1, "iterations_per_epoch": 2, "batch_size": 2},
    )  # fmt: skip
    record = run(config, tmp_path / "run", progress=False)
    assert (record.metrics["dataset"], record.metrics["n_pairs"]) == ("voc", 20)
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    assert split["train"] == {"cat": ["cat/2008_000000_1", "cat/2008_000001_1"]}
    assert split["dropped"] == {"train": {"truncated": {"cat": 1}}}
