"""A web server on this machine that behaves as each test wants, and a small thing to download from it."""

import hashlib
import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

Behaviour = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Serves ``pages[path]``, a list of behaviours: one a request, the last one for ever. ``log`` has the requests."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Behaviour]] = {}
        self.log: list[tuple[str, str | None]] = []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.log.append((self.path, self.headers.get("Range")))
                behaviours = outer.pages.get(self.path) or [outer.status(404)]
                self.close_connection = True
                (behaviours.pop(0) if len(behaviours) > 1 else behaviours[0])(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}{path}"

    def serve(self, path: str, *behaviours: Behaviour) -> str:
        self.pages[path] = list(behaviours)
        return self.url(path)

    @staticmethod
    def file(
        body: bytes,
        etag: str | None = '"1"',
        ranges: bool = True,
        stop_after: int | None = None,
        length: int | None = None,
        then: Callable[[], Any] | None = None,
        kind: str = "application/octet-stream",
    ) -> Behaviour:
        """A file. ``stop_after``: drop the connection after so many bytes, and after ``then``; ``length``: lie."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "") if ranges else "")
            same = handler.headers.get("If-Range") in (None, etag)
            start = int(wanted[1]) if wanted and same else 0
            if start >= len(body) > 0 and start:
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{len(body)}")
                handler.end_headers()
                return
            handler.send_response(206 if start else 200)
            if start:
                handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            handler.send_header("Content-Type", kind)
            if etag:
                handler.send_header("ETag", etag)
            handler.send_header("Content-Length", str(len(body) - start if length is None else length))
            handler.end_headers()
            handler.wfile.write(body[start:][:stop_after])
            if then is not None:
                handler.wfile.flush()
                then()

        return answer

    @staticmethod
    def status(code: int, **headers: str) -> Behaviour:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(code)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        return answer


@pytest.fixture
def server() -> Iterator[Server]:
    """A web server; see `Server`."""
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def content() -> dict[str, bytes]:
    """Files of a small data set: names below its folder, and their bytes."""
    generator = np.random.default_rng(0)
    return {f"Car/{k}.png": generator.bytes(30_000) for k in range(5)} | {"note.txt": b"about it"}


@pytest.fixture(scope="session")
def zipped(content: dict[str, bytes]) -> bytes:
    """A .zip archive with the data set as its folder ``thing``, and something beside."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("README", "not wanted")
        for name, data in content.items():
            archive.writestr(f"thing/{name}", data)
    return buffer.getvalue()


@pytest.fixture
def item(zipped: bytes) -> dict[str, Any]:
    """The table of the data set in a registry, all but its mirrors; its checksum is published."""
    return {
        "name": "thing",
        "title": "The Thing",
        "root": "BBGM_DATA",
        "place": "Thing",
        "archive": "thing.zip",
        "inside": "thing",
        "limit_mb": 5,
        "licence": "none",
        "citation": "nobody",
        "checksum": f"sha256:{hashlib.sha256(zipped).hexdigest()}",
        "at_least": {"*/*.png": 5},
    }
