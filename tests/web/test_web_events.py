"""What the page tells of a search is on disk, in the form of UBI, and can be refused."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, expect

from browsing import opened, records_of, served, shown
from runs import Made
from servers import Server, eventually
from wayword import read_ubi

pytestmark = pytest.mark.browser

NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
}"""


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(undisturbed.copy(tmp_path_factory.mktemp("events") / "workspace")) as found:
        yield found


def both(server: Server, prefix: str) -> list[str]:
    served_list, popular = (server.queries(prefix, k=8, policy=policy) for policy in ("served", "popular"))
    return [*served_list, *popular]


def typed(page: Page, server: Server, text: str) -> None:
    page.locator("#search").press_sequentially(text)
    shown(page, both(server, text))


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


def test_a_list_that_settles_is_told_once_and_one_that_does_not_is_not(
    browser: Browser, server: Server
) -> None:
    with opened(browser, server.address) as page:
        page.locator("#search").press_sequentially("video", delay=5)
        first = records_of(server, page, 2)
        assert {record["event_attributes"]["completion"]["prefix"] for record in first} == {"video"}
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        found = records_of(server, page, 4)
        assert [record.get("action_name") for record in found] == [
            "completions_shown",
            "completions_shown",
            "completion_picked",
            None,
        ]


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
