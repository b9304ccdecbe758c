"""SPair-71k: real annotations of pairs, a tree in the original format, its pairs in training and test, every fault."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.config import ProtocolConfig, load_run, make_data
from bbgm.data import FRAME, open_dataset, sample_training_batch
from bbgm.data import test_pairs as fixed_pairs
from bbgm.data.readers.spair import CLASSES, FOLDER, pair_files, parse_difficulty, read_pair
from bbgm.data.status import data_status
from bbgm.runs.train import run

SIZE = (80, 40)
DATA = make_data(dataset="spair", source="original")
ALL = ProtocolConfig(test_pairs_per_class=0)


def point(cls: str, image: int, key: str) -> list[int]:
    """Where an image of the tree has a keypoint; every image its own."""
    return [(7 * image + 11 * int(key) + len(cls)) % 80, (5 * image + 3 * int(key)) % 40]


class Tree:
    """Pairs in the original format; every image is of SIZE."""

    def __init__(self, root: Path, mark: str = ":") -> None:
        self.root, self.mark, self.number = root, mark, 0
        (root / "Layout" / "large").mkdir(parents=True)

    def pair(self, part: str, cls: str, first: int, second: int, keys: str, **changes: Any) -> Path:
        self.number += 1
        names = [f"2008_{image:06d}.jpg" for image in (first, second)]
        stem = f"{self.number:06d}-{names[0][:-4]}-{names[1][:-4]}"
        content = {
            **{"src_imname": names[0], "trg_imname": names[1], "category": cls, "kps_ids": list(keys)},
            **{"src_imsize": [*SIZE, 3], "trg_imsize": [*SIZE, 3]},
            **{
                "src_kps": [point(cls, first, key) for key in keys],
                "trg_kps": [point(cls, second, key) for key in keys],
            },
            **{
                "viewpoint_variation": self.number % 3,
                "scale_variation": 0,
                "truncation": 1,
                "occlusion": 2,
                "mirror": 0,
            },
            **changes,
        }
        path = self.root / "PairAnnotation" / part / f"{stem}{self.mark}{cls}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        for name in names:
            image = self.root / "JPEGImages" / cls / name
            image.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(int(name[-5])).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
            Image.fromarray(pixels).save(image)
        with (self.root / "Layout" / "large" / f"{part}.txt").open("a") as file:
            file.write(f"{stem}:{cls}\n")
        return path


@pytest.fixture(params=[":", "_"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Four pairs of trains to train with, three to test with; two each of cows."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    tree = Tree(tmp_path / "data" / FOLDER, request.param)
    for first, second, keys in ((1, 2, "012"), (2, 1, "210"), (1, 3, "13"), (2, 3, "4")):
        tree.pair("trn", "train", first, second, keys)
    for first, second, keys in ((4, 5, "012"), (5, 6, "5"), (4, 6, "237")):
        tree.pair("test", "train", first, second, keys)
    for part, first in (("trn", 1), ("trn", 2), ("test", 4), ("test", 5)):
        tree.pair(part, "cow", first, first + 1, "01")
    return tree


@pytest.fixture(scope="module")
def real_folder() -> Path:
    """The folder of real samples; skips where they are absent."""
    folder = Path(os.environ.get("BBGM_DATA", "")) / "spair71k_sample"
    if not folder.is_dir():
        pytest.skip("real annotations of SPair-71k: no spair71k_sample in BBGM_DATA")
    return folder


def test_a_real_pair_is_read_as_by_eye(real_folder: Path) -> None:
    """Read off the file by eye."""
    files = pair_files(real_folder, "trn", layout="sample")
    assert {cls: len(paths) for cls, paths in files.items() if paths} == {"aeroplane": 2}
    first, second = (read_pair(path) for path in files["aeroplane"])
    assert first.images == ("2008_000585.jpg", "2008_002221.jpg")
    assert second.sizes == ((500, 375), (500, 333))
    assert first.names == ("0", "3", "6", "7", "12", "14", "16", "18", "22", "23")
    np.testing.assert_array_equal(first.xy[0][[0, 9]], [[433, 271], [170, 12]])
    np.testing.assert_array_equal(first.xy[1][[0, 9]], [[378, 180], [141, 173]])
    assert first.difficulty == "viewpoint=0 scale=2 truncation=1 occlusion=0 mirror=0"
    assert parse_difficulty(second.difficulty) == {
        **{"viewpoint": 1, "scale": 0, "truncation": 1, "occlusion": 0, "mirror": 0}
    }
    assert parse_difficulty("") == {}


def test_real_pairs_list_what_both_images_have(real_folder: Path) -> None:
    """The annotations of pairs agree with those of images, which the reader does not need."""
    for path in pair_files(real_folder, "trn", layout="sample")["aeroplane"]:
        record = read_pair(path)
        known = []
        for image, xy in zip(record.images, record.xy, strict=True):
            annotation = real_folder / "ImageAnnotation" / "aeroplane" / f"{image[:-4]}.json"
            if annotation.is_file():
                points = json.loads(annotation.read_text())["kps"]
                assert [points[name] for name in record.names] == xy.tolist()
                known.append({name for name, at in points.items() if at})
        if len(known) == 2:
            assert known[0] & known[1] == set(record.names)


def test_images_have_the_keypoints_of_all_their_pairs(tree: Tree) -> None:
    dataset = open_dataset(DATA, ALL)
    assert (dataset.name, dataset.classes) == ("spair", ("cow", "train"))
    images = dataset.images("train", "train")
    assert [image.image_id for image in images] == [f"train/2008_00000{k}" for k in (1, 2, 3)]
    assert [image.names for image in images] == [tuple("0123"), tuple("0124"), tuple("134")]
    for image in images:
        expected = [point("train", int(image.image_id[-1]), name) for name in image.names]
        np.testing.assert_allclose(image.xy, np.array(expected) * [256 / 80, 256 / 40])
    with Image.open(images[0].path) as picture:
        expected_pixels = picture.resize((FRAME, FRAME), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(images[0].crop(), np.asarray(expected_pixels))


def test_test_pairs_are_those_listed(tree: Tree) -> None:
    dataset = open_dataset(DATA, ALL)
    pairs = fixed_pairs(dataset, ALL, "train")
    found = [(pair.source.image_id[-1], pair.target.image_id[-1]) for pair in pairs]
    assert found == [("4", "5"), ("5", "6"), ("4", "6")]
    for pair, keys in zip(pairs, ("012", "5", "237"), strict=True):
        for image, kept in ((pair.source, pair.kept1), (pair.target, pair.kept2)):
            assert {image.names[k] for k in kept} == set(keys)
        assert sorted(pair.truth.tolist()) == list(range(len(keys)))
    assert [parse_difficulty(pair.difficulty)["viewpoint"] for pair in pairs] == [2, 0, 1]
    again = fixed_pairs(dataset, ALL, "train")
    assert [pair.kept1.tolist() for pair in again] == [pair.kept1.tolist() for pair in pairs]

    two = fixed_pairs(dataset, ProtocolConfig(test_pairs_per_class=2), "train")
    assert len({pair.difficulty for pair in two}) == 2
    assert len(fixed_pairs(dataset, ProtocolConfig(test_pairs_per_class=99), "train")) == 3


def test_training_draws_a_class_and_then_one_of_its_pairs(tree: Tree) -> None:
    dataset = open_dataset(DATA, ALL)
    pairs = [pair for k in range(300) for pair in sample_training_batch(dataset, ALL, 0, 0, k, 8)]
    assert abs(sum(pair.source.cls == "cow" for pair in pairs) - 1200) < 5 * 24.5
    drawn = Counter(
        (pair.source.image_id[-1], pair.target.image_id[-1]) for pair in pairs if pair.source.cls == "train"
    )
    assert drawn.keys() == {("1", "2"), ("2", "1"), ("1", "3")}  # (2, 3) has one keypoint
    assert all(abs(count - 400) < 5 * 18.3 for count in drawn.values())
    assert {len(pair.kept1) for pair in pairs} == {2, 3}


def test_pairs_keep_to_their_own_keypoints(tree: Tree) -> None:
    """Images 1 and 2 have 0, 1 and 2 in common by their pairs; a further pair that lists two of them has those two."""
    tree.pair("trn", "train", 2, 1, "01")
    dataset = open_dataset(DATA, ALL)
    pairs = [pair for k in range(50) for pair in sample_training_batch(dataset, ALL, 0, 0, k, 8)]
    sizes = {len(pair.kept1) for pair in pairs if pair.source.image_id == "train/2008_000002"}
    assert sizes == {2, 3}


def test_pairs_without_a_keypoint_are_left_out_and_counted(tree: Tree) -> None:
    tree.pair("test", "cow", 8, 9, "")
    dataset = open_dataset(DATA, ALL)
    assert dataset.dropped.record() == {"test": {"without a common keypoint": {"cow": 1}}}
    assert len(dataset.pairs("cow", "test")) == 2
    expected = "  test      5 pairs of 6 images in 2 classes; left out: 1 without a common keypoint\n"
    assert expected in data_status(["spair"]).text


def test_test_sets_are_refused(tree: Tree) -> None:
    with pytest.raises(ValueError, match=r"spair lists the pairs .* set protocol\.test_sets_per_class to 0"):
        open_dataset(DATA, ProtocolConfig(filter="unfiltered", test_sets_per_class=1, set_size=2))


def test_classes_without_pairs_are_named(tree: Tree) -> None:
    assert open_dataset(DATA.model_copy(update={"classes": ("train",)}), ALL).classes == ("train",)
    with pytest.raises(ValueError, match=r"class 'sofa' is not one of .*'aeroplane'"):
        open_dataset(DATA.model_copy(update={"classes": ("sofa",)}), ALL)
    with pytest.raises(ValueError, match=r"class bus of spair has no pair in its train part"):
        open_dataset(DATA.model_copy(update={"classes": ("bus",)}), ALL)
    tree.pair("trn", "dog", 1, 2, "01")
    with pytest.raises(ValueError, match=r"class dog has pairs in only one of trn and test"):
        open_dataset(DATA, ALL)
    assert len(CLASSES) == 18


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kps_ids": ["0", "0"]}, r"has 2 keypoints named '0'"),
        ({"src_kps": [[1, 2], [3, float("nan")]]}, r"keypoint '1' is at \[3\.0, nan\] and"),
        ({"src_kps": [[1, 2]]}, r"has 2 kps_ids, 1 src_kps and 2 trg_kps"),
        ({"src_kps": [[1, 2, 3], [4, 5]]}, r"is not the annotation of a pair \(ValueError"),
        ({"src_kps": None}, r"is not the annotation of a pair"),
        ({"trg_imsize": [80]}, r"is not the annotation of a pair \(IndexError"),
        ({"trg_imsize": [80, 0]}, r"src_imsize and trg_imsize are .* must be 1 to 2\^31 - 1"),
        ({"category": "dog"}, r"is of category 'dog', its name says 'cow'"),
        ({"mirror": "yes"}, r"is not the annotation of a pair \(ValueError"),
        ({"mirror": float("inf")}, r"is not the annotation of a pair \(OverflowError"),
        ({"src_kps": [[1, 2], [3, 1e9]]}, r"keypoint '1' at \[3\.0, 1000000000\.0\] is far outside of its image"),
        ({"src_imsize": [70, 40, 3]}, r"size or keypoints of 2008_000001\.jpg differ from those in another"),
        ({"trg_kps": [[1, 1], [2, 2]]}, r"size or keypoints of 2008_000002\.jpg differ"),
    ],
)
def test_broken_annotations_are_named(tree: Tree, changes: dict[str, Any], message: str) -> None:
    path = tree.pair("trn", "cow", 1, 2, "01", **changes)
    with pytest.raises(ValueError, match=rf"{path.name}:? .*({message})"):
        open_dataset(DATA, ALL)


@pytest.mark.parametrize("content", ["{", "[]", "3", "{}", '{"kps_ids": 3}'])
def test_a_file_that_is_no_annotation_is_named(tree: Tree, content: str) -> None:
    path = tree.pair("test", "cow", 1, 2, "01")
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"{path.name} is not the annotation of a pair"):
        open_dataset(DATA, ALL)


def test_an_image_of_another_resolution_is_named(tree: Tree) -> None:
    Image.new("RGB", (30, 20)).save(tree.root / "JPEGImages" / "cow" / "2008_000002.jpg")
    with pytest.raises(ValueError, match=r"2008_000002\.jpg has \(30, 20\) px, its pairs say \(80, 40\)"):
        open_dataset(DATA, ALL)


def test_broken_and_missing_images_are_named_before_training(tree: Tree) -> None:
    path = tree.root / "JPEGImages" / "cow" / "2008_000004.jpg"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"2008_000004\.jpg cannot be decoded .*truncated"):
        open_dataset(DATA, ALL)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"2008_000004\.jpg is missing"):
        open_dataset(DATA, ALL)


@pytest.mark.parametrize("lost", [".", "Layout", "Layout/large/test.txt", "PairAnnotation/test"])
def test_missing_parts_say_how_to_get_them(tree: Tree, lost: str) -> None:
    path = tree.root / lost
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"'bbgm data download spair'.* https://.*SPair-71k\.tar\.gz"):
        open_dataset(DATA, ALL)


def test_a_missing_annotation_and_a_wrong_line_are_named(tree: Tree) -> None:
    tree.pair("trn", "cow", 1, 2, "01").unlink()
    with pytest.raises(FileNotFoundError, match=r"trn/000012-2008_000001-2008_000002:cow\.json is missing"):
        open_dataset(DATA, ALL)
    with (tree.root / "Layout" / "large" / "trn.txt").open("a") as file:
        file.write("000013-2008_000001-2008_000002:horses\n")
    with pytest.raises(ValueError, match=r"trn\.txt: '000013.*:horses' is not a pair"):
        open_dataset(DATA, ALL)


def test_a_run_records_the_labels_of_its_pairs(tree: Tree, tmp_path: Path) -> None:
    """Training and evaluation from the files to the scores; the labels of the pairs are recorded."""
    config = load_run(
        "bbgm", "smoke", 0, data={"dataset": "spair", "source": "original"}, protocol={"test_pairs_per_class": 0},
        optimiser={"epochs": 1, "iterations_per_epoch": 2, "batch_size": 2},
    )  # fmt: skip
    record = run(config, tmp_path / "run", progress=False)
    assert record.metrics["n_pairs"] == 5
    assert {cls: scores["n_pairs"] for cls, scores in record.metrics["per_class"].items()} == {"cow": 2, "train": 3}
    assert [parse_difficulty(item.difficulty)["viewpoint"] for item in record.predictions[2:]] == [2, 0, 1]
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    assert split["test"]["cow"] == [f"cow/2008_00000{k}" for k in (4, 5, 6)]
    assert split["dropped"] == {}
