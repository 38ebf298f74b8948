"""The page in a real browser: its tables sort, its own policy lets it, and nothing is wider than the screen."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sample

from wayword.report.exhibits import Column, Interval, Table

pytestmark = pytest.mark.browser

TELL = """
const told = document.createElement("pre");
told.id = "told";
told.textContent = JSON.stringify(%s);
document.body.append(told);
"""


def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (.ci/run installs it: apt-get install chromium)")
    return found


def told(page: Path, *, wide: int = 1280) -> Any:
    """What a script in a page wrote as JSON into the element `told`."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    options += [f"--user-data-dir={page.parent / 'chromium'}", f"--window-size={wide},900"]
    command = [chromium(), *options, "--virtual-time-budget=3000", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    (found,) = re.findall(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(unescape(found))


def with_script(page: Path, value: str) -> Path:
    """A copy of a page that tells the value of an expression; its policy lets this script run, besides its own."""
    script = TELL % value
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = page.read_text().replace("script-src ", f"script-src 'sha256-{digest}' ")
    copy = page.with_name("copy.html")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    return copy


CLICKS = """[0, 1].map((at) => {
  const table = document.querySelector("table");
  const look = () => [
    Array.from(table.tBodies[0].rows, (row) => row.cells[0].textContent).join(""),
    table.tHead.rows[0].cells[at].getAttribute("aria-sort"),
  ];
  return [0, 1, 2].map(() => { table.querySelectorAll("th button")[at].click(); return look(); });
})"""


def test_a_header_sorts_up_then_down_then_as_it_was(tmp_path: Path) -> None:
    values = (
        ("c", Interval(10, 0, 1)),
        ("a", 9.0),
        ("e", None),
        ("d", -1e-7),
        ("b", 9.0),
        ("f", float("nan")),
    )
    sample.write_small(tmp_path, Table("t", (Column("name"), Column("value")), values))
    by_name, by_value = told(with_script(tmp_path / "report.html", CLICKS))
    orders = ["ascending", "descending", None]
    assert by_name == [list(pair) for pair in zip(("abcdef", "fedcba", "caedbf"), orders, strict=True)]
    # Equal values keep their order both ways, and those without a value come last both ways.
    assert by_value == [list(pair) for pair in zip(("dabcef", "cabdef", "caedbf"), orders, strict=True)]


def test_a_script_that_is_not_ours_does_not_run(tmp_path: Path) -> None:
    sample.write_sample(tmp_path)
    page = tmp_path / "report.html"
    wrapper = tmp_path / "wrapper.html"
    page.write_text(page.read_text().replace("</body>", "<script>document.title = 'bad'</script></body>"))
    measure = "[document.querySelector('iframe').contentDocument.title, \
document.querySelector('iframe').contentDocument.querySelectorAll('th button').length]"
    wrapper.write_text(_wrapper(390, measure))
    title, buttons = told(wrapper)
    assert title == sample.TITLE
    assert buttons > 0


def _wrapper(wide: int, value: str) -> str:
    """A page with the report in a frame of any width: a window has a least one."""
    frame = f'<iframe src="report.html" style="border:0;width:{wide}px;height:800px"></iframe>'
    return f"<!DOCTYPE html><body>{frame}<script>onload = () => {{ {TELL % value} }}</script></body>"


@pytest.mark.parametrize("wide", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(wide: int, tmp_path: Path) -> None:
    sample.write_sample(tmp_path)
    (tmp_path / "wrapper.html").write_text(
        _wrapper(
            wide,
            "(({document: page, innerWidth}) => [page.documentElement.scrollWidth, innerWidth, "
            "Array.from(page.querySelectorAll('.scroll'), (box) => box.scrollWidth - box.clientWidth)])"
            "(document.querySelector('iframe').contentWindow)",
        )
    )
    needed, inner, beyond = told(tmp_path / "wrapper.html", wide=1400)
    assert inner == wide
    assert needed <= inner
    assert (max(beyond) > 0) == (wide < 700)


DRAWN = """Array.from(document.querySelectorAll("svg"), (svg) => {
  const frame = svg.getBoundingClientRect();
  const boxes = Array.from(svg.querySelectorAll("text"), (text) => [text.textContent, text.getBoundingClientRect()]);
  const bad = [];
  boxes.forEach(([name, a], at) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1) bad.push("cut: " + name);
    for (const [other, b] of boxes.slice(at + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 4) bad.push(name + " / " + other);
    }
  });
  return bad;
}).flat()"""


def test_with_the_browsers_own_fonts_no_text_of_a_figure_lies_over_another(tmp_path: Path) -> None:
    drawn = (sample.positions(), sample.training(), sample.policies(), sample.truth())
    svgs = "".join(one.svg[one.svg.index("<svg") :] for one in drawn)
    page = tmp_path / "figures.html"
    page.write_text(f"<!DOCTYPE html><body>{svgs}<script>{TELL % DRAWN}</script></body>")
    assert told(page) == []
