"""MATLAB files: read as SciPy reads them, and damaged ones are errors."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from bbgm.data.readers.matfile import read_mat

ARRAYS = {
    "doubles": np.linspace(-1, 1, 6).reshape(2, 3),
    "small_numbers": np.arange(6.0).reshape(3, 2),
    "number": 1.5,
    "singles": np.array([[1, 2]], np.float32),
    "integers": np.arange(-3, 3).reshape(1, 6),
    "bytes": np.array([[255]], np.uint8),
    "flags": np.array([[True, False]]),
    "empty": np.zeros((0, 3)),
    "cube": np.arange(24.0).reshape(2, 3, 4),
}
OTHERS = {"text": "abc", "complex": np.ones((2, 2)) * 1j, "structure": {"x": 1}, "cell": np.array([[1, "a"]], object)}


@pytest.mark.parametrize("compressed", [False, True])
def test_numbers_are_those_of_scipy(tmp_path: Path, compressed: bool) -> None:
    savemat(tmp_path / "a.mat", ARRAYS | OTHERS, do_compression=compressed)
    expected, found = loadmat(tmp_path / "a.mat"), read_mat(tmp_path / "a.mat")
    assert found.keys() == ARRAYS.keys() | OTHERS.keys()
    for name in ARRAYS:
        array = found[name]
        assert array is not None
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])
    assert all(found[name] is None for name in OTHERS)


def test_real_files_are_read_as_by_scipy(willow_folder: Path) -> None:
    paths = sorted(willow_folder.rglob("*.mat"))
    assert len(paths) == 305
    for path in paths:
        points = read_mat(path)["pts_coord"]
        assert points is not None
        np.testing.assert_array_equal(points, loadmat(path)["pts_coord"])


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_files_are_named_or_hold_other_numbers(tmp_path: Path, compressed: bool) -> None:
    """Any byte changed, or the end missing: an error that names the file, or other numbers; SciPy dies of some."""
    path = tmp_path / "a.mat"
    savemat(path, {"pts_coord": np.random.default_rng(0).uniform(size=(2, 3))}, do_compression=compressed)
    whole = path.read_bytes()
    broken = [whole[:size] for size in range(len(whole))]
    for place in range(124, len(whole)):
        broken += [whole[:place] + bytes([value]) + whole[place + 1 :] for value in (0, 1, 255, whole[place] ^ 64)]
    errors = 0
    for content in broken:
        path.write_bytes(content)
        try:
            read_mat(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
            errors += 1
    assert errors > len(broken) / 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin like one"),
        (b"no matlab file" * 20, "does not begin like one"),
        (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"x" * 300, "is a MATLAB 7.3 file: save it again with"),
    ],
)
def test_files_that_are_no_mat_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match=rf"a\.mat .*{message}"):
        read_mat(tmp_path / "a.mat")
    with pytest.raises(ValueError, match=r"absent\.mat .*No such file"):
        read_mat(tmp_path / "absent.mat")
