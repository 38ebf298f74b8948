"""What is asked over HTTP is answered as in process, and whatever is sent, there is an answer."""

import json
import os
import random
import shutil
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from odd_texts import ODD
from prometheus_client.parser import text_string_to_metric_families

from commands import Command, wayword
from runs import Made
from servers import PATIENCE, TOKEN, Server, serving
from wayword.config import IndexConfig
from wayword.index.build import build
from wayword.logs.ubi.schema import TIME
from wayword.serving.completer import Completer
from wayword.serving.explanation import explain
from wayword.serving.policy_completer import PolicyCompleter
from wayword.serving.responses import SCORES
from wayword.store.workspace import Workspace

BEARER = {"authorization": f"Bearer {TOKEN}"}
CLICK = {
    "action_name": "click",
    "query_id": "one",
    "event_attributes": {"object": {"object_id": "vlc"}, "position": {"ordinal": 1}},
}


@pytest.fixture(scope="module")
def workspace(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed.copy(tmp_path_factory.mktemp("served") / "workspace")


@pytest.fixture(scope="module")
def server(workspace: Path) -> Iterator[Server]:
    with serving(workspace, "--rate", 0, "--public-events", WAYWORD_TOKEN=TOKEN) as found:
        yield found


def until(happened: Callable[[], bool]) -> None:
    """Wait for something to happen."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("mode", ["any", "prefix"])
def test_the_answer_is_that_in_process(mode: str, server: Server, workspace: Path) -> None:
    completer = Completer.open(workspace)
    keys = random.Random(1).sample(completer.index.lists.keys(), 100)
    for prefix, k in zip([*keys, "vidoe pla", "zzz", "Video Pl"], [10, 3, 1, 40] * 30, strict=False):
        got = server.get("/complete", prefix=prefix, k=k, mode=mode)
        expected = completer.complete(prefix, k, mode=mode)
        assert got.status == 200
        assert got.json["completions"] == [
            {"query": one.query, "score": one.score, "source": one.source} for one in expected
        ]
    assert got.json | {"completions": []} == {
        "prefix": "Video Pl",
        "mode": mode,
        "policy": "wayword",
        "index": completer.index.version,
        "arm": "a",
        "score_is": "list_value",
        "completions": [],
    }


def test_most_popular_completion_is_there_to_compare(server: Server, workspace: Path) -> None:
    got = server.get("/complete", prefix="vid", policy="popular", k=5).json
    expected = Completer.open(workspace).served.popular("vid", 5)
    assert got["policy"] == "popular"
    assert [one["query"] for one in got["completions"]] == [one.query for one in expected]
    assert got["score_is"] == "search_share"
    shares = [one["score"] for one in got["completions"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-6


@pytest.mark.parametrize("mode", ["any", "prefix"])
def test_most_popular_completion_is_the_policy_that_is_evaluated(
    mode: str, server: Server, workspace: Path
) -> None:
    evaluated = PolicyCompleter.open(workspace)
    keys = random.Random(2).sample(Completer.open(workspace).index.lists.keys(), 100)
    for prefix in [*keys, "vidoe pla", "", "v", "video"]:
        got = server.get("/complete", prefix=prefix, policy="popular", mode=mode).json["completions"]
        expected = evaluated.complete(prefix, 10, policy="popular", mode=mode)
        assert [one["query"] for one in got] == [one.query for one in expected]
        if got:  # counts there, shares here
            total = expected[0].score / got[0]["score"]
            assert [one["score"] * total for one in got] == pytest.approx([one.score for one in expected])


def test_an_index_of_another_policy_names_another_score(
    server: Server, workspace: Path, tmp_path: Path
) -> None:
    assert server.get("/complete", prefix="vid").json["score_is"] == "list_value"
    other = tmp_path / "expected"
    shutil.copytree(workspace, other)
    build(Workspace.open(other), IndexConfig(policy="expected"))
    with serving(other) as another:
        answer = another.get("/complete", prefix="vid").json
        assert (answer["policy"], answer["score_is"]) == ("expected", "expected_utility")
        explained = another.get("/explain", prefix="vid", query=answer["completions"][0]["query"]).json
        assert (explained["score_is"], explained["people"]) == ("expected_utility", None)
        meanings = server.get("/openapi.json").json["components"]["schemas"]["CompletionResponse"]
        assert set(SCORES) == set(meanings["properties"]["score_is"]["enum"])


def test_explanations_come_as_in_process(server: Server, workspace: Path) -> None:
    served = Completer.open(workspace).served
    query = served.complete("vid", 1)[0].query
    got, expected = server.get("/explain", prefix="vid", query=query).json, explain(served, "vid", query)
    assert got["arm"] == "a"
    assert got["results"] == [vars(line) for line in expected.results]
    assert got["utility"] == expected.utility
    assert expected.people
    assert got["people"] == asdict(expected.people)
    assert (got["score"], got["score_is"]) == (expected.score, "list_value")
    assert server.get("/explain", prefix="vid", query="no such query").status == 404
    assert server.get("/explain", prefix="vid").status == 400


def test_an_answer_that_the_client_has_is_not_sent_again(server: Server) -> None:
    first = server.get("/complete", prefix="vi")
    again = server.ask("GET", "/complete?prefix=vi", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    other = server.ask("GET", "/complete?prefix=vi", headers={"if-none-match": '"another"'})
    assert (other.status, other.body) == (200, first.body)
    assert server.ask("HEAD", "/complete?prefix=vi").body == b""


@pytest.mark.parametrize(
    ("asked", "status", "reason"),
    [
        ("/complete", 400, "prefix is missing"),
        ("/complete?prefix=v&k=0", 400, "from 1 to 100"),
        ("/complete?prefix=v&k=101", 400, "from 1 to 100"),
        ("/complete?prefix=v&k=ten", 400, "'ten'"),
        ("/complete?prefix=v&k=%D9%A3", 400, "whole number"),
        ("/complete?prefix=v&mode=some", 400, "any, prefix"),
        ("/complete?prefix=v&policy=best", 400, "served, popular"),
        ("/complete?prefix=v&context.shop=de", 400, "the log's context columns are: none"),
        ("/complete?prefix=" + "v" * 1001, 400, "at most 1,000"),
        ("/explain?prefix=v&query=" + "v" * 1001, 400, "a query of 1,001"),
        ("/complete?prefix=v&user=" + "u" * 300, 400, "at most 256"),
        ("/complete?" + "&".join(["prefix=v"] * 101), 400, "at most 100"),
        ("/complete?promt=v", 400, "Unknown parameter `promt`; did you mean `prefix`?"),
        ("/complete?prefix=v&K=3", 400, "did you mean `k`?"),
        ("/explain?prefix=v&query=v&k=3", 400, "Expected prefix, mode, user, query."),
        ("/no/such/page", 404, "/complete"),
        ("/overrides", 401, "Bearer"),
    ],
)
def test_what_cannot_be_answered_is_told_why(asked: str, status: int, reason: str, server: Server) -> None:
    got = server.ask("GET", asked)
    assert got.status == status
    assert reason in got.json["error"]


def test_methods_are_told(server: Server) -> None:
    got = server.ask("DELETE", "/complete?prefix=v")
    assert (got.status, got.headers["allow"]) == (405, "GET, HEAD")
    assert server.ask("POST", "/").status == 405


@pytest.mark.parametrize("typed", ODD)
def test_any_text_is_answered(typed: str, server: Server) -> None:
    assert server.get("/complete", prefix=typed).status == (200 if len(typed) <= 1000 else 400)
    assert server.get("/explain", prefix=typed, query=typed).status in (200, 400, 404)


@pytest.mark.parametrize("raw", ["%ff%fe", "%", "%zz", "%00", "+", "%F0%9F%91%A9%E2%80%8D", "=&=&prefix"])
def test_any_bytes_are_answered(raw: str, server: Server) -> None:
    assert server.ask("GET", f"/complete?prefix={raw}").status == 200


def test_events_are_on_disk_when_they_are_acknowledged(server: Server, workspace: Path) -> None:
    query = {"user_query": "video player", "query_id": "one", "query_response_hit_ids": ["vlc"], "more": [1]}
    assert server.post([CLICK, query]).json == {"stored": 2}
    lines = [line for file in (workspace / "events").iterdir() for line in file.read_text().splitlines()]
    where, what = [json.loads(line) for line in lines[::2]], [json.loads(line) for line in lines[1::2]]
    assert [one["index"]["_index"] for one in where[-2:]] == ["ubi_events", "ubi_queries"]
    assert what[-1].pop("timestamp") == what[-2].pop("timestamp")
    assert what[-2:] == [CLICK, query]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"action_name": "\xff"}', "not JSON"),
        (b"[" * 40_000, "not JSON"),
        (b"[]", "1 to 1,000"),
        (b"7", "expected a UBI event or query"),
        (b"{}", "neither action_name"),
        (b'{"action_name": 1}', "action_name"),
        (b'{"action_name": "click", "timestamp": "yesterday"}', "timestamp"),
        (b'{"action_name": "click", "query_id": "%s"}' % (b"x" * 101), "query_id"),
        (b'{"user_query": "x", "query_attributes": ' + b'{"a":' * 50 + b"1" + b"}" * 51, "nested"),
        (b'[{"user_query": "x"}, {"user_query": null}]', "Record 1"),
        (
            json.dumps({"user_query": "x", "query_attributes": {f"a{n}": n for n in range(5000)}}).encode(),
            "Record 0 has an object of 5,000 fields; expected at most 100.",
        ),
        (b'{"action_name": "click", "event_attributes": {"object": {}}}', "object_id"),
    ],
)
def test_what_is_no_event_is_refused_as_a_whole(sent: bytes, reason: str, server: Server) -> None:
    got = server.ask("POST", "/events", sent)
    assert got.status == 400
    assert reason in got.json["error"]


def test_half_an_emoji_costs_no_event(server: Server, workspace: Path) -> None:
    assert server.ask("POST", "/events", b'{"user_query": "half \\ud83d", "query_id": "half"}').status == 200
    files = [file.read_text() for file in (workspace / "events").iterdir()]
    assert any('"half ?"' in text for text in files)


def test_only_pages_of_this_server_or_of_allowed_sites_may_post(server: Server) -> None:
    content = json.dumps(CLICK).encode()
    for origin, status in (
        (f"http://127.0.0.1:{server.port}", 200),
        ("https://evil.example", 403),
        ("null", 403),
    ):
        assert server.ask("POST", "/events", content, {"origin": origin}).status == status


def test_a_body_may_not_be_too_large(server: Server) -> None:
    assert server.ask("POST", "/events", b" " * 1_000_001).status == 413
    chunked = server.ask("POST", "/events", iter([b" " * 600_000] * 2))
    assert chunked.status == 413
    assert server.get("/healthz").status == 200


def test_times_that_are_promised_are_taken(server: Server) -> None:
    for moment in ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00.123+02:00", "2026-11-16T09:30:00"):
        assert server.post({**CLICK, "timestamp": moment}).status == 200
    described = server.get("/openapi.json").json["components"]["schemas"]["Event"]["properties"]["timestamp"]
    assert described["anyOf"][0]["pattern"] == TIME


def test_what_is_decided_by_hand_holds_at_once(server: Server, workspace: Path) -> None:
    before = server.get("/complete", prefix="v", k=1).json["completions"][0]["query"]
    decided = {"deny": [before], "pin": {"zz": ["Sale"]}}
    tag = server.get("/complete", prefix="v").headers["etag"]
    got = server.ask("PUT", "/overrides", json.dumps(decided).encode(), BEARER)
    assert got.json == {"deny": [before], "delete": [], "pin": {"zz": ["Sale"]}}
    assert server.ask("GET", "/overrides", headers=BEARER).json == got.json  # at once, to be edited again
    until(lambda: server.get("/complete", prefix="v", k=1).json["completions"][0]["query"] != before)
    assert server.ask("GET", "/complete?prefix=v", headers={"if-none-match": tag}).status == 200
    until(lambda: server.get("/complete", prefix="zz").json["completions"][0]["query"] == "Sale")
    assert server.get("/explain", prefix="v", query=before).status == 404
    assert server.ask("GET", "/overrides", headers=BEARER).json == got.json
    assert server.ask("PUT", "/overrides", b'{"deny": 1}', BEARER).status == 400
    assert server.ask("PUT", "/overrides", b"{}", {"authorization": "Bearer wrong"}).status == 401
    assert server.ask("PUT", "/overrides", b"{}", BEARER).status == 200
    until(lambda: server.get("/complete", prefix="v", k=1).json["completions"][0]["query"] == before)
    assert (workspace / "index" / "overrides.json").exists()


def test_a_new_version_is_taken_over_without_a_failed_request(server: Server, workspace: Path) -> None:
    opened, old = Workspace.open(workspace), server.get("/healthz").json["indexes"]["a"]
    stopped, failed = threading.Event(), list[object]()

    def ask() -> None:
        while not stopped.is_set():
            got = server.get("/complete", prefix="vid")
            if got.status != 200 or not got.json["completions"]:
                failed.append(got)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        made, _ = build(opened, IndexConfig(kept=12))
        until(lambda: server.get("/healthz").json["indexes"]["a"] == made.name != old)
        build(opened, IndexConfig())
        until(lambda: server.get("/healthz").json["indexes"]["a"] == old)
    finally:
        stopped.set()
        for thread in asking:
            thread.join()
    assert not failed


def test_metrics_count_what_happened(server: Server) -> None:
    before = _samples(server)
    server.get("/complete", prefix="vid")
    server.get("/complete", prefix="vidoe pla")
    server.get("/complete", prefix="\0\0")
    server.get("/complete")
    server.post(CLICK)
    now = _samples(server)

    def grown(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return now[key] - before[key]

    assert grown("wayword_requests_total", path="/complete", status="2xx") == 3
    assert grown("wayword_requests_total", path="/complete", status="4xx") == 1
    assert grown("wayword_request_seconds_count", path="/complete") == 4
    assert grown("wayword_request_seconds_bucket", path="/complete", le="+Inf") == 4
    assert grown("wayword_answers_total", source="index") >= 1
    assert grown("wayword_answers_total", source="live") >= 1
    assert grown("wayword_events_total") == 1
    assert any(name == "wayword_index_age_seconds" and value > 0 for (name, _), value in now.items())


def _samples(server: Server) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = server.get("/metrics").body.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_two_indexes_side_by_side(workspace: Path, undisturbed: Made, tmp_path: Path) -> None:
    other = undisturbed.copy(tmp_path / "other")
    build(Workspace.open(other), IndexConfig(kept=11))
    options = ("--against", other, "--share", 0.3, "--origin", "https://shop.example", "--workers", 2)
    with serving(workspace, *options, "--rate", 5, "--burst", 450, WAYWORD_TOKEN=TOKEN) as server:
        versions = server.get("/healthz").json["indexes"]
        assert len(set(versions.values())) == 2
        users = [f"user {n}" for n in range(200)]
        arms = {user: server.get("/complete", prefix="v", user=user).json for user in users}
        assert all(versions[arm["arm"]] == arm["index"] for arm in arms.values())
        assert 35 < sum(arm["arm"] == "b" for arm in arms.values()) < 85
        assert all(
            server.get("/complete", prefix="vi", user=user).json["arm"] == arms[user]["arm"]
            for user in users[::4]
        )
        assert server.get("/complete", prefix="v").json["arm"] == "a"
        assert server.get("/complete", prefix="v", user="").json["arm"] == "a"
        _each_arm_has_decisions_of_its_own(server)
        _only_the_allowed_site_may_ask(server)
        _who_asks_too_often_waits(server)


def _each_arm_has_decisions_of_its_own(server: Server) -> None:
    assert server.ask("PUT", "/overrides", b"{}", BEARER).status == 400
    pinned = {"pin": {"zz": ["Sale"]}}
    assert server.ask("PUT", "/overrides?arm=b", json.dumps(pinned).encode(), BEARER).status == 200
    until(lambda: server.ask("GET", "/overrides?arm=b", headers=BEARER).json["pin"] == pinned["pin"])
    assert server.ask("GET", "/overrides?arm=a", headers=BEARER).json["pin"] == {}


def _only_the_allowed_site_may_ask(server: Server) -> None:
    allowed, other = {"origin": "https://shop.example"}, {"origin": "https://other.example"}
    got = server.ask("GET", "/complete?prefix=v", headers=allowed)
    assert got.headers["access-control-allow-origin"] == "https://shop.example"
    preflight = server.ask("OPTIONS", "/events", headers=allowed)
    assert preflight.status == 204
    assert "content-type" in preflight.headers["access-control-allow-headers"]
    assert "access-control-allow-origin" not in server.ask("GET", "/complete?prefix=v", headers=other).headers


def _who_asks_too_often_waits(server: Server) -> None:
    for _ in range(1200):  # each of the two workers counts on its own
        got = server.get("/complete", prefix="v")
        if got.status == 429:
            break
    assert got.status == 429
    assert int(got.headers["retry-after"]) >= 1


def test_a_worker_that_is_started_again_knows_what_was_decided(workspace: Path) -> None:
    with serving(workspace, "--rate", 0, WAYWORD_TOKEN=TOKEN) as server:
        first = server.get("/complete", prefix="v", k=1).json["completions"][0]["query"]
        server.ask("PUT", "/overrides", json.dumps({"deny": [first]}).encode(), BEARER)
        until(lambda: server.get("/complete", prefix="v", k=1).json["completions"][0]["query"] != first)
        family = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        (worker,) = map(int, family.read_text().split())
        os.kill(worker, signal.SIGKILL)
        until(lambda: _is_there(server))
        assert server.get("/complete", prefix="v", k=1).json["completions"][0]["query"] != first
        server.ask("PUT", "/overrides", b"{}", BEARER)


def _is_there(server: Server) -> bool:
    try:
        return server.get("/healthz").status == 200
    except OSError:
        return False


def test_who_asks_through_a_proxy_is_who_the_proxy_says(workspace: Path) -> None:
    with serving(workspace, "--proxy", "--rate", 0.001, "--burst", 2) as server:
        for spoofed in range(3):
            said = {"x-forwarded-for": f"9.9.9.{spoofed}, 7.7.7.7:{spoofed}"}
            got = server.ask("GET", "/complete?prefix=v", headers=said)
        assert got.status == 429
        assert server.ask("GET", "/complete?prefix=v", headers={"x-forwarded-for": "8.8.8.8"}).status == 200


def test_a_server_that_is_told_to_stop_finishes_its_work(workspace: Path) -> None:
    with serving(workspace, "--workers", 2) as server:
        assert server.post(CLICK).status == 200
        assert server.stop(signal.SIGTERM) == 0
        assert "Traceback" not in server.errors


def test_a_token_is_needed_where_there_is_one(workspace: Path) -> None:
    with serving(workspace, WAYWORD_TOKEN=TOKEN) as server:
        assert server.post(CLICK).status == 401
        assert server.ask("POST", "/events", json.dumps(CLICK).encode(), BEARER).status == 200
        assert TOKEN not in server.errors
    with serving(workspace) as server:
        assert server.post(CLICK).status == 200
        assert server.ask("GET", "/overrides").status == 403


def test_an_address_that_is_taken_is_told(server: Server, workspace: Path) -> None:
    for host, port in (("127.0.0.1", server.port), ("no.such.host.invalid", 0), ("300.1.1.1", 0)):
        done = wayword("serve", workspace, "--host", host, "--port", port)
        assert done.code == 2
        assert done.err.startswith(f"error: Cannot listen at {host}:{port}: ")
        assert "--port" in done.err


def test_any_free_port_will_do(workspace: Path) -> None:
    started = Command("serve", workspace, "--port", 0, "--host", "localhost")
    started.wait_until(lambda: b"Serving http://" in started.said)
    address = started.said.decode().splitlines()[-1].split()[1]
    started.wait_until(lambda: _answers(f"{address}/healthz"))
    started.signal(signal.SIGTERM)
    assert started.finished().code == 0


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False
