"""Downloads from servers that misbehave: what arrives is right or nothing, and nothing is fetched twice."""

import hashlib
import io
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbgm.cli import main
from bbgm.cli.data import NAMES
from bbgm.data import download as module
from bbgm.data import fetch as fetch_module
from bbgm.data.download import DownloadError, download, fits, record_path
from bbgm.data.fetch import CHUNK
from bbgm.data.integrity import file_state, manifest_path, read_manifest
from bbgm.data.registry import Item, find, registry

PROGRAM = """
import json, sys, resource
import bbgm.data.registry as registry
from bbgm.cli import main
item = registry.Item(**json.loads(sys.argv[1]))
registry.registry = lambda: {item.name: item}
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
sys.exit(main(["data", "download", item.name, "--to", sys.argv[2]]))
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0)


@pytest.fixture
def get(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, item: dict[str, Any]) -> Callable[..., Path]:
    """Download the thing from the given mirrors; further keys replace those of its table."""

    def run(*mirrors: str, **keys: Any) -> Path:
        table = Item(**{**item, "mirrors": mirrors, **keys})
        monkeypatch.setattr("bbgm.data.registry.registry", lambda: {"thing": table})
        return download("thing", tmp_path)

    return run


def assert_right(place: Path, content: dict[str, bytes]) -> None:
    """The tree holds the data set and nothing else; no archive and no part is left over."""
    found = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert found == content
    assert list((place.parent / ".download" / "thing").iterdir()) == []


def test_downloads_once(server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]) -> None:
    url = server.serve("/a", server.file(zipped))
    place = get(url)
    assert_right(place, content)
    record = json.loads(record_path(place).read_text())
    assert record["sha256"] == hashlib.sha256(zipped).hexdigest()
    assert (record["origin"], record["bytes"]) == (url, len(zipped))
    assert read_manifest(manifest_path(place)) == {name: file_state(place / name) for name in content}
    before = {path: path.stat().st_mtime_ns for path in place.parent.rglob("*")}
    assert get(url) == place
    assert {path: path.stat().st_mtime_ns for path in place.parent.rglob("*")} == before
    assert server.log == [("/a", None)]


@pytest.mark.parametrize("checked", [True, False])
def test_a_dropped_connection_is_taken_up(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], checked: bool
) -> None:
    drops = [server.file(zipped, stop_after=n) for n in (3 * CHUNK, 2 * CHUNK)]
    url = server.serve("/a", *drops, server.file(zipped))
    assert_right(get(url, **({} if checked else {"checksum": ""})), content)
    assert server.log == [("/a", None), ("/a", f"bytes={3 * CHUNK}-"), ("/a", f"bytes={5 * CHUNK}-")]


def test_another_edition_after_a_drop_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]
) -> None:
    old = bytes(len(zipped))
    url = server.serve("/a", server.file(old, stop_after=4 * CHUNK, etag='"old"'), server.file(zipped, etag='"new"'))
    assert_right(get(url, checksum=""), content)
    assert server.log == [("/a", None), ("/a", f"bytes={4 * CHUNK}-")]


def test_a_server_that_ignores_range_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]
) -> None:
    url = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), server.file(zipped, ranges=False))
    assert_right(get(url), content)
    assert server.log == [("/a", None), ("/a", f"bytes={4 * CHUNK}-")]


def test_a_part_without_validator_is_used_only_under_a_checksum(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]
) -> None:
    def url() -> str:
        return server.serve("/a", server.file(zipped, etag=None, stop_after=4 * CHUNK), server.file(zipped, etag=None))

    assert_right(get(url(), place="Checked"), content)
    assert_right(get(url(), place="Unchecked", checksum=""), content)
    assert [wanted for _, wanted in server.log] == [None, f"bytes={4 * CHUNK}-", None, None]


@pytest.mark.parametrize("checked", [True, False])
def test_a_part_is_continued_at_another_mirror_only_under_a_checksum(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], checked: bool
) -> None:
    first = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), server.status(503))
    second = server.serve("/b", server.file(zipped))
    assert_right(get(first, second, **({} if checked else {"checksum": ""})), content)
    assert server.log[-1] == ("/b", f"bytes={4 * CHUNK}-" if checked else None)


def test_a_part_of_other_bytes_is_thrown_away(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]
) -> None:
    first = server.serve("/a", server.file(bytes(len(zipped)), stop_after=4 * CHUNK), server.status(503))
    second = server.serve("/b", server.file(zipped))
    assert_right(get(first, second), content)
    assert server.log[-2:] == [("/b", f"bytes={4 * CHUNK}-"), ("/b", None)]


def test_a_part_that_is_whole_needs_no_further_byte(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / ".download" / "thing").mkdir(parents=True)
    part = tmp_path / ".download" / "thing" / "thing.zip.part"
    part.write_bytes(zipped)
    assert_right(get(server.serve("/a", server.file(zipped))), content)
    assert server.log == [("/a", f"bytes={len(zipped)}-")]


def test_a_part_that_is_too_long_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / ".download" / "thing").mkdir(parents=True)
    (tmp_path / ".download" / "thing" / "thing.zip.part").write_bytes(zipped + b"more")
    assert_right(get(server.serve("/a", server.file(zipped))), content)


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/x"


HTML = b"<html>This page has moved</html>" * 100


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (lambda server, _: server.serve("/bad", server.status(404)), "answers 404 Not Found"),
        (lambda server, _: server.serve("/bad", server.status(500)), "answers 500 Internal Server Error"),
        (lambda _server, _: closed_port(), "Connection refused"),
        (lambda server, _: server.serve("/bad", server.file(HTML)), "checksum is not|no whole archive"),
        (lambda server, _: server.serve("/bad", server.file(HTML, kind="text/html")), "sends a web page, not a file"),
        (lambda server, body: server.serve("/bad", server.file(body[:-9])), "checksum is not|no whole archive"),
        (lambda server, _: server.serve("/bad", server.file(bytes(6_000_000))), "offers more than 5 MB"),
        (lambda server, _: server.serve("/bad", server.status(302, Location="/bad")), "redirects"),
        (lambda server, body: server.serve("/bad", server.file(body, length=1000)), "checksum is not|no whole archive"),
        (
            lambda server, body: server.serve("/bad", server.file(body, ranges=False, stop_after=99)),
            "broke off",
        ),
    ],
    ids=["404", "500", "closed", "html", "web page", "truncated", "huge", "loop", "short length", "drops"],
)
def test_the_next_mirror_after_one_that_fails(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    content: dict[str, bytes],
    caplog: pytest.LogCaptureFixture,
    bad: Callable[[Any, bytes], str],
    reason: str,
    checked: bool,
) -> None:
    good = server.serve("/good", server.status(307, Location="/moved"))
    server.serve("/moved", server.file(zipped))
    assert_right(get(bad(server, zipped), good, **({} if checked else {"checksum": ""})), content)
    assert [record for record in caplog.records if re.search(reason, record.message)]
    assert server.log[-1][0] == "/moved"


def test_the_next_mirror_after_a_silent_one(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    content: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    patience = fetch_module.TIMEOUT

    def silence(_handler: object) -> None:
        monkeypatch.setattr(fetch_module, "TIMEOUT", patience)  # for the next mirror, should this machine be busy
        server.over.wait(30)

    monkeypatch.setattr(fetch_module, "TIMEOUT", (15, 0.5))
    assert_right(get(server.serve("/a", silence), server.serve("/b", server.file(zipped))), content)
    assert [record for record in caplog.records if "/a does not answer in time" in record.message]
    assert [path for path, _ in server.log] == ["/a", "/b"]


def test_a_length_that_is_too_large(server: Any, get: Callable[..., Path], zipped: bytes) -> None:
    """The end never comes, so that without a checksum nobody can tell whether the file is whole."""
    url = server.serve("/a", server.file(zipped, length=len(zipped) + 1000))
    with pytest.raises(DownloadError, match="connection failed or broke off"):
        get(url, checksum="")


def test_another_size_is_refused_before_the_transfer(server: Any, get: Callable[..., Path], zipped: bytes) -> None:
    sent = threading.Event()
    url = server.serve("/a", server.file(zipped, stop_after=0, then=lambda: sent.wait(0.1)))
    with pytest.raises(DownloadError, match=rf"offers a file of {len(zipped)} bytes, not 17: another one"):
        get(url, size=17)


def test_no_mirror_serves_it(server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path) -> None:
    """The error says why each failed and what else can be done; what came is kept."""
    second = server.url("/b")
    with pytest.raises(DownloadError) as caught:
        get(second)
    assert "is kept" not in str(caught.value)
    first = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), server.status(503))
    with pytest.raises(DownloadError) as caught:
        get(first, second)
    message = str(caught.value)
    for part in (f"{first} answers 503", f"{second} answers 404", "is kept", f"put thing.zip into {tmp_path}"):
        assert part in message
    assert (tmp_path / ".download" / "thing" / "thing.zip.part").stat().st_size == 4 * CHUNK
    assert not (tmp_path / "Thing").exists()


def test_a_part_outlives_a_web_page(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes]
) -> None:
    """The file has moved, and in its place there is a page with status 200: no reason to lose what came before."""
    page = server.file(HTML, kind="text/html; charset=utf-8", ranges=False)
    url = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), page)
    with pytest.raises(DownloadError, match=r"sends a web page, not a file.*is kept"):
        get(url)
    assert_right(get(server.serve("/a", server.file(zipped))), content)
    assert server.log[-1] == ("/a", f"bytes={4 * CHUNK}-")


def test_trust_on_first_use(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    place = get(server.serve("/a", server.file(zipped)), checksum="")
    (warning,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert "no checksum of thing.zip is published" in warning
    assert hashlib.sha256(zipped).hexdigest() in warning
    place.rename(place.with_name("old"))
    other = zipped.replace(b"not wanted", b"not wanteD")
    with pytest.raises(DownloadError, match="its checksum is not sha256:"):
        get(server.serve("/b", server.file(other)), checksum="")
    assert_right(get(server.serve("/a", server.file(zipped)), checksum=""), content)
    record_path(place).write_text("{")
    place.rename(place.with_name("older"))
    with pytest.raises(ValueError, match=r"Thing\.download\.json is damaged"):
        get(server.url("/a"), checksum="")


def test_an_archive_put_there_by_hand(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "thing.zip").write_bytes(b"PK, but truncated")
    with pytest.raises(ValueError, match=r"thing\.zip is not the right file: its checksum is not sha256"):
        get(server.url("/a"))
    (tmp_path / "thing.zip").write_bytes(zipped)
    assert_right(get(server.url("/a")), content)
    assert (tmp_path / "thing.zip").read_bytes() == zipped
    assert server.log == []


def test_what_is_there_but_broken_is_left_alone(server: Any, get: Callable[..., Path], zipped: bytes) -> None:
    place = get(server.serve("/a", server.file(zipped)))
    (place / "Car" / "3.png").unlink()
    with pytest.raises(ValueError, match=r"Thing is there, but broken \(4 of at least 5 files .*move it away"):
        get(server.url("/a"))
    assert (place / "Car" / "2.png").is_file()
    assert len(server.log) == 1


def test_an_archive_of_something_else(server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path) -> None:
    """Without a checksum such a mirror is passed over, and nothing of it is trusted later."""
    url = server.serve("/a", server.file(zipped))
    with pytest.raises(ValueError, match=r"is not The Thing: it has 5 of at least 9 files \*/\*\.png"):
        get(url, at_least={"*/*.png": 9})
    with pytest.raises(DownloadError, match=r"/a it has 5 of at least 9 files \*/\*\.png"):
        get(url, at_least={"*/*.png": 9}, checksum="")
    with pytest.raises(DownloadError, match=r"has no files in a folder 'other', only \['README', 'thing'\]"):
        get(url, inside="other", checksum="")
    assert [path.name for path in tmp_path.iterdir()] == [".download"]


def test_a_single_file(server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path) -> None:
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


def start(item: dict[str, Any], folder: Path, *limit: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(item), str(folder), *limit]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def held(server: Any, item: dict[str, Any], zipped: bytes, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A download in a process of its own that has got a part and waits for more, until ``server.over``."""
    wait = server.file(zipped, stop_after=4 * CHUNK, then=lambda: server.over.wait(60))
    item["mirrors"] = [server.serve("/a", wait, server.file(zipped))]
    process = start(item, tmp_path)
    part = tmp_path / ".download" / "thing" / "thing.zip.part"
    deadline = time.monotonic() + 60
    while not part.is_file() or part.stat().st_size < 4 * CHUNK:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def test_killed_and_started_again(
    server: Any, held: subprocess.Popen[str], item: dict[str, Any], content: dict[str, bytes], tmp_path: Path
) -> None:
    held.send_signal(signal.SIGKILL)
    held.wait()
    came = (tmp_path / ".download" / "thing" / "thing.zip.part").stat().st_size
    assert not (tmp_path / "Thing").exists()
    again = start(item, tmp_path)
    output, errors = again.communicate(timeout=60)
    assert (again.returncode, output) == (0, f"{tmp_path / 'Thing'}\n")
    assert "\r" not in errors  # no bar, because it is no terminal
    assert server.log == [("/a", None), ("/a", f"bytes={came}-")]
    assert_right(tmp_path / "Thing", content)


def test_two_at_once(
    server: Any, held: subprocess.Popen[str], item: dict[str, Any], content: dict[str, bytes], tmp_path: Path
) -> None:
    second = start(item, tmp_path)
    output, errors = second.communicate(timeout=60)
    assert (second.returncode, output) == (2, "")
    assert "is in use by another process" in errors
    server.over.set()
    assert held.wait(timeout=60) == 0
    assert_right(tmp_path / "Thing", content)


def test_killed_before_or_in_unpacking(
    server: Any, get: Callable[..., Path], zipped: bytes, content: dict[str, bytes], tmp_path: Path
) -> None:
    """What such a process leaves: the whole archive, and half a tree."""
    work = tmp_path / ".download" / "thing"
    (work / "unpacked" / "Car").mkdir(parents=True)
    (work / "unpacked" / "Car" / "0.png").write_bytes(b"half")
    (work / "thing.zip").write_bytes(zipped)
    assert_right(get(server.url("/a")), content)
    assert server.log == []


def test_a_full_disk(
    server: Any, item: dict[str, Any], zipped: bytes, content: dict[str, bytes], tmp_path: Path
) -> None:
    """The system refuses to make the part longer; with more space, the rest is fetched."""
    item["mirrors"] = [server.serve("/a", server.file(zipped))]
    failed = start(item, tmp_path, "100000")
    _, errors = failed.communicate(timeout=60)
    assert failed.returncode == 2
    assert re.search(
        r"cannot write .*thing\.zip\.part: file too large; free some space there, or choose .*--to", errors
    )
    again = start(item, tmp_path)
    again.communicate(timeout=60)
    assert again.returncode == 0
    assert server.log[1][1] is not None
    assert_right(tmp_path / "Thing", content)


def test_a_disk_that_fills_in_unpacking(item: dict[str, Any], zipped: bytes, tmp_path: Path) -> None:
    """A file of the archive is larger than the system allows: nothing appears, and the archive stays."""
    item["mirrors"] = ["http://127.0.0.1:1/unused"]
    (tmp_path / "thing.zip").write_bytes(zipped)
    failed = start(item, tmp_path, "20000")
    _, errors = failed.communicate(timeout=60)
    assert failed.returncode == 2
    assert re.search(r"cannot put .*thing\.zip in place: .*File too large; free some space", errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".download", "thing.zip"]
    assert list((tmp_path / ".download" / "thing").iterdir()) == []


def test_more_than_the_disk_holds(
    server: Any, get: Callable[..., Path], zipped: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("bbgm.data.fetch.shutil.disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"0 MB are to come, 0 MB are free; free some space"):
        get(server.serve("/a", server.file(zipped)))


def test_a_folder_that_cannot_be_written(get: Callable[..., Path], tmp_path: Path, server: Any) -> None:
    (tmp_path / ".download").write_text("in the way")
    with pytest.raises(DownloadError, match=r"cannot write to .*choose another folder by --to, or set BBGM_DATA"):
        get(server.url("/a"))


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


def test_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def test_other_places(server: Any, get: Callable[..., Path], zipped: bytes, tmp_path: Path) -> None:
    """What lies where its own archive unpacks it, put there by hand, is found."""
    place = get(server.serve("/a", server.file(zipped)), place="Elsewhere")
    assert get(server.url("/a"), also=("No", "Elsewhere")) == place
    assert len(server.log) == 1


def test_checksums(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert fits(tmp_path / "a", "md5:900150983cd24fb0d6963f7d28e17f72")
    assert fits(tmp_path / "a", "sha256:ba7816bf...")
    assert not fits(tmp_path / "a", "sha256:ba7816be...")
