"""Engines that fail: errors, slow answers, partial failures and rate limits end in complete rankings, or an error."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loopback_engine import LoopbackEngine, loopback_engine, matching
from wayword.errors import EngineError
from wayword.rankings import asking
from wayword.rankings.asking import LIMITS, Limits
from wayword.rankings.collect import Collected, collect
from wayword.rankings.sources import http as http_client
from wayword.rankings.sources.json_path import JsonPath
from wayword.rankings.sources.members import open_source
from wayword.rankings.sources.source import Busy, Options, Refused

TEMPLATE = {"query": {"match": {"title": "{query}"}}}
HTTP = ("opensearch", "solr", "url")
QUERIES = [f"{word} {number}" for number in range(40) for word in ("player", "video")]
"""None has a result; `FOUND` has."""
FOUND = ["player", "video", "c++", "line break"]


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks are short; nothing is flushed to disk, which other tests look at."""
    monkeypatch.setattr(asking, "FIRST_BREAK", 0.01)
    monkeypatch.setattr("os.fsync", lambda _handle: None)


@pytest.fixture
def server() -> Iterator[LoopbackEngine]:
    with loopback_engine() as engine:
        yield engine


@pytest.fixture
def ask(server: LoopbackEngine, tmp_path: Path) -> Callable[..., Collected]:
    """Collect the rankings of queries from the server, with the source of this name."""

    def asked(name: str, queries: list[str], limits: Limits = LIMITS, **more: Any) -> Collected:
        log = tmp_path / "log.parquet"
        pq.write_table(pa.table({"query": queries}), log)
        with closing(open_source(name, options_of(name, server, tmp_path, **more))) as source:
            return collect(source, [log], out=tmp_path / "rankings.parquet", limits=limits)

    return asked


def options_of(name: str, server: LoopbackEngine, folder: Path, **more: Any) -> Options:
    if name == "url":
        more = {"json_path": "results[*].sku.id"} | more
        return Options(endpoint=server.address + "/search?q={query}&n={depth}", **more)
    if name == "solr":
        return Options(endpoint=server.address + "/solr", index="products", **more)
    template = folder / "search.json"
    template.write_text(json.dumps(TEMPLATE))
    return Options(endpoint=server.address, index="products", template=template, **more)


def rows(path: Path) -> list[tuple[str, str, int]]:
    return [(row["query"], row["document"], row["rank"]) for row in pq.read_table(path).to_pylist()]


ROWS = [(query, name, n) for query in sorted(FOUND) for n, name in enumerate(matching(query), start=1)]


@pytest.mark.parametrize("name", HTTP)
@pytest.mark.parametrize("seed", [0, 1])
def test_faults_of_every_kind_end_in_complete_rankings(
    name: str, seed: int, server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    chance, lock = random.Random(seed), threading.Lock()

    def drawn(kinds: tuple[str, ...], share: float) -> str | None:
        with lock:
            return chance.choice(kinds) if chance.random() < share else None

    server.request_fault = lambda _: drawn(("429", "503", "drop", "slow", "cut"), 0.3)
    server.search_fault = lambda _: drawn(("reject", "shards", "timeout"), 0.2)
    found = ask(
        name, QUERIES + FOUND, Limits(8, 7 if name == "opensearch" else None, retries=30), timeout=0.4
    )
    assert not found.failures.count
    assert rows(found.path) == ROWS
    assert server.answered.keys() == {*QUERIES, *FOUND}


def test_only_the_searches_that_failed_are_asked_again(
    server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    failing = {"player": ["reject", "shards"], "c++": ["timeout"]}
    server.search_fault = lambda query: failing[query].pop(0) if failing.get(query) else None
    found = ask("opensearch", QUERIES + FOUND, Limits(concurrency=2, batch=10))
    assert rows(found.path) == ROWS
    assert {*server.answered.values()} == {1}
    assert len(server.requests) == 9 + 2 + 1 or len(server.requests) == 9 + 2


@pytest.mark.parametrize("name", HTTP)
def test_a_break_that_the_engine_demands_is_kept_by_all(
    name: str, server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.retry_after = "1"
    server.request_fault = lambda number: "429" if number == 1 else None
    server.pause = lambda number: 0.5 if number == 2 else 0.0
    found = ask(name, QUERIES + FOUND, Limits(concurrency=2))
    assert rows(found.path) == ROWS
    moments = [moment for moment, _, _ in server.requests]
    # the second thread's first request is under way when the first is told to wait
    assert moments[2] - moments[0] >= 1.0


def test_a_break_of_an_hour_is_left_to_the_next_run(
    server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.retry_after = "3600"
    server.request_fault = lambda number: "429" if number == 4 else None
    with pytest.raises(EngineError, match=r"a break of 3,600 s; expected at most 600"):
        ask("solr", QUERIES, Limits(concurrency=1))
    server.request_fault = lambda _: None
    found = ask("solr", QUERIES, Limits(concurrency=1))
    assert found.known == 3
    assert {*server.answered.values()} == {1}


@pytest.mark.parametrize("name", HTTP)
def test_an_engine_that_is_down_ends_the_run_with_what_to_do(
    name: str, server: LoopbackEngine, ask: Callable[..., Collected], tmp_path: Path
) -> None:
    server.request_fault = lambda number: "503" if number > 5 else None
    with pytest.raises(
        EngineError, match=r"in a row have no answer.*run the same command again(?s:.)*|no answer"
    ):
        ask(name, QUERIES + FOUND, Limits(4, 2 if name == "opensearch" else None, retries=1, max_failed=1))
    assert not (tmp_path / "rankings.parquet").exists()
    server.request_fault = lambda _: None
    assert rows(ask(name, QUERIES + FOUND).path) == ROWS
    assert {*server.answered.values()} == {1}


@pytest.mark.parametrize("name", ["opensearch", "solr"])
def test_queries_that_the_engine_refuses_are_reported_and_more_than_may_fail_are_an_error(
    name: str, server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.search_fault = lambda query: "parse" if query == "player 7" else None
    with pytest.raises(
        EngineError, match=r"(?s)1 queries have no answer; expected at most 0 .*'player 7'.*arse"
    ):
        ask(name, QUERIES + FOUND)
    found = ask(name, QUERIES + FOUND, Limits(max_failed=0.02))
    assert found.failures.count == 1
    assert found.failures.examples[0][0] == "player 7"
    assert {*server.answered.values()} == {1}
    assert rows(found.path) == ROWS


def test_a_query_that_spoils_its_batch_is_found(
    server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    """A body that is too large, or that the engine cannot read, is refused as a whole."""
    plain = server.answer

    def strict(method: str, target: str, headers: dict[str, str], body: str) -> Any:
        return (413, {"error": "too large"}) if "video 11" in body else plain(method, target, headers, body)

    server.answer = strict  # type: ignore[method-assign]
    found = ask("opensearch", QUERIES + FOUND, Limits(max_failed=0.02, batch=50))
    assert [query for query, _ in found.failures.examples] == ["video 11"]
    assert rows(found.path) == ROWS


@pytest.mark.parametrize(("name", "status"), [("opensearch", 404), ("solr", 401), ("url", 301), ("url", 403)])
def test_an_answer_that_no_query_can_change_ends_the_run_at_once(
    name: str, status: int, server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.refusal = (status, {"location": "http://127.0.0.1:1/", "error": {"type": "no", "reason": "way"}})
    with pytest.raises(EngineError, match=rf"127.0.0.1:\d+: .*no: way \(status {status}\)"):
        ask(name, QUERIES, Limits(concurrency=1))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"hits": []}, r"no 'results\[\*\].sku.id': step 1 of it found an object with 'hits'"),
        ({"results": {"a": 1}}, r"step 2 of it found an object with 'a'"),
        ({"results": [{"sku": {}}]}, "step 4"),
        ({"results": [{"sku": {"id": None}}]}, "'None' as the document at rank 1"),
        ({"results": [{"sku": {"id": "a"}}, {"sku": {"id": "\ud800"}}]}, "document at rank 2"),
        ({"results": [{"sku": {"id": True}}]}, "'True' as the document"),
        ([], "a list of 0"),
    ],
)
def test_an_answer_of_another_shape_says_where(
    answer: Any, reason: str, server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.refusal = (200, answer)
    with pytest.raises(EngineError, match=reason):
        ask("url", ["player"])


def test_a_list_that_is_null_is_empty_and_documents_keep_their_ranks(
    server: LoopbackEngine, ask: Callable[..., Collected]
) -> None:
    server.refusal = (200, {"results": None})
    assert ask("url", ["player"]).without_results == 1
    server.refusal = (200, {"results": [{"sku": {"id": one}} for one in ("a", 7, 7, 7.0, "a", "b")]})
    found = ask("url", ["player", "video"])
    assert rows(found.path) == [("video", "a", 1), ("video", "7", 2), ("video", "b", 6)]


def test_an_answer_that_is_no_json_or_too_large_is_refused(
    server: LoopbackEngine, ask: Callable[..., Collected], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.request_fault = lambda _: "html"
    with pytest.raises(EngineError, match="found no JSON but '<html>proxy</html>'"):
        ask("url", ["player"])
    server.request_fault = lambda _: None
    monkeypatch.setattr(http_client, "LARGEST_ANSWER", 20)
    with pytest.raises(EngineError, match="more than 20 bytes"):
        ask("url", ["player"])


def test_an_answer_that_drips_is_given_up(server: LoopbackEngine, ask: Callable[..., Collected]) -> None:
    """Each part comes in time, the whole does not."""
    import http.server

    class Dripping(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(100):
                    self.wfile.write(b" " * 70_000)
                    time.sleep(0.05)
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as slow:
        thread = threading.Thread(target=slow.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        server.port = slow.server_port
        with pytest.raises(EngineError, match=r"not complete after 0.3 s"):
            ask("url", ["player"], Limits(retries=0), timeout=0.3)
        slow.shutdown()


def test_a_batch_is_refused_where_an_engine_takes_one_query_at_a_time(ask: Callable[..., Collected]) -> None:
    with pytest.raises(EngineError, match="Found --batch 2; expected at most 1: "):
        ask("solr", QUERIES, Limits(batch=2))


def test_a_function_may_be_busy_and_any_other_error_of_it_is_raised(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("query\nplayer\nvideo\n")
    waiting = [TimeoutError("later"), Busy("later", 0.01), ConnectionError("later")]

    def search(query: str, depth: int) -> list[str]:
        if waiting:
            raise waiting.pop()
        return matching(query, depth)

    found = collect(search, [log], out=tmp_path / "rankings.parquet", limits=Limits(concurrency=1))
    assert {query for query, _, _ in rows(found.path)} == {"player", "video"}

    def broken(query: str, _depth: int) -> list[str]:
        raise ZeroDivisionError(query)

    with pytest.raises(ZeroDivisionError):
        collect(broken, [log], out=tmp_path / "others.parquet")


def test_json_paths_that_cannot_be_read_say_where() -> None:
    for text, reason in (
        ("results[?(@.a)]", "at character 8"),
        ("results.id", "no list"),
        ("", "no list"),
        ("a..b[*]", "at character 2"),
    ):
        with pytest.raises(EngineError, match=reason):
            JsonPath(text)
    assert JsonPath("[*]").values(["a", "b"]) == ["a", "b"]
    assert JsonPath("[*]['a b'][-1]").values([{"a b": [1, 2]}]) == [2]
    with pytest.raises(Refused):
        JsonPath("[*][3]").values([[1]])
