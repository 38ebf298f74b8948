"""A real browser and a real server: what the tests of the page and of the script for other sites share."""

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright

PATIENCE = 60.0
"""Seconds after which something that is waited for is taken not to come."""
expect.set_options(timeout=1000 * PATIENCE)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def eventually(happened: Callable[[], Any]) -> Any:
    """What it gives, as soon as that is true."""
    until = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)
    return found


class Server:
    """`wayword serve` in a process of its own, on a port that stays the same."""

    def __init__(self, workspace: Path, *options: str) -> None:
        self.workspace, self.port = workspace, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "wayword",
            "serve",
            workspace,
            "--port",
            self.port,
            "--rate",
            0,
        ]
        self._command += options
        self._log = workspace.parent / f"serve-{self.port}.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [str(word) for word in self._command]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        try:
            with urlopen(f"{self.address}/healthz") as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """As when the machine goes: no request is answered to its end."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def get(self, name: str, **parameters: object) -> Any:
        """What it answers to a program."""
        try:
            with urlopen(f"{self.address}/{name}?{urlencode(parameters)}") as answer:  # noqa: S310
                return json.load(answer)
        except HTTPError as refused:
            return json.load(refused)

    def queries(self, prefix: str, **parameters: object) -> list[str]:
        """The completions that it gives."""
        return [one["query"] for one in self.get("complete", prefix=prefix, **parameters)["completions"]]

    def records(self) -> list[dict[str, Any]]:
        """The events and queries that are on disk, in their order."""
        lines = [
            line
            for file in sorted((self.workspace / "events").glob("*.ndjson"))
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        assert all(json.loads(line)["index"]["_index"].startswith("ubi_") for line in lines[::2])
        return [json.loads(line) for line in lines[1::2]]

    def records_of(self, page: Page, count: int) -> list[dict[str, Any]]:
        """So many records of the person at a page, once they are there."""
        client = page.evaluate("localStorage.getItem('wayword.client_id')")

        def of_client() -> list[dict[str, Any]]:
            found = [record for record in self.records() if record["client_id"] == client]
            return found if len(found) >= count else []

        found: list[dict[str, Any]] = eventually(of_client)
        return found


@contextmanager
def served(workspace: Path, *options: str) -> Iterator[Server]:
    """A server for as long as it is needed."""
    server = Server(workspace, *options)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium for as long as it is needed."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (.ci/run installs it: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, address: str, *, before: str = "", **context: Any) -> Iterator[Page]:
    """A page of a new person; `before` is a script that runs before its own. No script of it may fail."""
    person = browser.new_context(**context)
    person.set_default_timeout(1000 * PATIENCE)
    if before:
        person.add_init_script(before)
    page, failures = person.new_page(), list[str]()
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(address)
    yield page
    person.close()
    assert failures == []


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """The address of another site, with the files of a folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


def box(found: Locator) -> FloatRect:
    """Where it is on the screen."""
    place = found.bounding_box()
    assert place
    return place


def options(page: Page) -> list[str]:
    """The completions that are to be seen, in the order of the arrow keys."""
    return page.locator("wayword-option:visible wayword-text").all_text_contents()


def active(page: Page) -> str | None:
    """The text of the option that is active for a screen reader."""
    found: str | None = page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
        "?.querySelector('wayword-text').textContent"
    )
    return found


def shown(page: Page, expected: list[str]) -> None:
    """Wait until these completions are to be seen."""
    expect(page.locator("wayword-option:visible wayword-text")).to_have_text(expected)


def accessible(page: Page) -> list[str]:
    """What axe-core finds wrong, contrast included."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((results) => results.violations)")
    return [f"{one['id']}: {node['html']} {node['failureSummary']}" for one in found for node in one["nodes"]]
