"""JupyterLab with copies of the notebooks, and a page of a headless Chromium that keeps what it reports.

The browser is Debian's ``chromium``, or the one that ``BBGM_CHROMIUM`` names; without one, the tests are skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START = 300
"""Seconds in which JupyterLab must have started."""
PATIENCE = 300_000
"""Milliseconds that the browser waits for something at most: long, as the machine may be busy."""
SETTINGS = {
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    "notebook-extension/tracker": '{"windowingMode": "none"}',
}
"""JupyterLab asks nothing on the internet, and draws all cells."""


@dataclass
class Lab:
    """A running JupyterLab.

    Attributes:
        url: of its start page, with the token.
        folder: where its notebooks are.
    """

    url: str
    folder: Path

    def page_of(self, notebook: str) -> str:
        """The address of a notebook, in a workspace of its own: no other notebook is open."""
        start, _, token = self.url.partition("?")
        return f"{start}/workspaces/{uuid4().hex}/tree/{notebook}?{token}"


@dataclass
class Seen:
    """What a page reported: errors and requests that left this machine."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Listen to a page."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        if not re.match(r"(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:", request.url):
            self.outside.append(request.url)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program."""
    found = os.environ.get("BBGM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one with BBGM_CHROMIUM")
    return found


@pytest.fixture(scope="module")
def lab(chromium: str, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on this machine, with settings and folders of its own."""
    root = tmp_path_factory.mktemp("lab")
    folder = root / "notebooks"
    shutil.copytree(project / "notebooks", folder)
    for name, content in SETTINGS.items():
        path = root / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    variables = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "BBGM_RESULTS": "results",
    }
    environment = os.environ | {name: str(root / value) for name, value in variables.items()}
    command = [sys.executable, "-m", "bbgm.base.account", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0"]
    command += ["--allow-root", f"--ServerApp.root_dir={folder}"]
    log = root / "log"
    with log.open("wb") as stream:
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=stream, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + START
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/lab\?token=\w+", log.read_text(errors="replace"))):
            assert server.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.2)
        yield Lab(found[0], folder)
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


# Not for the whole session: as long as Playwright is there, no other test of this process can start a loop of asyncio.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        context = program.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
        context.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield context
        program.close()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def page(browser: BrowserContext, seen: Seen, pictures: Path) -> Iterator[Page]:
    page = browser.new_page()
    seen.watch(page)
    yield page
    page.screenshot(path=pictures / "last.png")  # what a test that failed had before it
    page.close()


@pytest.fixture(scope="session")
def pictures(project: Path) -> Path:
    """Where screenshots are kept, to be looked at: build/browser."""
    folder = project / "build" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
