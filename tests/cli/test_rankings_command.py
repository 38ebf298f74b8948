"""`wayword rankings` as a command: killed and resumed, options that do not fit, what is printed."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import Command, wayword
from loopback_engine import LoopbackEngine, loopback_engine, matching

WORDS = ("video", "audio", "player", "fish")
QUERIES = [f"{word} {n}" for n in range(50) for word in WORDS]
CONCURRENCY = 4


def first_word(query: str, depth: int = 100) -> list[str]:
    return matching(query.partition(" ")[0], depth)


@pytest.fixture
def server() -> Iterator[LoopbackEngine]:
    with loopback_engine() as engine:
        engine.search = first_word
        yield engine


def solr(server: LoopbackEngine, folder: Path, *more: object) -> list[object]:
    log = folder / "log.csv"
    if not log.exists():
        log.write_text("query\n" + "\n".join(QUERIES) + "\n")
    at = ("--from", "solr", "--endpoint", server.address, "--index", "products", "--queries", log)
    return ["rankings", *at, "--out", folder / "rankings.parquet", "--concurrency", CONCURRENCY, *more]


def all_requests(server: LoopbackEngine) -> int:
    """The number of requests, when what a killed command had sent has been read."""
    count = -1
    while count != len(server.requests):
        count = len(server.requests)
        time.sleep(0.2)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("answered", [1, 50, 150])
def test_a_run_that_was_killed_goes_on_and_asks_only_the_rest(
    answered: int, server: LoopbackEngine, tmp_path: Path
) -> None:
    server.pause = lambda _number: 0.02
    command = Command(*solr(server, tmp_path))
    command.wait_until(lambda: len(server.requests) >= answered)
    command.signal(signal.SIGKILL)
    assert command.finished().code == -signal.SIGKILL
    assert not (tmp_path / "rankings.parquet").exists()
    journal = (tmp_path / "rankings.parquet.journal.jsonl").read_bytes().split(b"\n")[1:-1]
    kept, before = {json.loads(line)["query"] for line in journal}, all_requests(server)
    # what is under way, or heard and not yet on disk, is bounded, and the only thing that is asked twice
    assert len(kept) <= before <= len(kept) + 4 * CONCURRENCY

    done = wayword(*solr(server, tmp_path, "--json"))
    assert done.code == 0, done.err
    counts = json.loads(done.out)
    assert (counts["asked"], counts["known"]) == (len(QUERIES) - len(kept), len(kept))
    assert len(server.requests) == before + len(QUERIES) - len(kept)
    assert {query for query, times in server.answered.items() if times > 1}.isdisjoint(kept)
    found = pq.read_table(tmp_path / "rankings.parquet")
    assert [tuple(row.values())[:3] for row in found.to_pylist()] == [
        (query, name, rank)
        for query in sorted(QUERIES)
        for rank, name in enumerate(matching(query.split()[0]), start=1)
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "rankings.parquet"]


def test_the_command_says_what_it_did_and_what_comes_next(server: LoopbackEngine, tmp_path: Path) -> None:
    (tmp_path / "further.csv").write_text("query\nvideo 0\nbooks\n")
    done = wayword(*solr(server, tmp_path, "--further", tmp_path / "further.csv", "--depth", 1))
    assert done.code == 0, done.err
    assert "201 queries: 201 asked, 0 known before; 50 answers of the table are without results." in done.err
    assert f"Next: wayword run --log {tmp_path}/log.csv --rankings {tmp_path}/rankings.parquet" in done.err
    again = wayword(*solr(server, tmp_path, "--depth", 1, "--max-age", "7d", "--json"))
    assert again.code == 0, again.err
    assert json.loads(again.out)["asked"] == 0
    assert sum(server.answered.values()) == 201


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ("--from", "lucene"),
            "expected one of opensearch, elasticsearch, solr, postgres, sqlite, url, bm25, or a file",
        ),
        (("--from", "opensearch"), "--from opensearch needs --template"),
        (("--from", "solr", "--language", "english"), "Found --language, which --from solr does not use"),
        (("--max-age", "7"), "expected a number and a unit"),
        (("--out", "rankings.csv"), "expected a name that ends in .parquet"),
        (
            ("--endpoint", "ftp://127.0.0.1"),
            "Found the endpoint 'ftp://127.0.0.1'; expected one such as https://",
        ),
        (("--credentials-env", "NOT_SET"), "environment variable NOT_SET is empty"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: tuple[str, ...], reason: str, server: LoopbackEngine, tmp_path: Path
) -> None:
    done = wayword(*solr(server, tmp_path), *options)
    assert done.code == 2
    assert reason in " ".join(done.err.split())
    assert not server.requests


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "opensearch",
            '{"query": {"match": {"title": "tv"}}}',
            'expected a JSON object with a text "{query}"',
        ),
        ("opensearch", '{"query": {query}}', "is no JSON"),
        ("opensearch", '["{query}"]', "expected a JSON object"),
        (
            "sqlite",
            "SELECT id FROM products WHERE title = 'tv'",
            "expected :query or :all_terms or :any_term",
        ),
        ("sqlite", "SELECT :queryx", "has no place for the query"),
    ],
)
def test_a_template_without_a_place_for_the_query_is_refused(
    name: str, content: str, reason: str, server: LoopbackEngine, tmp_path: Path
) -> None:
    (tmp_path / "template").write_text(content)
    (tmp_path / "shop.db").write_bytes(b"")
    at = (
        ("--endpoint", tmp_path / "shop.db")
        if name == "sqlite"
        else ("--endpoint", server.address, "--index", "x")
    )
    log = tmp_path / "log.csv"
    log.write_text("query\ntv\n")
    done = wayword(
        *("rankings", "--from", name, *at, "--template", tmp_path / "template", "--queries", log),
        *("--out", tmp_path / "rankings.parquet"),
    )
    assert done.code == 2
    assert reason in " ".join(done.err.split())
