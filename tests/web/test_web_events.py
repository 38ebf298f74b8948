"""What the page tells of a search is on disk, in the form of UBI, and can be refused."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from browsing import opened, records_of, served, shown
from runs import Made
from servers import Server, eventually
from wayword import read_ubi

pytestmark = pytest.mark.browser

NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
}"""

DISPLAYS = """() => {
  window.displays = 0;
  const list = document.querySelector("#completions");
  new MutationObserver(() => window.displays++).observe(list, { childList: true });
}"""


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(undisturbed.copy(tmp_path_factory.mktemp("events") / "workspace")) as found:
        yield found


def both(server: Server, prefix: str) -> list[str]:
    served_list, popular = (server.queries(prefix, k=8, policy=policy) for policy in ("served", "popular"))
    return [*served_list, *popular]


def typed(page: Page, server: Server, text: str) -> None:
    page.locator("#search").fill(text)
    shown(page, both(server, text))


def letter_by_letter(page: Page, server: Server, text: str) -> None:
    """Type a text and wait after each letter until its lists are displayed."""
    page.evaluate(DISPLAYS)
    page.locator("#search").focus()
    for end in range(1, len(text) + 1):
        page.keyboard.type(text[end - 1])
        page.wait_for_function("(count) => window.displays === count", arg=end)
        shown(page, both(server, text[:end]))


def completion_of(record: dict[str, Any]) -> dict[str, Any]:
    return dict(record["event_attributes"]["completion"])


def session_of(record: dict[str, Any]) -> str | None:
    """The typing session of an event or of a query record."""
    if "action_name" in record:
        return completion_of(record)["typing_session"]
    return record.get("query_attributes", {}).get("typing_session")


def lists_of(log: Path, session: str | None) -> list[tuple[Any, ...]]:
    names = ["position_in_session", "prefix", "policy", "shown", "taken", "query", "search_id"]
    rows = pq.read_table(log, filters=[("typing_session", "==", session)]).select(names).to_pylist()
    return [tuple(row.values()) for row in rows]


def test_a_search_and_all_that_led_to_it_are_on_disk_and_become_a_log(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    with opened(browser, server.address) as page:
        typed(page, server, "vi")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator(".results button").nth(1).click()
        one, other, picked, searched, clicked = records_of(server, page, 5)
    answer = server.get("/complete", prefix="vi", k=8).json
    told = server.get("/explain", prefix="vi", query=answer["completions"][1]["query"]).json
    queries = [completion["query"] for completion in answer["completions"]]
    completion = {name: answer[name] for name in ("prefix", "mode", "policy", "index", "arm")}
    completion["typing_session"] = session_of(one)
    assert one["action_name"] == other["action_name"] == "completions_shown"
    assert one["event_attributes"]["completion"] == {**completion, "shown": queries}
    assert other["event_attributes"]["completion"] == {
        **completion,
        "policy": "popular",
        "shown": server.queries("vi", k=8, policy="popular"),
    }
    assert picked["action_name"] == "completion_picked"
    assert picked["event_attributes"] == {
        "object": {"object_id": queries[1], "object_id_type": "query"},
        "position": {"ordinal": 2},
        "completion": {**completion, "shown": queries},
    }
    hits = [line["document"] for line in told["results"]]
    assert searched["user_query"] == queries[1]
    assert searched["query_response_hit_ids"] == hits
    assert searched["query_attributes"] == {"typing_session": session_of(one)}
    assert "action_name" not in searched
    assert clicked["action_name"] == "click"
    assert clicked["user_query"] == queries[1]
    assert clicked["event_attributes"] == {"object": {"object_id": hits[1]}, "position": {"ordinal": 2}}
    records = [one, other, picked, searched, clicked]
    assert len({record["query_id"] for record in records}) == 1
    assert all(UUID(record["query_id"]).version == 4 for record in records)
    assert all(datetime.fromisoformat(record["timestamp"]).tzinfo for record in records)
    log = pq.read_table(read_ubi(server.workspace / "events", out=tmp_path / "log").clicks).to_pylist()
    (row,) = (row for row in log if row["search_id"] == searched["query_id"])
    assert (row["prefix"], row["query"], row["document"], row["rank"]) == ("vi", queries[1], hits[1], 2)
    assert row["user"] == searched["client_id"]


def test_every_list_on_the_way_to_a_pick_is_told_once_in_order_with_one_id(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    posts, texts = list[str](), ["v", "vi", "vid", "vide", "video"]
    with opened(browser, server.address) as page:
        page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
        letter_by_letter(page, server, "video")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".results li").first).to_be_visible()
        *lists, picked, searched = records_of(server, page, 2 * len(texts) + 2)
    assert {record["action_name"] for record in lists} == {"completions_shown"}
    assert [completion_of(record)["prefix"] for record in lists] == [text for text in texts for _ in range(2)]
    for record in lists:
        made = completion_of(record)
        policy = "popular" if made["policy"] == "popular" else "served"
        assert made["shown"] == server.queries(made["prefix"], k=8, policy=policy)
    assert picked["action_name"] == "completion_picked"
    assert "action_name" not in searched
    (session,) = {session_of(record) for record in (*lists, picked, searched)}
    assert UUID(session).version == 4
    assert session != searched["query_id"]
    assert len(posts) < len(lists)  # a keystroke is not a request
    log = read_ubi(server.workspace / "events", out=tmp_path / "log")
    expected = [
        (position, text, policy, server.queries(text, k=8, policy=name))
        for position, text in enumerate(texts)
        for policy, name in ((completion_of(lists[0])["policy"], "served"), ("popular", "popular"))
    ]
    taken: list[int | None] = [None] * len(expected)
    taken[-2] = 1
    assert lists_of(log.completions, session) == [
        (*row, at, picked["event_attributes"]["object"]["object_id"], searched["query_id"])
        for row, at in zip(expected, taken, strict=True)
    ]


def test_enter_without_a_pick_tells_the_query_that_followed(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    with opened(browser, server.address) as page:
        letter_by_letter(page, server, "vi")
        page.keyboard.press("Enter")
        expect(page.locator("#search")).to_have_value("vi")
        *lists, searched = records_of(server, page, 5)
        page.keyboard.press("Enter")  # again: nothing was typed on the way to this one
        *_, again = records_of(server, page, 6)
    (session,) = {session_of(record) for record in (*lists, searched)}
    assert session_of(again) is None
    assert again["query_id"] != searched["query_id"]
    found = lists_of(read_ubi(server.workspace / "events", out=tmp_path / "log").completions, session)
    assert [(row[0], row[1], *row[4:]) for row in found] == [
        (position, text, None, "vi", searched["query_id"])
        for position, text in enumerate(("v", "vi"))
        for _ in range(2)
    ]


@pytest.mark.parametrize("how", ["Backspace", "Escape", "replaced"])
def test_a_text_that_is_removed_ends_the_session(browser: Browser, server: Server, how: str) -> None:
    with opened(browser, server.address) as page:
        letter_by_letter(page, server, "v")
        if how == "replaced":
            page.locator("#search").select_text()
        else:
            for _ in range(2 if how == "Escape" else 1):
                page.keyboard.press(how)
            expect(page.locator("#search")).to_have_value("")
            assert len(records_of(server, page, 2)) == 2  # sent at once
        page.keyboard.type("m")
        shown(page, both(server, "m"))
        page.keyboard.press("Enter")
        *lists, searched = records_of(server, page, 5)
    prefixes = [(completion_of(record)["prefix"], session_of(record)) for record in lists]
    (first,), (second,) = ({name for text, name in prefixes if text == letter} for letter in "vm")
    assert first != second == session_of(searched)


def test_a_text_changed_after_a_pick_is_another_session(browser: Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        letter_by_letter(page, server, "vi")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".results li").first).to_be_visible()
        before = records_of(server, page, 6)
        page.keyboard.press("Backspace")
        page.keyboard.press("Enter")
        after = eventually(lambda: [r for r in records_of(server, page, 7)[6:] if "action_name" not in r])
    (first,) = {session_of(record) for record in before}
    assert session_of(after[0]) not in (None, first)


def test_a_list_that_was_overtaken_is_not_told(browser: Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        def both_wait() -> bool:
            page.wait_for_timeout(10)
            return len(held) == 2

        page.route("**/complete?prefix=v&*", hold)
        page.locator("#search").focus()
        page.keyboard.type("v")
        eventually(both_wait)
        page.keyboard.type("i")
        shown(page, both(server, "vi"))
        for route in held:
            route.abort()
        page.keyboard.type("deo", delay=1)  # faster than anybody is asked
        shown(page, both(server, "video"))
        page.keyboard.press("Enter")
        *lists, _ = records_of(server, page, 5)
    assert [completion_of(record)["prefix"] for record in lists] == ["vi", "vi", "video", "video"]


def test_lists_that_wait_are_sent_after_a_moment_and_when_the_page_is_left(
    browser: Browser, server: Server
) -> None:
    with opened(browser, server.address) as page:
        letter_by_letter(page, server, "v")
        records_of(server, page, 2)
        page.keyboard.type("i")
        shown(page, both(server, "vi"))
        page.goto(f"{server.address}/docs")
        found = records_of(server, page, 4)
    assert [completion_of(record)["prefix"] for record in found] == ["v", "v", "vi", "vi"]


def test_each_search_has_an_id_of_its_own(browser: Browser, server: Server) -> None:
    with opened(browser, server.address) as page:
        for count, query in enumerate(server.queries("vi", policy="popular")[:2], start=1):
            page.locator("#search").fill(query)
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", name=f"Results for {query}")).to_be_visible()
            searches = [record for record in records_of(server, page, count) if "user_query" in record]
        page.reload()
        page.locator("#search").fill(query)
        page.keyboard.press("Enter")
        searches = [record for record in records_of(server, page, 3) if "user_query" in record]
        assert len({record["query_id"] for record in searches}) == 3
        assert len({record["client_id"] for record in searches}) == 1


def test_where_nothing_may_be_stored_the_page_works_and_has_one_name(
    browser: Browser, server: Server
) -> None:
    with opened(browser, server.address, before=NO_STORAGE) as page:
        typed(page, server, "vi")
        page.keyboard.press("ArrowDown")
        with page.expect_request("**/events") as sent:
            page.keyboard.press("Enter")
        (client,) = {record["client_id"] for record in json.loads(sent.value.post_data or "[]")}
        expect(page.locator(".results li").first).to_be_visible()
        eventually(lambda: [record for record in server.records() if record["client_id"] == client][3:])


def test_where_events_are_refused_no_more_are_sent(
    browser: Browser, undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    sent: list[str] = []
    with (
        served(workspace, "--token", "a-token-nobody-guesses") as server,
        opened(browser, server.address) as page,
    ):
        page.on("request", lambda request: sent.append(request.method))
        typed(page, server, "vi")
        with page.expect_response("**/events") as answer:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
        assert answer.value.status == 401
        expect(page.locator(".results button").first).to_be_visible()
        before = sent.count("POST")  # what was on its way when the first was refused
        page.locator(".results button").first.click()
        expect(page.locator("[data-opened]")).to_have_count(1)
        page.locator("#search").fill("")
        typed(page, server, "vid")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".results button").first).to_be_visible()
        expect(page.locator("#notice")).to_have_text("")
        assert sent.count("POST") == before
        assert server.records() == []
