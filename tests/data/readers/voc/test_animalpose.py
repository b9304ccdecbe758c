"""The five classes of Pascal VOC that AnimalPose distributes."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.base.paths import data_root
from bbgm.config import make_data
from bbgm.config.models import ProtocolConfig
from bbgm.data.datasets.voc import ANIMALPOSE, ANIMALS
from bbgm.data.images.keypoints import FRAME
from bbgm.data.readers.folder import FILE

real = pytest.mark.skipif(not (data_root() / ANIMALPOSE).is_dir(), reason="needs the photographs of AnimalPose")


@real
def test_the_parts_are_those_of_the_published_split():
    dataset = make_data("voc", source="animalpose").open(ProtocolConfig())
    sizes = {cls: tuple(len(dataset.pairs(cls, part).images) for part in ("train", "test")) for cls in ANIMALS}
    assert dataset.name == "voc"
    assert tuple(dataset.classes) == ANIMALS
    for cls, counted in {"cat": (1009, 248), "cow": (501, 110), "dog": (1231, 321), "horse": (582, 159)}.items():
        # Objects without a keypoint inside of their box are left out.
        assert 0 <= counted[0] - sizes[cls][0] <= 2
        assert 0 <= counted[1] - sizes[cls][1] <= 2
    photographs = {
        part: {one.path for cls in ANIMALS for one in dataset.pairs(cls, part).images} for part in ("train", "test")
    }
    assert not photographs["train"] & photographs["test"]
    xy = np.concatenate([one.xy for cls in ANIMALS for one in dataset.pairs(cls, "test").images])
    assert xy.min() >= 0
    assert xy.max() <= FRAME


@real
def test_classes_can_be_chosen():
    dataset = make_data("voc", source="animalpose", classes=("sheep", "cat")).open(ProtocolConfig())
    assert tuple(dataset.classes) == ("sheep", "cat")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"classes": ("cat", "aeroplane")}, "aeroplane"),
        ({"keep_outside": True}, "keep_outside"),
        ({"exclude_willow": "classes"}, "exclude_willow"),
    ],
)
def test_what_it_does_not_have_is_an_error(settings, named):
    with pytest.raises(ValueError, match=named):
        make_data("voc", source="animalpose", **settings)


def test_other_data_sets_do_not_have_the_source():
    with pytest.raises(ValueError, match="'demo', 'original'"):
        make_data("willow", source="animalpose")


def test_without_the_files_the_error_names_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{ANIMALPOSE}.*data.source: original"):
        make_data("voc", source="animalpose").open(ProtocolConfig())


def test_a_file_without_a_split_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    folder = tmp_path / ANIMALPOSE
    folder.mkdir()
    Image.new("RGB", (20, 20)).save(folder / "cat.png")
    objects = [{"file": "cat.png", "class": "cat", "keypoints": {"Nose": [k, 5]}} for k in range(4)]
    (folder / FILE).write_text(json.dumps({"images": objects}))
    with pytest.raises(ValueError, match=rf"{FILE} has no split: give each entry the 'split'"):
        make_data("voc", source="animalpose", classes=("cat",)).open(ProtocolConfig())
