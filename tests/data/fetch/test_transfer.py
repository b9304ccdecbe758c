"""Servers that misbehave: what arrives is right or nothing, and nothing is fetched twice."""

import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbgm.data.fetch import transfer as fetch_module
from bbgm.data.fetch.download import DownloadError
from bbgm.data.fetch.transfer import CHUNK


@pytest.mark.parametrize("checked", [True, False])
def test_a_dropped_connection_is_taken_up(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], checked: bool
) -> None:
    drops = [server.file(zipped, stop_after=n) for n in (3 * CHUNK, 2 * CHUNK)]
    url = server.serve("/a", *drops, server.file(zipped))
    assert_right(get(url, **({} if checked else {"checksum": ""})))
    assert server.log == [("/a", None), ("/a", f"bytes={3 * CHUNK}-"), ("/a", f"bytes={5 * CHUNK}-")]


def test_another_edition_after_a_drop_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None]
) -> None:
    old = bytes(len(zipped))
    url = server.serve("/a", server.file(old, stop_after=4 * CHUNK, etag='"old"'), server.file(zipped, etag='"new"'))
    assert_right(get(url, checksum=""))
    assert server.log == [("/a", None), ("/a", f"bytes={4 * CHUNK}-")]


def test_a_server_that_ignores_range_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None]
) -> None:
    url = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), server.file(zipped, ranges=False))
    assert_right(get(url))
    assert server.log == [("/a", None), ("/a", f"bytes={4 * CHUNK}-")]


def test_a_part_without_validator_is_used_only_under_a_checksum(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None]
) -> None:
    def url() -> str:
        return server.serve("/a", server.file(zipped, etag=None, stop_after=4 * CHUNK), server.file(zipped, etag=None))

    assert_right(get(url(), place="Checked"))
    assert_right(get(url(), place="Unchecked", checksum=""))
    assert [wanted for _, wanted in server.log] == [None, f"bytes={4 * CHUNK}-", None, None]


@pytest.mark.parametrize("checked", [True, False])
def test_a_part_is_continued_at_another_mirror_only_under_a_checksum(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], checked: bool
) -> None:
    first = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), server.status(503))
    second = server.serve("/b", server.file(zipped))
    assert_right(get(first, second, **({} if checked else {"checksum": ""})))
    assert server.log[-1] == ("/b", f"bytes={4 * CHUNK}-" if checked else None)


def test_a_part_of_other_bytes_is_thrown_away(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None]
) -> None:
    first = server.serve("/a", server.file(bytes(len(zipped)), stop_after=4 * CHUNK), server.status(503))
    second = server.serve("/b", server.file(zipped))
    assert_right(get(first, second))
    assert server.log[-2:] == [("/b", f"bytes={4 * CHUNK}-"), ("/b", None)]


def test_a_part_that_is_whole_needs_no_further_byte(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / ".download" / "thing").mkdir(parents=True)
    part = tmp_path / ".download" / "thing" / "thing.zip.part"
    part.write_bytes(zipped)
    assert_right(get(server.serve("/a", server.file(zipped))))
    assert server.log == [("/a", f"bytes={len(zipped)}-")]


def test_a_part_that_is_too_long_begins_again(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / ".download" / "thing").mkdir(parents=True)
    (tmp_path / ".download" / "thing" / "thing.zip.part").write_bytes(zipped + b"more")
    assert_right(get(server.serve("/a", server.file(zipped))))


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
        (lambda server, _: server.serve("/bad", server.file(HTML)), r"is a web page \(HTML\) that was saved"),
        (lambda server, _: server.serve("/bad", server.file(HTML, kind="text/html")), "sends a web page, not a file"),
        (lambda server, body: server.serve("/bad", server.file(body[:-9])), "checksum is not|not a complete archive"),
        (lambda server, _: server.serve("/bad", server.file(bytes(6_000_000))), "offers more than 5 MB"),
        (lambda server, _: server.serve("/bad", server.status(302, Location="/bad")), "redirects"),
        (
            lambda server, body: server.serve("/bad", server.file(body, length=1000)),
            "checksum is not|not a complete archive",
        ),
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
    assert_right: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
    bad: Callable[[Any, bytes], str],
    reason: str,
    checked: bool,
) -> None:
    good = server.serve("/good", server.status(307, Location="/moved"))
    server.serve("/moved", server.file(zipped))
    assert_right(get(bad(server, zipped), good, **({} if checked else {"checksum": ""})))
    assert [record for record in caplog.records if re.search(reason, record.message)]
    assert server.log[-1][0] == "/moved"


def test_the_next_mirror_after_a_silent_one(
    server: Any,
    get: Callable[..., Path],
    zipped: bytes,
    assert_right: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    patience = fetch_module.TIMEOUT

    def silence(_handler: object) -> None:
        monkeypatch.setattr(fetch_module, "TIMEOUT", patience)  # for the next mirror, should this machine be busy
        server.over.wait(30)

    monkeypatch.setattr(fetch_module, "TIMEOUT", (15, 0.5))
    assert_right(get(server.serve("/a", silence), server.serve("/b", server.file(zipped))))
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
    with pytest.raises(DownloadError, match=rf"offers a file of {len(zipped)} bytes, not 17: it is another file"):
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
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None]
) -> None:
    """The file has moved, and in its place there is a page with status 200: no reason to lose what came before."""
    page = server.file(HTML, kind="text/html; charset=utf-8", ranges=False)
    url = server.serve("/a", server.file(zipped, stop_after=4 * CHUNK), page)
    with pytest.raises(DownloadError, match=r"sends a web page, not a file.*is kept"):
        get(url)
    assert_right(get(server.serve("/a", server.file(zipped))))
    assert server.log[-1] == ("/a", f"bytes={4 * CHUNK}-")
