"""The demo data in the formats of Pascal VOC and SPair-71k: read as the real ones, true to the scene."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.config import ProtocolConfig, make_data
from bbgm.data import make_demo, test_pairs
from bbgm.data.demo import demo_root, spair, voc
from bbgm.data.demo.voc import NAMES, Scene, read_scenes
from bbgm.data.images.keypoints import Dataset
from bbgm.data.readers.spair import parse_difficulty, read_pair
from bbgm.data.readers.voc_split import read_split
from bbgm.data.rendering import MODELS
from bbgm.data.rendering.background import indoors
from bbgm.data.rendering.light import random_light
from bbgm.data.rendering.photo import Placed, Scenery, compose, look
from bbgm.data.rendering.shading import Surface, draw

SEED, IMAGES = 3, 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cache with the trees of both formats below its demo root, made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBGM_CACHE", str(tmp_path_factory.mktemp("cache")))
        make_demo(demo_root(SEED, IMAGES), SEED, IMAGES, "spair")
        return demo_root(SEED, IMAGES)


@pytest.fixture(scope="module")
def scenes(root: Path) -> list[Scene]:
    return read_scenes(root / voc.FOLDER)


def dataset(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setenv("BBGM_CACHE", str(root.parents[1]))
    data = make_data(dataset=name, source="demo", demo_seed=SEED, demo_images_per_class=IMAGES)
    return data.open(ProtocolConfig())


def test_voc_is_read_as_the_real_one(root: Path, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    found = dataset(root, "voc", monkeypatch)
    assert sorted(found.classes) == sorted(NAMES.values())
    split = read_split(root / voc.FOLDER, root)
    by_name = {(one.cls, one.name): one for one in scenes}
    dropped = {drop.item: drop.reason for drop in found.dropped.drops}
    kept = {image.image_id: image for part in (found.train, found.test) for image in chain(*part.values())}
    assert len(kept) + len(dropped) == sum(len(names) for part in split.values() for names in part.values())
    for part, classes in split.items():
        for cls, names in classes.items():
            for name in names:
                one, item = by_name[cls, name], f"{cls}/{name}"
                assert one.part == part
                later = cls == "person" and int(name[:4]) > 2008
                flagged = one.difficult or one.truncated or (one.occluded and name[:4] != "2007")
                assert (item in dropped) == (later or flagged), item
                if item in kept:
                    seen = {key: point for key, point in one.keypoints.items() if point}
                    assert set(kept[item].names) == seen.keys()
                    assert kept[item].size == one.size
                    assert kept[item].box == pytest.approx(one.box, abs=0.01)
    assert {"truncated", "person after 2008"} <= set(dropped.values())
    sizes = {image.size for image in kept.values()}
    assert len(sizes) > 20
    assert max(Counter(one.image for one in scenes).values()) == 2
    images = {part: {one.image for one in scenes if one.part == part} for part in ("train", "test")}
    assert not images["train"] & images["test"]


def test_ten_to_thirty_percent_have_no_partner(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = dataset(root, "voc", monkeypatch)
    shares = []
    for cls in found.classes:
        pairs = test_pairs(found, ProtocolConfig(filter="unfiltered", test_pairs_per_class=200), cls)
        common = sum(int((pair.truth >= 0).sum()) for pair in pairs)
        shares.append(1 - 2 * common / sum(len(pair.kept1) + len(pair.kept2) for pair in pairs))
    assert min(shares) > 0.03
    assert 0.1 <= np.mean(shares) <= 0.3


def test_all_sides_are_seen(scenes: list[Scene]) -> None:
    """Every quarter of the azimuths, in every class; opposite sides show other keypoints."""
    for cls in NAMES.values():
        quarters = Counter(int(one.azimuth // 90) for one in scenes if one.cls == cls)
        assert min(quarters[k] for k in range(4)) >= 1, cls
    labels = [one.keypoints for one in scenes if one.cls == "bottle"]
    for name in ("Label_Emblem", "BackLabel_Code"):
        assert sum(points[name] is not None for points in labels) >= 3, name
    assert {one.pose for one in scenes if one.cls == "car"} == {"Left", "Right", "Frontal", "Rear"}
    clear = [one for one in scenes if not (one.occluded or one.truncated or one.difficult)]
    shown: dict[str, list[bool]] = {"front": [], "back": []}  # a small thing may cover a keypoint of a clear object
    for one in (one for one in clear if one.cls == "person"):
        turned = abs((one.azimuth + 180) % 360 - 180)
        if turned < 30:
            shown["front"] += [one.keypoints[name] is not None for name in ("L_Eye", "R_Eye")]
            assert one.keypoints["B_Head"] is None
        if turned > 140:
            shown["back"] += [one.keypoints["B_Head"] is not None]
            assert one.keypoints["L_Eye"] is None
    assert all(np.mean(seen) >= 0.75 and len(seen) >= 2 for seen in shown.values()), shown
    for one in clear:
        turned = abs((one.azimuth + 180) % 360 - 180)
        if one.cls == "bottle" and turned < 30:
            assert one.keypoints["BackLabel_Code"] is None, one
        if one.cls == "bottle" and turned > 150:
            assert one.keypoints["Label_Emblem"] is None, one
        if one.cls == "car" and one.elevation < 30:
            near, far = ("R", "L") if np.cos(np.radians(one.azimuth)) > 0.5 else ("L", "R")
            if abs(np.cos(np.radians(one.azimuth))) > 0.5:
                assert one.keypoints[f"{far}_F_WheelCenter"] is None, one
                shown = [one.keypoints[f"{near}_{end}_WheelCenter"] is not None for end in "FB"]
                assert any(shown), one


def first_hit(scenery: Scenery, target: np.ndarray) -> float:
    """Distance from the camera to the first triangle on the line to a point, by intersecting all of them."""
    corners = np.concatenate([part.vertices[part.faces] for part in scenery.parts])
    origin = scenery.camera.position
    along = (target - origin) / np.linalg.norm(target - origin)
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(along, v)
    determinant = np.einsum("ij,ij->i", u, p)
    whole = np.abs(determinant) > 1e-12
    inverse = 1 / np.where(whole, determinant, 1)
    s = origin - corners[:, 0]
    first = np.einsum("ij,ij->i", s, p) * inverse
    q = np.cross(s, u)
    second, distance = q @ along * inverse, np.einsum("ij,ij->i", v, q) * inverse
    hit = whole & (first >= 0) & (second >= 0) & (first + second <= 1) & (distance > 0)
    return float(distance[hit].min()) if hit.any() else np.inf


@pytest.mark.parametrize("cls", MODELS)
def test_what_is_annotated_is_seen(cls: str) -> None:
    """Against a ray tracer: no annotated keypoint lies behind a surface, and hardly one in the open lacks."""
    behind, missed, shown = 0, 0, 0
    for seed in range(6):
        generator = np.random.default_rng([seed, 5])
        scenery = compose(MODELS, [cls], generator)
        light, around = random_light(generator, False), indoors(generator, scenery.noise)
        _, surface = draw(scenery.parts, scenery.camera, light, around, 1.0)
        one = scenery.objects[0]
        seen = look(one, scenery.camera, surface).landmarks
        for name, point in one.landmarks.items():
            distance = np.linalg.norm(point - scenery.camera.position)
            gap = distance - first_hit(scenery, point)  # how far behind the first surface
            xy, _ = scenery.camera.project(point)
            inside = (xy >= 0).all() and (xy <= [scenery.camera.width, scenery.camera.height]).all()
            if seen[name] is not None:
                assert inside
                shown += 1
                behind += gap > 0.35
            elif inside:
                missed += abs(gap) < 0.03
    assert shown > 25
    assert behind <= 0.04 * shown
    assert missed <= 0.04 * shown


def test_an_object_in_front_hides_keypoints() -> None:
    generator = np.random.default_rng(0)
    scenery = compose(MODELS, ["Car"], generator)
    one, camera = scenery.objects[0], scenery.camera
    points = np.concatenate([part.vertices for part in one.parts]).astype(np.float32)
    place = camera.project(points)[0].astype(np.float32)
    open_ = look(one, camera, Surface(place, points, np.zeros(len(points), np.int64)))
    covered = look(one, camera, Surface(place, points, np.full(len(points), one.last)))
    assert sum(point is not None for point in open_.landmarks.values()) > 5
    assert not any(covered.landmarks.values())
    assert covered.hidden == 1
    assert isinstance(one, Placed)


def test_same_bytes_for_the_same_seed(root: Path, tmp_path: Path) -> None:
    """One photograph by itself is what it was in the middle of the data set; another seed gives another one."""
    tree = root / voc.FOLDER
    photos = round(voc.PHOTOS * IMAGES)
    for seed, folder in ((SEED, tmp_path / "same"), (SEED + 1, tmp_path / "other")):
        for cls in NAMES.values():
            (folder / "annotations" / cls).mkdir(parents=True)
        for name in ("JPEGImages", "Annotations"):
            (folder / "VOC2011" / name).mkdir(parents=True)
        for number, cls in enumerate(NAMES):
            voc.write_photo(folder, photos * number + 4, 4, cls, seed)
    made = [file for file in (tmp_path / "same").rglob("*") if file.is_file()]
    assert len(made) >= 15
    for file in made:
        below = file.relative_to(tmp_path / "same")
        assert file.read_bytes() == (tree / below).read_bytes(), below
        other = tmp_path / "other" / below
        assert file.parent.name == "Annotations" or not other.exists() or other.read_bytes() != file.read_bytes()


def test_spair_follows_from_the_scenes(root: Path, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keypoints, sizes and difficulty of each pair, from the scenes."""
    tree = root / spair.FOLDER
    known = {(one.image, one.cls): one for one in scenes}
    levels: Counter[int] = Counter()
    for part in ("trn", "test"):
        for path in (tree / "PairAnnotation" / part).iterdir():
            record, content = read_pair(path), json.loads(path.read_text())
            source, target = (known[Path(image).stem, record.cls] for image in record.images)
            assert {source.part, target.part} == {"train" if part == "trn" else "test"}
            flags = parse_difficulty(record.difficulty)
            turn = abs((source.azimuth - target.azimuth + 180) % 360 - 180)
            levels[flags["viewpoint"]] += 1
            if flags["viewpoint"] == 0:
                assert turn * np.cos(np.radians(max(source.elevation, target.elevation))) <= spair.EASY + 8
            if flags["viewpoint"] == 2:
                assert turn + abs(source.elevation - target.elevation) > spair.MEDIUM
            assert flags["truncation"] == source.truncated + 2 * target.truncated
            assert flags["occlusion"] == source.occluded + 2 * target.occluded
            names = list(source.keypoints)
            for one, xy in zip((source, target), record.xy, strict=True):
                for name, at in zip(record.names, xy, strict=True):
                    np.testing.assert_allclose(one.keypoints[names[int(name)]], at, atol=0.51)
            assert len(record.names) >= 3
            assert content["src_pose"] == source.pose
    assert min(levels[k] for k in range(3)) > 0.1 * levels.total()
    found = dataset(root, "spair", monkeypatch)
    assert sorted(found.classes) == sorted(NAMES.values())
    for cls in found.classes:
        assert len(found.pairs(cls, "test")) >= 2
        assert len(found.pairs(cls, "train")) >= 20


def test_spair_has_the_layout_of_the_real_one(root: Path) -> None:
    """The keys of the genuine files, and the same types."""
    tree = root / spair.FOLDER
    pair = json.loads(next((tree / "PairAnnotation/test").iterdir()).read_text())
    kinds = {key: type(value) for key, value in pair.items()}
    variations = ("viewpoint_variation", "scale_variation", "truncation", "occlusion", "mirror")
    sides = [f"{side}_{what}" for side in ("src", "trg") for what in ("imsize", "bndbox", "kps")]
    assert kinds == {
        **dict.fromkeys(("pair_id", *variations), int),
        **dict.fromkeys(("filename", "src_imname", "trg_imname", "category", "src_pose", "trg_pose"), str),
        **dict.fromkeys((*sides, "kps_ids"), list),
    }
    line = (tree / "Layout/large/test.txt").read_text().splitlines()[0]
    assert line.startswith("000001-")
    assert (tree / "PairAnnotation/test" / f"{line}.json").is_file()
    image = next((tree / "JPEGImages/car").iterdir())
    annotation = json.loads((tree / "ImageAnnotation/car" / f"{image.stem}.json").read_text())
    with Image.open(image) as opened:
        assert opened.size == (annotation["image_width"], annotation["image_height"])
        assert opened.format == "JPEG"


def test_viewpoints_and_mirrors() -> None:
    """The angle between views, by hand."""

    def view(cls: str, azimuth: float, elevation: float = 0) -> Scene:
        box = (0.0, 0.0, 10.0, 10.0)
        return Scene("2008_000001_1", cls, "train", (100, 100), box, azimuth, elevation, "", False, False, False, {})

    assert spair.viewpoint_variation(view("car", 350), view("car", 20)) == 0
    assert spair.viewpoint_variation(view("car", 0), view("car", 60)) == 1
    assert spair.viewpoint_variation(view("car", 0), view("car", 180)) == 2
    assert spair.viewpoint_variation(view("car", 0, 60), view("car", 180, 60)) == 1  # from above: 60 degrees
    mirrored = spair.direction(view("car", 30), mirrored=True)
    assert spair.angle(mirrored, spair.direction(view("car", 150))) == pytest.approx(0, abs=1e-4)
    mirrored = spair.direction(view("person", 30), mirrored=True)
    assert spair.angle(mirrored, spair.direction(view("person", 330))) == pytest.approx(0, abs=1e-4)
