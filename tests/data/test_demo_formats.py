"""The demo data in the formats of Pascal VOC and SPair-71k are read like the real data sets."""

from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from bbgm_demo.formats.voc import Scene, read_scenes

from bbgm.config import ProtocolConfig, make_data
from bbgm.data import test_pairs
from bbgm.data.demo import demo_classes, demo_root, make_demo
from bbgm.data.images.keypoints import Dataset
from bbgm.data.readers import spair, voc
from bbgm.data.readers.spair import parse_difficulty, read_pair
from bbgm.data.readers.voc_split import read_split

SEED, IMAGES = 3, 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cache with the trees of both formats below its demo root, made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBGM_CACHE", str(tmp_path_factory.mktemp("cache")))
        make_demo(["spair"], SEED, IMAGES)
        return demo_root(SEED, IMAGES)


@pytest.fixture(scope="module")
def scenes(root: Path) -> list[Scene]:
    return read_scenes(root / voc.FOLDER)


def dataset(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setenv("BBGM_CACHE", str(root.parents[1]))
    data = make_data(dataset=name, source="demo", demo_seed=SEED, demo_images_per_class=IMAGES)
    return data.open(ProtocolConfig())


def test_voc_is_read_like_the_real_one(root: Path, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    found = dataset(root, "voc", monkeypatch)
    assert sorted(found.classes) == sorted(demo_classes("voc"))
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


def test_spair_is_read_like_the_real_one(root: Path, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes, keypoints and difficulty of every pair are those that the renderer knows."""
    known = {(one.image, one.cls): one for one in scenes}
    for path in (root / spair.FOLDER / "PairAnnotation").glob("*/*.json"):
        record = read_pair(path)
        source, target = (known[Path(image).stem, record.cls] for image in record.images)
        flags = parse_difficulty(record.difficulty)
        assert flags["truncation"] == source.truncated + 2 * target.truncated
        assert flags["occlusion"] == source.occluded + 2 * target.occluded
        names = list(source.keypoints)
        for one, xy in zip((source, target), record.xy, strict=True):
            for name, at in zip(record.names, xy, strict=True):
                np.testing.assert_allclose(np.array(one.keypoints[names[int(name)]]), at, atol=0.51)
    found = dataset(root, "spair", monkeypatch)
    assert sorted(found.classes) == sorted(demo_classes("spair"))
    for cls in found.classes:
        assert len(found.pairs(cls, "test")) >= 2
        assert len(found.pairs(cls, "train")) >= 20
