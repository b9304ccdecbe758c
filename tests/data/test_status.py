"""``bbgm data status``: what is whole, what is broken, its exit status; and no run starts on half of Willow."""

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbgm.cli import main
from bbgm.data.fetch.download import download
from bbgm.data.fetch.integrity import file_state, packaged_manifest, published_names, read_manifest, write_manifest
from bbgm.data.fetch.sources import Item, find
from bbgm.data.readers.willow import FOLDER, KEYPOINT_NAMES, read_willow
from bbgm.data.status import data_status

Change = Callable[[Path], object]


@pytest.fixture
def willow(willow_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the real data set, in a BBGM_DATA of its own."""
    shutil.copytree(willow_folder, tmp_path / FOLDER, copy_function=shutil.copyfile)
    for path in (tmp_path / FOLDER, *(tmp_path / FOLDER).iterdir()):
        path.chmod(0o755)  # the original may be read-only
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    return tmp_path / FOLDER


def remove(*names: str) -> Change:
    def change(tree: Path) -> None:
        for name in names:
            (tree / name).unlink()

    return change


def lengthen(tree: Path) -> None:
    with (tree / "Car" / "Cars_000a.mat").open("ab") as file:
        file.write(b"x")


def alter(tree: Path) -> None:
    """One bit, and the time stamp put back."""
    path = tree / "Car" / "Cars_000a.png"
    state, data = path.stat(), bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def add(tree: Path) -> None:
    for suffix in (".png", ".mat"):
        shutil.copyfile(tree / "Car" / f"Cars_000a{suffix}", tree / "Car" / f"Cars_mine{suffix}")


PAIR = ("Duck/060_0001.png", "Duck/060_0001.mat")


def test_the_manifest_is_that_of_the_real_data(willow_folder: Path) -> None:
    manifest = packaged_manifest("willow.csv")
    assert len(manifest) == 610
    found = {path.relative_to(willow_folder).as_posix() for path in willow_folder.rglob("*") if path.is_file()}
    assert found == set(manifest)
    for name in list(manifest)[::50]:
        assert file_state(willow_folder / name) == manifest[name]
    counts = {cls: len(published_names("willow.csv", cls)) for cls in KEYPOINT_NAMES}
    assert counts == {"Car": 40, "Duck": 50, "Face": 109, "Motorbike": 40, "Winebottle": 66}


def test_a_whole_tree_passes_the_check(willow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "status", "willow", "--check"]) == 0
    output = capsys.readouterr()
    assert f"expected  {willow}\n  status    found\n" in output.out
    assert "none stated; research use" in output.out
    assert output.err == ""


@pytest.mark.parametrize(
    ("change", "message", "only_check"),
    [
        (remove(*PAIR), "Duck/060_0001.mat and 1 more missing", False),
        (remove(PAIR[0]), "304 of at least 305 files */*.png; Duck/060_0001.png missing", False),
        (add, "Car/Cars_mine.mat and 1 more not of the data set", False),
        (lengthen, "Car/Cars_000a.mat of another size", False),
        (alter, "Car/Cars_000a.png of other content", True),
    ],
    ids=["pair", "half a pair", "added", "longer", "altered"],
)
def test_a_broken_tree_is_named(
    willow: Path, capsys: pytest.CaptureFixture[str], change: Change, message: str, only_check: bool
) -> None:
    change(willow)
    for arguments in ((), ("willow",), ("--check",)):
        status = main(["data", "status", *arguments])
        output = capsys.readouterr()
        if only_check and "--check" not in arguments:
            assert (status, output.err) == (0, "")
            continue
        assert status == 2
        assert "status    found, but broken: " in output.out
        assert "remedy    move it away, then 'bbgm data download willow'" in output.out
        assert output.err.startswith(f"bbgm: error: Willow ObjectClass in {willow} is broken: ")
        assert message in output.err
        assert output.err.count("\n") == 1


def test_a_downloaded_willow_with_other_files_is_reported(
    willow: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """From an archive with one file altered and further ones, as its publisher may have packed them."""
    alter(willow)
    add(willow)
    (willow / "README").write_text("of the publisher")
    with zipfile.ZipFile(willow.parent / "WILLOW-ObjectClass_dataset.zip", "w") as archive:
        for path in willow.rglob("*"):
            archive.write(path, path.relative_to(willow.parent))
    willow.rename(willow.with_name("old"))
    assert main(["data", "download", "willow"]) == 0
    assert capsys.readouterr().out == f"{willow}\n"
    messages = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert messages[0] == "Car/Cars_mine.mat of the archive is left out: it does not belong to the data set"
    assert "from the one this project was tested with: Car/Cars_000a.png of other content" in messages[2]
    assert "no checksum of WILLOW-ObjectClass_dataset.zip is published" in messages[3]
    assert (willow / "README").is_file()
    assert sum(len(images) for images in read_willow(willow)[0].values()) == 304
    assert main(["data", "status", "willow"]) == 0


def test_missing_data_are_an_error_only_where_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is needed for the demo, so that is an error only where it was asked for by name."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    assert main(["data", "status"]) == 0
    output = capsys.readouterr()
    for item in map(find, ("voc", "voc-keypoints", "voc-split", "willow", "spair", "vgg16_bn")):
        for part in (item.title, str(tmp_path / item.place), item.licence, item.citation, *item.mirrors):
            assert part in output.out
        assert f"'bbgm data download {item.name}'" in output.out
    assert main(["data", "status", "willow", "spair"]) == 2
    errors = capsys.readouterr().err
    assert "Willow ObjectClass is missing: 'bbgm data download willow'; SPair-71k is missing" in errors
    assert main(["data", "status", "nothing"]) == 2
    assert "'nothing' is not one of ['voc'" in capsys.readouterr().err


def test_an_image_less_does_not_change_the_split_in_silence(willow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both files of an image are gone, so that nothing else would notice: no run starts."""
    remove(*PAIR)(willow)
    with pytest.raises(FileNotFoundError, match=r"Duck lacks 1 image\(s\), e\.g\. 060_0001: that is not the published"):
        read_willow(willow)
    assert main(["train", "--budget", "willow", "--folder", str(willow.parent / "run")]) == 2
    message = capsys.readouterr().err
    assert "'bbgm data download willow'" in message
    assert message.count("\n") == 1
    assert len(read_willow(willow, ["Car"])[0]["Car"]) == 40  # a class that is whole can still be used


def test_an_image_more_does_not_either(willow: Path) -> None:
    add(willow)
    with pytest.raises(FileNotFoundError, match=r"Car has in addition 1 image\(s\), e\.g\. Cars_mine"):
        read_willow(willow)


def test_own_images_in_that_format_are_welcome(willow: Path) -> None:
    for old in list((willow / "Duck").iterdir()):
        old.rename(old.with_name(f"my_{old.name}"))
    remove("Duck/my_060_0001.png", "Duck/my_060_0001.mat")(willow)
    assert len(read_willow(willow, ["Duck"])[0]["Duck"]) == 49


@pytest.fixture
def thing(server: Any, item: dict[str, Any], zipped: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data set without a packaged manifest, downloaded into BBGM_DATA."""
    table = Item(**{**item, "mirrors": (server.serve("/a", server.file(zipped)),)})
    monkeypatch.setattr("bbgm.data.fetch.sources.registry", lambda: {"thing": table})
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    return download("thing")


def test_what_was_downloaded_is_compared_with_what_came(thing: Path) -> None:
    assert data_status(["thing"], check=True).problems == ()
    assert "5 */*.png" in data_status(["thing"]).text
    (thing / "note.txt").write_bytes(b"About it")
    assert data_status(["thing"]).problems == ()
    (problem,) = data_status(["thing"], check=True).problems
    assert problem == f"The Thing in {thing} is broken: note.txt of other content"
    (thing / "note.txt").unlink()
    assert "note.txt missing" in data_status(["thing"]).problems[0]


def test_what_was_put_there_by_hand_is_counted(thing: Path) -> None:
    thing.with_name("Thing.manifest.csv").unlink()
    report = data_status(["thing"], check=True)
    assert report.problems == ()
    assert "files are counted only" in report.text
    (thing / "Car" / "2.png").unlink()
    (thing / "Car" / "deeper").mkdir()
    (thing / "Car" / "deeper" / "2.png").write_bytes(b"")  # not where it belongs
    assert "4 of at least 5 files */*.png" in data_status(["thing"]).problems[0]


def test_links_are_followed_and_dangling_ones_count_as_missing(thing: Path) -> None:
    """Links to folders elsewhere are followed; a broken link is a missing file."""
    (thing / "Car").rename(thing.parent / "elsewhere")
    (thing / "Car").symlink_to(thing.parent / "elsewhere")
    assert data_status(["thing"], check=True).problems == ()
    (thing / "Car" / "2.png").unlink()
    (thing / "Car" / "2.png").symlink_to("nowhere")
    assert "4 of at least 5 files" in data_status(["thing"]).problems[0]


def test_weights_are_compared_with_their_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    (tmp_path / "vgg16-397923af.pth").write_bytes(b"truncated")
    assert data_status(["vgg16"]).problems == ()
    assert "its checksum is not sha256:397923af..." in data_status(["vgg16"], check=True).problems[0]


def test_the_registered_checksum_is_that_of_the_real_split_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The size and the checksum in the registry are those of the real file."""
    item = find("voc-split")
    real = next(item.folder().glob(f"*/{item.archive}"), None)
    if real is None:
        pytest.skip(f"no {item.archive} in {item.folder()}")
    shutil.copyfile(real, tmp_path / item.archive)
    place = download("voc-split", tmp_path)  # by hand
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    assert data_status(["voc-split"], check=True).problems == ()
    assert place == tmp_path / "PascalVOC" / "voc2011_pairs.npz"
    assert place.stat().st_size == item.size


def test_manifests_come_back_and_broken_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    manifest = {'b,"c"': file_state(tmp_path / "a"), "a": file_state(tmp_path / "a")}
    write_manifest(tmp_path / "m.csv", manifest)
    assert read_manifest(tmp_path / "m.csv") == manifest
    for broken in ("", "file,bytes\n", "file,bytes,sha256\na,b,c\n", "file,bytes,sha256\na\n"):
        (tmp_path / "m.csv").write_text(broken)
        with pytest.raises(ValueError, match=r"m\.csv is not a manifest \(.*\): delete it"):
            read_manifest(tmp_path / "m.csv")
