"""JSON and YAML within limits: what is just allowed, and what is just not."""

from pathlib import Path

import pytest

from bbgm.base.reading import yaml_files
from bbgm.base.reading.untrusted import DEEPEST, parse_json, repeated
from bbgm.base.reading.yaml_files import parse_yaml, read_yaml


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_json_may_be_so_deep_and_no_deeper(start: str, end: str) -> None:
    def nested(levels: int) -> str:
        return start * levels + "1" + end * levels

    assert parse_json(nested(DEEPEST))
    for levels in (DEEPEST + 1, 500, 100_000):
        with pytest.raises(ValueError, match=f"nested more than {DEEPEST} levels"):
            parse_json(nested(levels))


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ("{a: ", "}"), ("- ", "")])
def test_yaml_may_be_so_deep_and_no_deeper(start: str, end: str) -> None:
    def nested(levels: int) -> bytes:
        return (start * levels + "1" + end * levels).encode()

    assert parse_yaml(nested(yaml_files.DEEPEST - 1))
    for levels in (yaml_files.DEEPEST, 500, 50_000):
        with pytest.raises(ValueError, match=f"nested more than {yaml_files.DEEPEST} levels"):
            parse_yaml(nested(levels))


def test_json_is_read_as_it_is() -> None:
    assert parse_json(b'{"a": [1, {"b": null}], "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="'a' occurs twice"):
        parse_json('{"a": 1, "b": 2, "a": 3}', unique_keys=True)
    for wrong in (b"\xff", b"", b"{"):
        with pytest.raises(ValueError, match=r"codec|Expecting"):
            parse_json(wrong)


def test_repeated_items_come_once_in_order() -> None:
    assert repeated("abracadabra") == ["a", "b", "r"]
    assert repeated([3, 1, 2]) == []


def test_aliases_are_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """a: 1 + 2 values; b: 1 + 2 x 3; with both keys and the mapping itself 13."""
    text = b"a: &a [x, y]\nb: [*a, *a]\n"
    monkeypatch.setattr(yaml_files, "MOST_VALUES", 13)
    assert parse_yaml(text) == {"a": ["x", "y"], "b": [["x", "y"]] * 2}
    monkeypatch.setattr(yaml_files, "MOST_VALUES", 12)
    with pytest.raises(ValueError, match="more than 12 values"):
        parse_yaml(text)


def test_merge_keys_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base: &base {x: 1, y: 2}\nmore: {<<: *base, y: 3}\n")
    assert read_yaml(tmp_path / "a.yaml")["more"] == {"x": 1, "y": 3}
