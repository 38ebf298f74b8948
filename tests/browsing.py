"""A real browser: what the tests of the page and of the script for other sites share."""

import functools
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright

from servers import PATIENCE, Server, eventually, serving

expect.set_options(timeout=1000 * PATIENCE)


def served(workspace: Path, *options: object) -> AbstractContextManager[Server]:
    """A server that lets a browser ask as often as it likes."""
    return serving(workspace, "--rate", 0, *options)


def records_of(server: Server, page: Page, count: int) -> list[dict[str, Any]]:
    """So many records of the person at a page, once they are there."""
    client = page.evaluate("localStorage.getItem('wayword.client_id')")

    def of_client() -> list[dict[str, Any]]:
        found = [record for record in server.records() if record["client_id"] == client]
        return found if len(found) >= count else []

    found: list[dict[str, Any]] = eventually(of_client)
    return found


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
