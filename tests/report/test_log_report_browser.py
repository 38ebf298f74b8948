"""The page about a log in a real browser: accessible, as wide as the screen, and readable without its script."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from made_report import made, sessions

from browsing import accessible, opened
from wayword.report.log_report import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(made()), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: "Browser", address: str, scheme: Literal["light", "dark"]) -> None:
    with opened(browser, address, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert accessible(page) == []


@pytest.mark.parametrize("wide", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(browser: "Browser", address: str, wide: int) -> None:
    with opened(browser, address, viewport={"width": wide, "height": 800}) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        cut = page.evaluate(
            """[...document.querySelectorAll("caption")].filter((one) =>
                 one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent)"""
        )
        assert cut == []


def test_without_its_script_all_is_there_and_details_open(browser: "Browser", address: str) -> None:
    with opened(browser, address, java_script_enabled=False) as page:
        assert page.get_by_role("heading", name="Where it hurts").is_visible()
        last = page.locator("details.example").nth(4)
        assert not last.locator("ol").first.is_visible()
        last.locator("summary").click()
        assert last.locator("ol").first.is_visible()


def test_paper_has_the_lists_of_closed_details_too(browser: "Browser", address: str) -> None:
    with opened(browser, address) as page:
        last = page.locator("details.example").nth(4)
        assert page.evaluate("(one) => one.offsetHeight", last.element_handle()) < 100
        page.emulate_media(media="print")
        assert page.evaluate("(one) => one.offsetHeight", last.element_handle()) > 200


@pytest.mark.parametrize("popular", [(0.9, 0.33, 0.7), (0.9309, 0.3202, 0.7), (0.931, 0.32, 0.7)])
def test_no_text_of_a_chart_is_cut_or_lies_over_another(
    browser: "Browser", tmp_path: Path, popular: tuple[float, float, float]
) -> None:
    """Also where two policies are at nearly the same point, or at one."""
    file = tmp_path / "report.html"
    file.write_text(render(made(sessions=sessions(popular))), encoding="utf-8")
    with opened(browser, file.as_uri()) as page:
        found = page.evaluate(
            """[...document.querySelectorAll("svg.chart")].flatMap((svg) => {
              const frame = svg.getBoundingClientRect(), bad = [];
              const texts = [...svg.querySelectorAll("text")];
              const boxes = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
              boxes.forEach(([name, a], at) => {
                if (a.left < frame.left - 1 || a.right > frame.right + 1) bad.push(`cut: ${name}`);
                for (const [other, b] of boxes.slice(at + 1)) {
                  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                  if (wide > 1 && high > 4) bad.push(`${name} / ${other}`);
                }
              });
              return bad;
            })"""
        )
        assert found == []
