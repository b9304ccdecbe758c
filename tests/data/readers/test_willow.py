"""The reader of Willow's format: the real data set's known content, and what each broken file is told."""

from pathlib import Path

import numpy as np
import pytest
from bbgm_demo.formats.willow import mat_bytes
from PIL import Image
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array

from bbgm.config import ProtocolConfig, make_data
from bbgm.data import FRAME, open_dataset
from bbgm.data.readers.willow import ERRATA, FOLDER, KEYPOINT_NAMES, read_willow

SIZE = (40, 30)


def write_image(folder: Path, name: str, points: np.ndarray | None = None) -> Path:
    """One picture of SIZE with its annotation; returns the path of the .mat file."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(len(name)).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"{name}.png")
    xy = np.random.default_rng(1).uniform(1, 29, (10, 2)) if points is None else points
    (folder / f"{name}.mat").write_bytes(mat_bytes(xy))
    return folder / f"{name}.mat"


@pytest.fixture
def small_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with four cars and four ducks."""
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    for cls in ("Car", "Duck"):
        for name in "cabd":
            write_image(tmp_path / FOLDER / cls, name)
    return tmp_path / FOLDER


def test_the_real_data_have_304_images_with_errata(willow_folder: Path) -> None:
    images, applied = read_willow(willow_folder)
    counts = {cls: len(members) for cls, members in images.items()}
    assert counts == {"Car": 40, "Duck": 50, "Face": 108, "Motorbike": 40, "Winebottle": 66}
    assert sum(counts.values()) == 304
    assert set(applied) == {"face-0160-ears", "car-030a-sill"}
    for cls, members in images.items():
        assert [image.image_id for image in members] == sorted(image.image_id for image in members)
        for image in members:
            assert image.names == KEYPOINT_NAMES[cls]
            assert image.xy.shape == (10, 2)
            assert image.xy.min() >= 0
            assert image.xy.max() <= FRAME
    assert images["Car"][0].image_id == "Car/Cars_000a"


def test_the_real_data_have_305_images_without_errata(willow_folder: Path) -> None:
    images, applied = read_willow(willow_folder, errata=())
    assert sum(len(members) for members in images.values()) == 305
    assert applied == ()
    short = next(image for image in images["Face"] if image.image_id == "Face/image_0160")
    assert short.names == KEYPOINT_NAMES["Face"][:8]  # the ears are missing
    assert short.xy.shape == (8, 2)


def test_swapped_keypoints_of_a_car_are_put_right(willow_folder: Path) -> None:
    """After the correction the door is above the sill in every car."""
    door, sill = (KEYPOINT_NAMES["Car"].index(name) for name in ("door", "sill"))
    corrected, _ = read_willow(willow_folder, ["Car"])
    assert all(image.xy[door, 1] < image.xy[sill, 1] for image in corrected["Car"])
    as_published, _ = read_willow(willow_folder, ["Car"], errata=())
    wrong = [image.image_id for image in as_published["Car"] if image.xy[door, 1] > image.xy[sill, 1]]
    assert wrong == ["Car/Cars_030a"]


def test_real_images_and_keypoints_are_scaled_to_the_frame(willow_folder: Path) -> None:
    """The whole image is scaled to the frame: keypoints by the ratio of the sides, pixels by bicubic interpolation."""
    images, _ = read_willow(willow_folder, ["Duck"])
    image = images["Duck"][0]
    points = loadmat(willow_folder / "Duck" / "060_0000.mat")["pts_coord"]
    with Image.open(image.path) as picture:
        assert image.size == picture.size
        expected = np.asarray(picture.convert("RGB").resize((256, 256), Image.Resampling.BICUBIC))
    np.testing.assert_allclose(image.xy * np.array(image.size) / 256, points.T, atol=1e-9)
    np.testing.assert_array_equal(image.crop(), expected)
    image.crop()[:] = 0  # a copy: the next caller is not disturbed
    np.testing.assert_array_equal(image.crop(), expected)


def test_the_split_of_the_real_data_is_the_recorded_one(willow_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DATA", str(willow_folder.parent))
    data = make_data(source="original")
    dataset = open_dataset(data, ProtocolConfig())
    assert dataset.errata_applied == ("car-030a-sill", "face-0160-ears")
    record = dataset.split_record()
    assert record["train"]["Car"][:3] == ["Car/Cars_000a", "Car/Cars_001b", "Car/Cars_003b"]
    for cls in dataset.classes:
        assert len(record["train"][cls]) == 20
        assert record["train"][cls] + record["test"][cls] == sorted(record["train"][cls] + record["test"][cls])

    seeded = open_dataset(data, ProtocolConfig(split="seeded", split_seed=1)).split_record()
    other = open_dataset(data, ProtocolConfig(split="seeded", split_seed=2)).split_record()
    alone = open_dataset(
        make_data(source="original", classes=("Duck", "Car")), ProtocolConfig(split="seeded", split_seed=1)
    ).split_record()
    for cls in dataset.classes:
        assert set(seeded["train"][cls]).isdisjoint(seeded["test"][cls])
        assert sorted(seeded["train"][cls] + seeded["test"][cls]) == record["train"][cls] + record["test"][cls]
        assert seeded["train"][cls] != other["train"][cls]
    assert alone["train"] == {cls: seeded["train"][cls] for cls in ("Duck", "Car")}  # whatever other classes there are


def test_errata_name_existing_columns() -> None:
    assert len({erratum.id for erratum in ERRATA}) == len(ERRATA)
    for erratum in ERRATA:
        assert erratum.file.split("/")[0] in KEYPOINT_NAMES
        assert (erratum.action == "swap") == (len(set(erratum.columns)) == 2)


def test_keypoint_names_are_unique() -> None:
    for names in KEYPOINT_NAMES.values():
        assert len(set(names)) == len(names) == 10


def test_reads_sorted_and_in_the_given_order(small_root: Path) -> None:
    images, applied = read_willow(small_root, ["Duck", "Car"])
    assert list(images) == ["Duck", "Car"]
    assert [image.image_id for image in images["Car"]] == ["Car/a", "Car/b", "Car/c", "Car/d"]
    assert applied == ()


def test_too_few_images_for_the_split(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DATA", str(small_root.parent))
    data = make_data(source="original", classes=("Car",))
    assert len(open_dataset(data, ProtocolConfig(train_per_class=2)).images("Car", "test")) == 2
    with pytest.raises(ValueError, match=r"Car has 4 images, protocol\.train_per_class is 3"):
        open_dataset(data, ProtocolConfig(train_per_class=3))


def test_missing_root_says_where_how_large_and_from_where(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_willow(tmp_path / "nowhere" / FOLDER)
    for part in (str(tmp_path / "nowhere" / FOLDER), "68 MB", "https://", "BBGM_DATA", "demo"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_class_folder_is_named(small_root: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Face"):
        read_willow(small_root)
    (small_root / "Face").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \.mat file in .*Face"):
        read_willow(small_root, ["Face"])


def test_unknown_class_lists_the_known_ones(small_root: Path) -> None:
    with pytest.raises(ValueError, match=r"'Cat' is not one of .*'Car'.*'Winebottle'"):
        read_willow(small_root, ["Car", "Cat"])


@pytest.mark.parametrize("lost", ["b.png", "b.mat"])
def test_a_missing_image_or_annotation_is_named(small_root: Path, lost: str) -> None:
    (small_root / "Car" / lost).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{lost} is missing"):
        read_willow(small_root, ["Car"])


def test_broken_mat_files_are_named(small_root: Path) -> None:
    path = small_root / "Car" / "b.mat"
    whole = path.read_bytes()
    for content in (b"", b"not a matlab file", whole[:150], whole[:100] + b"x" * 200):
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"b\.mat is not a readable MATLAB file.*copy it again|b\.mat has no variable"
        ):
            read_willow(small_root, ["Car"])


def test_wrong_content_of_a_mat_file(small_root: Path) -> None:
    path = small_root / "Car" / "b.mat"
    savemat(path, {"points": np.zeros((2, 10))})
    with pytest.raises(ValueError, match=r"b\.mat has no variable pts_coord, only \['points'\]"):
        read_willow(small_root, ["Car"])
    wrong_ones = (
        *(np.zeros((10, 2)), np.zeros((2, 9)), np.zeros((2, 10), dtype=complex), np.array(["a"])),
        csc_array(np.ones((2, 10))),
    )
    for wrong in wrong_ones:
        savemat(path, {"pts_coord": wrong})
        with pytest.raises(ValueError, match=r"b\.mat: pts_coord is .* must be real numbers of shape \(2, 10\)"):
            read_willow(small_root, ["Car"])


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, r"is \[nan"), (np.inf, r"is \[inf"), (-3, r"at \[-3.*outside"), (41, r"at \[41.*outside")],
)
def test_impossible_keypoints_are_named(small_root: Path, value: float, message: str) -> None:
    points = np.full((10, 2), 5.0)
    points[4, 0] = value
    write_image(small_root / "Car", "b", points)
    with pytest.raises(ValueError, match=rf"b\.mat: keypoint 4 {message}"):
        read_willow(small_root, ["Car"])


def test_broken_images_are_named(small_root: Path) -> None:
    path = small_root / "Car" / "b.png"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])  # the header is there, pixels are missing
    image = read_willow(small_root, ["Car"])[0]["Car"][1]
    with pytest.raises(ValueError, match=r"b\.png cannot be decoded .*copy it again"):
        image.crop()
    path.write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"b\.png cannot be read .*copy it again"):
        read_willow(small_root, ["Car"])
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"b\.png is missing"):
        image.crop()


def test_an_image_that_claims_to_be_huge(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)  # Pillow takes more than twice that for an attack
    with pytest.raises(ValueError, match=r"a\.png is too large .*exceeds limit.*scale it down"):
        read_willow(small_root, ["Car"])


def test_changed_image_is_read_again(small_root: Path) -> None:
    """The memory of decoded pixels belongs to a file's content, not to its name."""
    image = read_willow(small_root, ["Car"])[0]["Car"][0]
    before = image.crop()
    Image.fromarray(255 - before).save(image.path)
    assert (image.crop() != before).any()


def test_an_unknown_part_or_class_is_named(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DATA", str(small_root.parent))
    dataset = open_dataset(make_data(source="original", classes=("Car",)), ProtocolConfig(train_per_class=2))
    with pytest.raises(ValueError, match="'Cat' is not one of"):
        dataset.images("Cat", "train")
    with pytest.raises(ValueError, match="'val' is not one of"):
        dataset.images("Car", "val")  # type: ignore[arg-type]
