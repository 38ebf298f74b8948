"""The picture of found against keystrokes, in a real browser: what is where, in which words, and when it is hidden."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect

from browsing import accessible, box, opened, served
from runs import Made
from servers import Server
from wayword.index.evaluation_file import FILE, CurvePoint, Evaluation, PolicyPoint

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='bad'\">"
CROWDED = Evaluation(
    [
        PolicyPoint("popular", 0.8801, 0.2463),
        PolicyPoint("expected", 0.8653, 0.2896),
        PolicyPoint("wayword", 0.8799, 0.2470),
        PolicyPoint("random", 0.8080, 0.5602),
        PolicyPoint("retriever", 0.8722, 0.3108),
        PolicyPoint("unbiased", 0.8655, 0.3014),
    ],
    [
        CurvePoint(0.1, 0.9790, 0.4131),
        CurvePoint(0.2, 0.9640, 0.3354),
        CurvePoint(0.4, 0.9082, 0.2671),
        CurvePoint(0.8, 0.8852, 0.2503),
    ],
    2.2627,
    ["People find more with wayword.", "People who read everything do not."],
)
SPREAD = Evaluation(
    [PolicyPoint("popular", 0.9, 0.3), PolicyPoint("wayword", 0.95, 0.35), PolicyPoint(HOSTILE, 0.8, 0.6)],
    [CurvePoint(1.0, 0.93, 0.32), CurvePoint(0.5, 0.97, 0.4)],
    0.8,
    [HOSTILE],
)
ONE = Evaluation([PolicyPoint("popular", 1.0, 0.5)])


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(undisturbed.copy(tmp_path_factory.mktemp("picture") / "workspace")) as found:
        yield found


@pytest.fixture
def root(server: Server) -> Path:
    return server.workspace / "index"


def boxes(page: Page, selector: str) -> list[FloatRect]:
    """Where each of these is."""
    return [box(found) for found in page.locator(f"#evaluation {selector}").all()]


def letters(page: Page) -> list[FloatRect]:
    """Where the letters of each label are: a box of the browser has the halo around them and the line spacing too."""
    em, halo = 13, 1.5
    return [
        {
            "x": one["x"] + halo,
            "width": one["width"] - 2 * halo,
            "y": one["y"] + (one["height"] - em) / 2,
            "height": em,
        }
        for one in boxes(page, ".label")
    ]


def overlap(one: FloatRect, other: FloatRect) -> float:
    wide = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    high = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    return max(wide, 0) * max(high, 0)


def middle(page: Page, policy: str) -> tuple[float, float]:
    place = box(page.locator(f"#evaluation [data-policy={policy}]"))
    return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


def test_points_are_where_their_numbers_say(browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address) as page:
        image = page.get_by_role("img", name="What people find and what they type with each policy")
        expect(image).to_be_visible()
        at = {point.policy: middle(page, point.policy) for point in CROWDED.policies}
        first, last = CROWDED.policies[0], CROWDED.policies[3]
        (x0, y0), (x1, y1) = at["popular"], at["random"]
        assert x1 > x0
        assert y1 > y0  # finds less: further down
        for point in CROWDED.policies:
            across = (point.keystrokes - first.keystrokes) / (last.keystrokes - first.keystrokes)
            down = (point.found - first.found) / (last.found - first.found)
            expected = (x0 + across * (x1 - x0), y0 + down * (y1 - y0))
            assert math.dist(at[point.policy], expected) < 1
        expect(page.locator("#evaluation .dot")).to_have_count(len(CROWDED.curve))
        ring = box(page.locator("#evaluation .served"))
        assert ring["x"] < at["wayword"][0] < ring["x"] + ring["width"]
        assert ring["y"] < at["wayword"][1] < ring["y"] + ring["height"]


def test_axes_have_few_round_ticks_and_plain_words(browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address) as page:
        expect(page.locator("#evaluation .title")).to_have_text(
            ["found, 1 = typing on without suggestions", "keystrokes, 1 = typing everything"]
        )
        ticks = page.locator("#evaluation .tick").all_text_contents()
        assert ticks[:4] == ["0.80", "0.85", "0.90", "0.95"]
        assert ticks[4:] == ["0.25", "0.30", "0.35", "0.40", "0.45", "0.50", "0.55"]
        expect(page.locator("#evaluation .verdict")).to_have_text("People find more with wayword.")
        expect(page.locator("#evaluation figcaption")).to_contain_text(
            "keystroke values from 0.1 to 0.8 (1: to save all typing is worth a search found); "
            "the ring marks the value that is served, 2.26."
        )


@pytest.mark.parametrize("wide", [320, 390, 700, 1200])
@pytest.mark.parametrize("evaluation", [CROWDED, SPREAD, ONE], ids=["crowded", "spread", "one"])
def test_no_label_hides_another_or_a_point_at_any_width(
    wide: int, evaluation: Evaluation, browser: Browser, server: Server, root: Path
) -> None:
    evaluation.save(root)
    with opened(browser, server.address, viewport={"width": wide, "height": 900}) as page:
        expect(page.locator("#evaluation svg")).to_be_visible()
        labels = letters(page)
        assert "".join(page.locator("#evaluation .label").all_text_contents()).count("most popular") == 1
        for one, other in itertools.combinations(labels, 2):
            assert overlap(one, other) == 0
        for label, point in itertools.product(labels, boxes(page, ".policy")):
            assert overlap(label, point) == 0
        if evaluation is not SPREAD:  # a name that is wider than a phone is cut
            picture = box(page.locator("#evaluation svg"))
            inside = [overlap(label, picture) for label in labels]
            assert inside == pytest.approx([label["width"] * label["height"] for label in labels])
        needed, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert needed <= there


def test_it_is_drawn_again_for_another_width(browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address, viewport={"width": 1200, "height": 900}) as page:
        expect(page.locator("#evaluation svg")).to_have_attribute("width", "640")
        page.set_viewport_size({"width": 400, "height": 900})
        expect(page.locator("#evaluation svg")).to_have_attribute("width", "368")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_roles_and_contrast_are_right(scheme: str, browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address, color_scheme=scheme) as page:
        expect(page.locator("#evaluation svg")).to_be_visible()
        assert accessible(page) == []
        ink, paper = (
            page.locator(selector).first.evaluate(f"(e) => getComputedStyle(e).{name}")
            for selector, name in (("#evaluation .label", "fill"), ("body", "backgroundColor"))
        )
        assert ink != paper


def test_screen_readers_get_the_numbers(browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address) as page:
        table = page.get_by_role("table", name="Found and keystrokes of each policy")
        rows = [row.locator("th, td").all_text_contents() for row in table.get_by_role("row").all()]
        assert rows[:2] == [["policy", "found", "keystrokes"], ["most popular", "0.880", "0.246"]]
        assert rows[7] == ["wayword, keystroke value 0.1", "0.979", "0.413"]
        assert len(rows) == 1 + len(CROWDED.policies) + len(CROWDED.curve)
        description = page.locator("#picture-summary").text_content() or ""
        assert "random finds 0.808 with 0.560 of the keystrokes" in description


def test_markup_in_a_name_is_text(browser: Browser, server: Server, root: Path) -> None:
    SPREAD.save(root)
    with opened(browser, server.address) as page:
        expect(page.locator("#evaluation .verdict")).to_have_text(HOSTILE)
        assert page.locator("main img").count() == 0
        assert page.title() == "Wayword"


def test_it_goes_when_something_is_typed_and_comes_back(browser: Browser, server: Server, root: Path) -> None:
    CROWDED.save(root)
    with opened(browser, server.address) as page:
        picture = page.locator("#evaluation")
        expect(picture).to_be_visible()
        page.locator("#search").press_sequentially("vi")
        expect(picture).to_be_hidden()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(picture).to_be_visible()
    query = quote(server.queries("vi", policy="popular")[0])
    with opened(browser, f"{server.address}/?q={query}") as page:
        expect(page.get_by_role("heading", name="Results for")).to_be_visible()
        expect(page.locator("#evaluation")).to_be_hidden()
        page.locator("#search").fill("")
        expect(page.locator("#evaluation svg")).to_be_visible()


@pytest.mark.parametrize("content", [None, "broken", '{"policies": []}'])
def test_without_an_evaluation_nothing_is_shown(
    content: str | None, browser: Browser, server: Server, root: Path
) -> None:
    (root / FILE).unlink(missing_ok=True)
    if content is not None:
        (root / FILE).write_text(content)
    with opened(browser, "about:blank") as page:
        with page.expect_response("**/evaluation"):
            page.goto(server.address)
        expect(page.locator("#intro")).to_be_visible()
        expect(page.locator("#evaluation")).to_be_hidden()
        expect(page.locator("#notice")).to_have_text("")
        assert accessible(page) == []
