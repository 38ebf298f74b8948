"""The page in a real browser, with a real server: keys, mouse and touch, what it says, and when the server is gone."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from browsing import accessible, active, box, opened, options, records_of, served, shown
from runs import Made
from servers import Server

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='bad'\">"
HEBREW = "נגן וידאו"


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    workspace = undisturbed.copy(tmp_path_factory.mktemp("page") / "workspace")
    pins = {"pin": {"markup": [HOSTILE], "hebrew": [HEBREW]}}
    (workspace / "index" / "overrides.json").write_text(json.dumps(pins))
    with served(workspace) as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with opened(browser, server.address) as found:
        yield found


def both(server: Server, prefix: str, mode: str = "any", k: int = 8) -> list[str]:
    """The two lists that the page shows."""
    lists = [server.queries(prefix, mode=mode, k=k, policy=policy) for policy in ("served", "popular")]
    return [*lists[0], *lists[1]]


def typed(page: Page, text: str, expected: list[str]) -> None:
    page.locator("#search").press_sequentially(text)
    shown(page, expected)


# --- typing


def test_typing_shows_what_the_service_gives_for_both_policies(page: Page, server: Server) -> None:
    field = page.get_by_role("combobox", name="Search")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-expanded", "false")
    typed(page, "vi", both(server, "vi"))
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(field).to_have_attribute("aria-autocomplete", "list")
    assert field.get_attribute("aria-controls") == page.get_by_role("listbox").get_attribute("id")
    expect(page.get_by_role("group", name="Most popular").get_by_role("option")).to_have_count(
        len(server.queries("vi", k=8, policy="popular"))
    )
    expect(page.locator("#status")).to_have_text(f"{len(both(server, 'vi'))} completions.")
    expect(page.locator("#status")).to_have_attribute("aria-live", "polite")


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("video player", "vid", "vid[eo player]"),
        ("Video player", "VIDEO ", "Video [player]"),
        ("player", "video pl", "pl[ayer]"),
        ("audio video", "vid", "[audio ]vid[eo]"),
        ("mpv", "vid", "[mpv]"),
        ("video", "video", "video"),
        ("İstanbul", "i", "[İstanbul]"),
        ("a.b*c", ".*", "[a.b*c]"),
    ],
)
def test_the_rest_of_a_completion_is_told_from_what_was_typed(
    query: str, text: str, marked: str, page: Page
) -> None:
    pieces: list[dict[str, Any]] = page.evaluate(
        "async ([query, text]) => (await import('/assets/combobox.js')).parts(query, text)", [query, text]
    )
    assert "".join(piece["text"] if piece["typed"] else f"[{piece['text']}]" for piece in pieces) == marked


def test_the_rest_is_emphasised(page: Page, server: Server) -> None:
    typed(page, "vide", both(server, "vide"))
    option = page.get_by_role("option", name="video player", exact=True).first
    rest = option.locator("wayword-rest")
    expect(rest).to_have_text("o player")
    weights = [one.evaluate("(e) => Number(getComputedStyle(e).fontWeight)") for one in (option, rest)]
    assert weights[0] < weights[1]


def test_what_is_not_known_is_said_and_can_still_be_searched(page: Page) -> None:
    page.locator("#search").fill("qqqq zzzz 7")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_text("The index has no result page for this query.")
    assert page.locator("#search").input_value() == "qqqq zzzz 7"


# --- keys


def test_arrow_keys_go_through_both_lists_and_around_and_leave_the_text(page: Page, server: Server) -> None:
    expected = both(server, "vi")
    typed(page, "vi", expected)
    assert active(page) is None
    walked = []
    for _ in range(len(expected) + 1):
        page.keyboard.press("ArrowDown")
        walked.append(active(page))
    assert walked == [*expected, expected[0]]
    page.keyboard.press("ArrowUp")
    assert active(page) == expected[-1]
    expect(page.locator("[role=option][aria-selected=true]")).to_have_count(1)
    assert page.locator("#search").input_value() == "vi"


def test_home_and_end_move_in_the_text(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.selectionStart") == 0
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.selectionStart") == 2


def test_enter_picks_what_is_active(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = active(page) or ""
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Results for {second}")).to_be_visible()
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.locator("#search")).to_have_value(second)


def test_enter_searches_for_what_was_typed_even_where_the_mouse_rests_on_the_list(
    page: Page, server: Server
) -> None:
    query = server.queries("vi", policy="popular")[0]
    typed(page, query, both(server, query))
    page.get_by_role("option").nth(1).hover()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Results for {query}")).to_be_visible()


def test_escape_closes_and_then_clears(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.locator("#search")).to_have_value("vi")
    expect(page.locator("#search")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")


def test_escape_brings_back_the_results_that_were_there(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="Results for")
    before = heading.text_content()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Where this query leads")).to_be_visible()
    page.keyboard.press("Escape")
    expect(heading).to_have_text(before or "")


def test_tab_moves_on(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Search")).to_be_focused()
    expect(page.locator("#search")).to_have_value("vi")


# --- mouse and touch


def test_the_mouse_shows_where_a_completion_leads_and_picks_it(page: Page, server: Server) -> None:
    expected = both(server, "vi")
    typed(page, "vi", expected)
    third = page.get_by_role("option").nth(2)
    third.hover()
    expect(page.get_by_role("heading", name=f"Where this query leads {expected[2]}")).to_be_visible()
    assert active(page) is None
    third.click()
    expect(page.get_by_role("heading", name=f"Results for {expected[2]}")).to_be_visible()
    expect(page.locator("#search")).to_be_focused()


@pytest.mark.parametrize("wide", [320, 390])
def test_on_a_phone_everything_fits_and_can_be_touched(wide: int, browser: Browser, server: Server) -> None:
    phone: dict[str, Any] = {"viewport": {"width": wide, "height": 844}, "has_touch": True, "is_mobile": True}
    with opened(browser, server.address, **phone) as page:
        expected = both(server, "vi", k=5)
        typed(page, "vi", expected)
        assert all(box(option)["height"] >= 44 for option in page.get_by_role("option").all())
        lists = [box(group) for group in page.get_by_role("group").all()[-2:]]
        assert lists[1]["y"] >= lists[0]["y"] + lists[0]["height"]
        _fits(page)
        page.get_by_role("option").nth(1).tap()
        expect(page.get_by_role("heading", name=f"Results for {expected[1]}")).to_be_visible()
        buttons = page.locator(".results button, #form button, #modes label").all()
        assert all(box(button)["height"] >= 44 for button in buttons)
        _fits(page)


def _fits(page: Page) -> None:
    needed, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert needed <= there


def test_on_a_wide_screen_the_lists_stand_beside_each_other(page: Page, server: Server) -> None:
    typed(page, "vi", both(server, "vi"))
    one, other = (box(group) for group in page.get_by_role("group").all()[-2:])
    assert one["y"] == other["y"]
    assert one["x"] + one["width"] <= other["x"]


# --- what is shown


def test_the_mode_changes_what_is_shown(page: Page, server: Server) -> None:
    any_query, going_on = both(server, "vi"), both(server, "vi", "prefix")
    assert any_query != going_on
    typed(page, "vi", any_query)
    page.get_by_label("Only completions of what you typed").check()
    shown(page, going_on)
    assert all(query.startswith("vi") for query in options(page))
    page.get_by_label("Any query that leads there").check()
    shown(page, any_query)


def test_wanted_documents_are_marked_with_their_share(page: Page, server: Server) -> None:
    expected = both(server, "vi")
    typed(page, "vi", expected)
    page.keyboard.press("ArrowDown")
    told = server.get("/explain", prefix="vi", query=expected[0]).json
    expect(page.get_by_role("heading", name=f"Where this query leads {expected[0]}")).to_be_visible()
    rows = page.locator(".results li")
    expect(rows).to_have_count(len(told["results"]))
    assert any(line["wanted"] >= 0.01 for line in told["results"])
    for row, line in zip(rows.all(), told["results"], strict=True):
        expect(row.locator(".title")).to_have_text(line["title"] or line["document"])
        told_share = "".join(row.locator(".wanted, .hardly").all_text_contents())
        assert told_share.startswith("✓wanted ") == (line["wanted"] >= 0.01)
        assert bool(told_share) == (line["wanted"] > 0)
        if share := re.search(r" ?(\d[\d.]*)\u202f%$", told_share):
            assert float(share[1]) == pytest.approx(100 * line["wanted"], abs=0.5)
    seen = sum(line["wanted"] * line["exposure"] for line in told["results"])
    facts = page.locator(".worth strong").all_text_contents()
    assert facts[0] == f"{told['utility']:.2f}"
    assert float(facts[1].split("\u202f")[0]) == pytest.approx(100 * seen, abs=0.5)
    reason = page.locator("#reason").text_content() or ""
    assert "Its results are what people who type this want." in reason
    assert f"go on to {told['becomes'][0]['query']}" in reason


def test_a_typing_mistake_is_given_as_the_reason(page: Page, server: Server) -> None:
    typed(page, "vidoe", both(server, "vidoe"))
    expect(page.locator("#reason")).to_contain_text("A typing mistake in the text was corrected.")


def test_markup_in_a_query_is_text(page: Page) -> None:
    page.locator("#search").press_sequentially("markup")
    expect(page.get_by_role("option").first).to_contain_text(HOSTILE)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("no result page")
    assert page.locator("main img").count() == 0
    assert page.title() == "Wayword"


def test_what_is_written_from_right_to_left_stays_so(page: Page) -> None:
    page.locator("#search").press_sequentially("hebrew")
    text = page.locator("wayword-text", has_text=HEBREW)
    expect(text).to_have_css("direction", "rtl")
    page.locator("#search").fill(HEBREW)
    expect(page.locator("#search")).to_have_css("direction", "rtl")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_roles_and_contrast_are_right(scheme: str, browser: Browser, server: Server) -> None:
    with opened(browser, server.address, color_scheme=scheme, reduced_motion="reduce") as page:
        assert accessible(page) == []
        expected = both(server, "vi")
        typed(page, "vi", expected)
        page.keyboard.press("ArrowDown")
        page.get_by_role("option").nth(2).hover()
        expect(page.get_by_role("heading", name=f"Where this query leads {expected[2]}")).to_be_visible()
        assert accessible(page) == []
        page.keyboard.press("Enter")
        page.locator(".results button").first.click()
        expect(page.locator("[data-opened]")).to_have_count(1)
        assert accessible(page) == []
        paper = page.locator("body").evaluate("(e) => getComputedStyle(e).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) < 384) == (scheme == "dark")
        option = page.locator("wayword-option").first
        assert option.evaluate("(e) => getComputedStyle(e).transitionDuration") == "0s"


def test_nothing_comes_from_elsewhere_and_nothing_is_forbidden(browser: Browser, server: Server) -> None:
    told: list[str] = []
    with opened(browser, "about:blank") as page:
        page.on("console", lambda message: told.append(message.text))
        page.on("request", lambda request: told.append(request.url))
        page.goto(server.address)
        typed(page, "vi", both(server, "vi"))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".results li").first).to_be_visible()
    assert [one for one in told if not one.startswith(server.address)] == []


def test_searches_can_be_gone_back_to_and_sent_to_others(
    page: Page, browser: Browser, server: Server
) -> None:
    one, other = server.queries("vi", policy="popular")[:2]
    for query in (one, other):
        page.locator("#search").fill(query)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=f"Results for {query}", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name=f"Results for {one}", exact=True)).to_be_visible()
    expect(page.locator("#search")).to_have_value(one)
    expect(page).to_have_title(f"{one} – Wayword")
    page.locator(".results button").first.click()
    found = [record for record in records_of(server, page, 3) if "user_query" in record]
    assert [record.get("action_name") for record in found] == [None, None, "click"]
    assert found[2]["query_id"] == found[0]["query_id"] != found[1]["query_id"]
    with opened(browser, page.url) as theirs:
        expect(theirs.get_by_role("heading", name=f"Results for {one}", exact=True)).to_be_visible()
    page.go_back()
    expect(page.locator("#search")).to_have_value("")
    expect(page.locator("#intro")).to_be_visible()


# --- answers that are late, and none at all


@pytest.mark.parametrize("aborted", [True, False])
def test_an_answer_that_is_late_does_not_replace_a_newer_one(
    aborted: bool, browser: Browser, server: Server
) -> None:
    """Also where a request that was given up is answered all the same."""
    deaf = "" if aborted else "const ask = fetch; window.fetch = (url, o) => ask(url, {...o, signal: null});"
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with opened(browser, server.address, before=deaf) as page:
        page.route(re.compile(r"/complete\?prefix=v&"), hold)
        with page.expect_request(re.compile(r"prefix=v&.*policy=popular")):
            page.keyboard.press("v")
        typed(page, "ideo", expected := both(server, "video"))
        assert expected != both(server, "v")
        for route in held:
            if aborted:
                route.abort()
                continue
            with page.expect_response(route.request.url) as late:
                route.continue_()
            late.value.finished()
        page.evaluate(
            "fetch('/healthz').then((answer) => answer.text())"
        )  # what came before has been seen to
        assert options(page) == expected
        expect(page.locator("#notice")).to_have_text("")
        assert len(held) == 2


def test_a_server_that_goes_is_missed_calmly_and_found_again(
    browser: Browser, undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    with served(workspace) as server, opened(browser, server.address) as page:
        expected = both(server, "video pl")
        typed(page, "vid", both(server, "vid"))
        server.stop(signal.SIGKILL)
        page.locator("#search").press_sequentially("eo pl")
        expect(page.locator("#notice")).to_contain_text("The service cannot be reached just now.")
        expect(page.locator("#search")).to_have_value("video pl")
        expect(page.locator("#search")).to_have_attribute("aria-expanded", "false")
        assert accessible(page) == []
        server.start()
        shown(page, expected)  # by itself
        expect(page.locator("#notice")).to_have_text("")
        expect(page.locator("#search")).to_have_value("video pl")


def test_a_search_that_met_no_server_is_answered_when_it_is_back(
    browser: Browser, undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    with served(workspace) as server, opened(browser, server.address) as page:
        expected = both(server, "vi")
        typed(page, "vi", expected)
        server.stop(signal.SIGKILL)
        page.keyboard.press("ArrowUp")  # where the first one leads may be known already
        page.keyboard.press("Enter")
        expect(page.locator("#notice")).to_contain_text("cannot be reached")
        server.start()
        expect(page.get_by_role("heading", name=f"Results for {expected[-1]}")).to_be_visible()
        found = records_of(server, page, 4)  # shown twice, picked, searched: none was lost
        assert {record.get("query_id") for record in found} == {found[0]["query_id"]}
