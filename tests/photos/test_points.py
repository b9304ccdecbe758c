"""What users give as keypoints: every accepted form gives the same, and every mistake is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.photos.points import make_points

SIZE = (100, 80)
PLAIN: list[list[float]] = [[10, 20.5], [90, 20], [50, 70]]
NAMED: dict[Any, Any] = {"a": [10, 20.5], "b": [90, 20], "c": [50, 70]}


@pytest.mark.parametrize(
    "given",
    [
        PLAIN,
        tuple(tuple(xy) for xy in PLAIN),
        np.array(PLAIN),
        np.array(PLAIN, dtype=np.float32),
        list(np.array(PLAIN)),
        NAMED,
        {name: tuple(xy) for name, xy in NAMED.items()},
    ],
)
def test_forms(given: Any, tmp_path: Path) -> None:
    points = make_points(given, SIZE)
    np.testing.assert_array_equal(points.xy, PLAIN)
    assert points.names == (("a", "b", "c") if isinstance(given, dict) else None)
    assert [points.name(k) for k in range(3)] == (["a", "b", "c"] if points.names else ["0", "1", "2"])
    assert make_points(points, SIZE) is points


@pytest.mark.parametrize("content", [PLAIN, NAMED])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_files(content: Any, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "points.json"
    path.write_text(mark + json.dumps(content), encoding="utf-8")
    np.testing.assert_array_equal(make_points(path, SIZE).xy, PLAIN)
    assert make_points(str(path), SIZE).names == make_points(content, SIZE).names


def test_points_on_the_border_are_inside() -> None:
    assert len(make_points([[0, 0], [100, 0], [100, 80], [0, 80]], SIZE)) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 2], [3, 4]], "has 2 points: give 3 or more"),
        ([], "has 0 points: give 3 or more"),
        ({}, "has 0 points: give 3 or more"),
        ([[1, 2], [3, 4], [float("nan"), 6]], r"'2' at \[nan, 6.0\] is not finite"),
        ({**NAMED, "d": [1, float("inf")]}, r"'d' at \[1.0, inf\] is not finite"),
        ([*PLAIN, [101, 5]], r"'3' at \[101.0, 5.0\] is outside of the picture of 100 x 80 px"),
        ({**NAMED, "d": [5, -1], "e": [5, 81]}, r"'d' at \[5.0, -1.0\]; 'e' at \[5.0, 81.0\] is outside"),
        ([*PLAIN, PLAIN[1]], r"'1' and '3' are both at \[90.0, 20.0\]: remove or move one"),
        ({**NAMED, "d": [10.001, 20.5]}, "'a' and 'd' are both at"),
        ([[0, 0], [10, 10], [30, 30], [80, 80]], "all 4 points are on one line"),
        ([[0.1, 0.3], [0.2, 0.6], [0.3, 0.9]], "all 3 points are on one line"),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], r"point 0 is \[1, 2, 3\], not two numbers"),
        ([1, 2, 3], "point 0 is 1, not two numbers"),
        ([*PLAIN, ["1", "2"]], "point 3 is .*, not two numbers"),
        ([*PLAIN, [True, 2]], "point 3 is .*, not two numbers"),
        ({**NAMED, "d": None}, "point 'd' is None, not two numbers"),
        ({**NAMED, "d": {"x": 1, "y": 2}}, "point 'd' is .*, not two numbers"),
        ({"images": [{"file": "a.jpg"}]}, "point 'images' is .*, not two numbers"),
        ({**NAMED, " ": [1, 2]}, "the name ' ' is not a text"),
        ({0: [1, 2], **NAMED}, "the name 0 is not a text"),
        (np.zeros((3, 3)), r"has shape \(3, 3\) and type float64: give an array \(n, 2\)"),
        (np.array(PLAIN, dtype=object), "type object"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\)"),
        (7, "7 is not a list of points"),
        (None, "None is not a list of points"),
        ([*PLAIN, [10**400, 1]], "too large"),
    ],
)
def test_mistakes(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make_points(given, SIZE, "points of a.jpg")
    assert str(caught.value).startswith("points of a.jpg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON"),
        ("[[1, 2], [3, 4]", "is not valid JSON"),
        ('{"a": [1, 2], "a": [3, 4], "b": [5, 6]}', "the name 'a' occurs twice"),
        ("<html><body>Sign in</body></html>", "is a web page"),
        ("[[1, 2], [3, 4], [NaN, 2]]", "'2' at .* is not finite"),
        ('"nose"', "'nose' is not a list of points"),
        ("[" * 100_000, "is not valid JSON"),
        ("\xff\xfe", "is not valid JSON"),
    ],
)
def test_broken_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message) as caught:
        make_points(path, SIZE)
    assert str(caught.value).startswith(f"points file {path}")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no points file .*none\.json: give a JSON file"):
        make_points(tmp_path / "none.json", SIZE)
    with pytest.raises(ValueError, match="cannot be read"):
        make_points(tmp_path, SIZE)
