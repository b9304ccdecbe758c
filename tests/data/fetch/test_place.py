"""What is downloaded is put in place once, checked, and left alone afterwards."""

import hashlib
import io
import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbgm.cli import main
from bbgm.cli.data import NAMES
from bbgm.data.fetch.download import DownloadError, fits, record_path
from bbgm.data.fetch.integrity import file_state, manifest_path, read_manifest
from bbgm.data.fetch.sources import find, registry


def test_downloads_once(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    content: dict[str, bytes],
    assert_right: Callable[[Path], None],
) -> None:
    url = server.serve("/a", server.file(zipped))
    place = get(url)
    assert_right(place)
    record = json.loads(record_path(place).read_text())
    assert record["sha256"] == hashlib.sha256(zipped).hexdigest()
    assert (record["origin"], record["bytes"]) == (url, len(zipped))
    assert read_manifest(manifest_path(place)) == {name: file_state(place / name) for name in content}
    before = {path: path.stat().st_mtime_ns for path in place.parent.rglob("*")}
    assert get(url) == place
    assert {path: path.stat().st_mtime_ns for path in place.parent.rglob("*")} == before
    assert server.log == [("/a", None)]


def test_without_a_checksum_the_first_download_is_trusted_with_a_warning(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    assert_right: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = get(server.serve("/a", server.file(zipped)), checksum="")
    (warning,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert "no checksum of thing.zip is published" in warning
    assert hashlib.sha256(zipped).hexdigest() in warning
    place.rename(place.with_name("old"))
    other = zipped.replace(b"not wanted", b"not wanteD")
    with pytest.raises(DownloadError, match="its checksum is not sha256:"):
        get(server.serve("/b", server.file(other)), checksum="")
    assert_right(get(server.serve("/a", server.file(zipped)), checksum=""))
    record_path(place).write_text("{")
    place.rename(place.with_name("older"))
    with pytest.raises(ValueError, match=r"Thing\.download\.json is damaged"):
        get(server.url("/a"), checksum="")


def test_an_archive_put_there_by_hand(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "thing.zip").write_bytes(b"PK, but truncated")
    with pytest.raises(ValueError, match=r"thing\.zip is not the right file: its checksum is not sha256"):
        get(server.url("/a"))
    (tmp_path / "thing.zip").write_bytes(zipped)
    assert_right(get(server.url("/a")))
    assert (tmp_path / "thing.zip").read_bytes() == zipped
    assert server.log == []


def test_what_is_there_but_broken_is_left_alone(server: Any, get: Callable[..., Path], zipped: bytes) -> None:
    place = get(server.serve("/a", server.file(zipped)))
    (place / "Car" / "3.png").unlink()
    with pytest.raises(ValueError, match=r"Thing is there, but broken \(4 of at least 5 files .*move it away"):
        get(server.url("/a"))
    assert (place / "Car" / "2.png").is_file()
    assert len(server.log) == 1


def test_an_archive_of_something_else_is_refused(
    server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path
) -> None:
    """Without a checksum such a mirror is skipped, and nothing from it is trusted later."""
    url = server.serve("/a", server.file(zipped))
    with pytest.raises(ValueError, match=r"is not The Thing: it has 5 of at least 9 files \*/\*\.png"):
        get(url, at_least={"*/*.png": 9})
    with pytest.raises(DownloadError, match=r"/a it has 5 of at least 9 files \*/\*\.png"):
        get(url, at_least={"*/*.png": 9}, checksum="")
    with pytest.raises(DownloadError, match=r"has no files in a folder 'other', only \['README', 'thing'\]"):
        get(url, inside="other", checksum="")
    assert [path.name for path in tmp_path.iterdir()] == [".download"]


def test_a_single_file_is_checked_and_put_in_its_place(
    server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path
) -> None:
    keys = {"inside": "", "place": "deep/weights.bin", "archive": "weights.bin", "at_least": {}}
    digits = hashlib.sha256(zipped).hexdigest()
    place = get(server.serve("/a", server.file(zipped)), **keys, checksum=f"sha256:{digits[:8]}...")
    assert place == tmp_path / "deep" / "weights.bin"
    assert place.read_bytes() == zipped
    assert get(server.url("/a"), **keys) == place
    assert len(server.log) == 1
    place.write_bytes(zipped[:-1])
    with pytest.raises(ValueError, match=r"weights\.bin is there, but broken \(its checksum is wrong\)"):
        get(server.url("/a"), **keys)


def test_files_put_elsewhere_by_hand_are_found(
    server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path
) -> None:
    """What lies where its own archive unpacks it, put there by hand, is found."""
    place = get(server.serve("/a", server.file(zipped)), place="Elsewhere")
    assert get(server.url("/a"), also=("No", "Elsewhere")) == place
    assert len(server.log) == 1


def test_checksums_may_be_abbreviated(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert fits(tmp_path / "a", "md5:900150983cd24fb0d6963f7d28e17f72")
    assert fits(tmp_path / "a", "sha256:ba7816bf...")
    assert not fits(tmp_path / "a", "sha256:ba7816be...")


def test_a_bar_on_a_terminal_only(
    server: Any, get: Callable[..., Path], zipped: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        get(server.serve("/a", server.file(zipped)), place=f"Thing{shown}")
        assert ("thing: " in stream.getvalue()) == shown


def test_command(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = get(server.serve("/a", server.file(zipped)))
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    assert main(["data", "download", "thing"]) == 0
    assert capsys.readouterr().out == f"{place}\n"
    assert main(["data", "download", "thing", "nothing"]) == 2
    output = capsys.readouterr()
    assert "'nothing' is not one of ['thing']" in output.err
    assert output.out == ""


def test_entries_of_the_registry_are_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from torchvision.models import VGG16_BN_Weights, VGG16_Weights

    assert NAMES.split(", ") == list(registry())
    for item in registry().values():
        assert all(re.fullmatch(r"https?://\S+", url) for url in item.mirrors)
        digits = {"": 0, "md5": 32, "sha256": 64}[item.checksum.partition(":")[0]]
        assert re.fullmatch(rf"(md5:|sha256:)[0-9a-f]{{{digits}}}|sha256:[0-9a-f]{{8}}\.\.\.|", item.checksum)
        assert bool(item.inside) == bool(item.at_least)
        assert item.licence
        assert item.citation
        assert str(tmp_path) in item.by_hand(tmp_path)
    for name, weights in {"vgg16_bn": VGG16_BN_Weights.IMAGENET1K_V1, "vgg16": VGG16_Weights.IMAGENET1K_V1}.items():
        assert find(name).mirrors == (weights.url,)  # and `imagenet_file` looks for a file of that name
        assert find(name).place == weights.url.rsplit("/")[-1]
    with pytest.raises(ValueError, match="'imagenet' is not one of"):
        find("imagenet")
