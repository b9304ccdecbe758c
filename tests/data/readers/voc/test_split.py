"""The split of Pascal VOC: the real one, and files that are none."""

from pathlib import Path

import numpy as np
import pytest

from bbgm.data.images.keypoints import SUBSETS
from bbgm.data.readers.voc_split import CLASSES, FILE, read_split

COUNTS = {  # objects of the real split, before any is left out
    **{"aeroplane": (703, 208), "bicycle": (597, 156), "bird": (935, 184), "boat": (705, 145), "bottle": (1084, 245)},
    **{"bus": (535, 103), "car": (1637, 467), "cat": (1015, 251), "chair": (1486, 404), "cow": (524, 118)},
    **{"diningtable": (354, 114), "dog": (1247, 324), "horse": (593, 167), "motorbike": (606, 157)},
    **{"person": (3326, 842), "pottedplant": (840, 215), "sheep": (706, 172), "sofa": (465, 101)},
    **{"train": (510, 118), "tvmonitor": (685, 154)},
}


def test_the_real_split_has_the_known_numbers_of_objects(
    real_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = read_split(real_folder / "voc2011_split", tmp_path)
    assert {cls: (len(split["train"][cls]), len(split["test"][cls])) for cls in CLASSES} == COUNTS
    for part, objects, images in zip(SUBSETS, (18553, 4645), (9227, 2275), strict=True):
        names = [name for members in split[part].values() for name in members]
        assert len(names) == objects
        assert len({name[:11] for name in names}) == images
    train, test = ({name[:11] for names in split[part].values() for name in names} for part in SUBSETS)
    assert not train & test
    assert all(int(name[:4]) <= 2008 for part in split.values() for name in part["person"])
    of_2007 = {cls: sum(name.startswith("2007") for name in split["train"][cls]) for cls in ("car", "motorbike")}
    assert of_2007 == {"car": 63, "motorbike": 40}

    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("unpickled again"))
    assert read_split(real_folder / "voc2011_split", tmp_path) == split


def test_another_split_file_is_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / FILE, train=np.array([[]], dtype=object), test=np.array([[]], dtype=object))
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("unpickled"))
    with pytest.raises(
        ValueError, match=r"voc2011_pairs\.npz has the SHA-256 [0-9a-f]{64}, must have ef2f.*not opened"
    ):
        read_split(tmp_path, tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(FileNotFoundError, match=r"no split file .*707,237 bytes.*https://"):
        read_split(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a split"),
        ("[]", "is not a split"),
        ('{"train": {}}', "is not a split .*'test'"),
        ('{"train": {"cat": [3]}, "test": {}}', "is not a split"),
        ('{"train": {"cat": ["2008_1_1"]}, "test": {}}', "object '2008_1_1': names look like"),
        ('{"train": {"cow2": []}, "test": {}}', "class 'cow2', which is not one of .*'cow'"),
        ('{"train": {"cat": ["2008_000001_1"]}, "test": {"cat": ["2008_000001_1"]}}', "cat/2008_000001_1 twice"),
    ],
)
def test_split_of_ones_own_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "voc2011_pairs.json").write_text(content)
    with pytest.raises(ValueError, match=r"voc2011_pairs\.json .*" + message):
        read_split(tmp_path, tmp_path)
