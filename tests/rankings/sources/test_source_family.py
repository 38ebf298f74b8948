"""Every source, on the same small catalogue: the same rankings, in the engine's own order."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loopback_engine import CATALOGUE, LoopbackEngine, loopback_engine, matching
from real_engines import groonga, postgres
from wayword.engines.duck import DuckDB
from wayword.rankings import asking, table
from wayword.rankings.asking import Limits
from wayword.rankings.collect import collect
from wayword.rankings.sources.callable import Function
from wayword.rankings.sources.members import MEMBERS, open_source
from wayword.rankings.sources.source import Answer, Options, Source

QUERIES = [
    "Player",
    "video",
    "c++",
    "o'reilly books",
    "line\nbreak",
    "line\tbreak",
    "nothing at all",
    "{query}",
    "{depth} $depth",
    "%(query)s :query ?1",
    "'; DROP TABLE products; --",
    '"} , "size": 0}\n{}\n{"query": {"match_all": {}}',
    "a&n=0#d?q=e",
    "../../_all/_search",
    "100% %00 %2e",
    "*:* {!func}1 _query_:x",
    'unbalanced " quote',
    "NEAR(x -y ^z",
    "\\ \\' \\\"",
    "日本語 🎬",
    "...",
]
"""The last words of each find nothing in the catalogue where a character is special."""
POSTGRES_SQL = """
SELECT id FROM products WHERE to_tsvector('simple', title) @@ plainto_tsquery('simple', %(query)s)
ORDER BY ts_rank(to_tsvector('simple', title), plainto_tsquery('simple', %(query)s)) DESC, place LIMIT %(depth)s
"""
SQLITE_SQL = "SELECT id FROM products WHERE products MATCH :all_terms ORDER BY rank, rowid LIMIT :depth"
TEMPLATE = {"query": {"match": {"title": "{query}"}}, "size": "{depth}", "_source": False}


def products(path: Path) -> Path:
    """The catalogue in SQLite, with a full-text index."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE VIRTUAL TABLE products USING fts5(id UNINDEXED, title)")
        database.executemany("INSERT INTO products VALUES (?, ?)", CATALOGUE.items())
    return path


def fill_postgres(address: str) -> None:
    """The catalogue in PostgreSQL, unless it is there."""
    import psycopg

    with psycopg.connect(address) as database:
        database.execute("CREATE TABLE IF NOT EXISTS products (place int PRIMARY KEY, id text, title text)")
        for place, (name, title) in enumerate(CATALOGUE.items()):
            values = (place, name, title)
            database.execute("INSERT INTO products VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", values)


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def documents(path: Path) -> Path:
    pq.write_table(pa.table({"document": [*CATALOGUE], "title": [*CATALOGUE.values()]}), path)
    return path


def exported(path: Path) -> Path:
    rows = [
        {"query": query, "document": name, "rank": rank}
        for query in QUERIES
        for rank, name in enumerate(matching(query), start=1)
    ]
    pq.write_table(pa.Table.from_pylist(rows[::-1]), path)
    return path


def http(name: str, engine: LoopbackEngine, folder: Path, **more: Any) -> tuple[str, Options]:
    """The options of a source that asks a loopback engine."""
    if name == "solr":
        return name, Options(endpoint=engine.address + "/solr", index="products", **more)
    if name == "url":
        address = engine.address + "/search?q={query}&n={depth}"
        return name, Options(endpoint=address, json_path="results[*].sku.id", **more)
    template = saved(folder / "search.json", json.dumps(TEMPLATE))
    return name, Options(endpoint=engine.address, index="products", template=template, **more)


FAMILY = [
    "opensearch",
    "elasticsearch",
    "solr",
    "url",
    "sqlite",
    "bm25",
    "file",
    "callable",
    pytest.param("postgres", marks=pytest.mark.slow),
    pytest.param("groonga", marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks are short; nothing is flushed to disk, which other tests look at."""
    monkeypatch.setattr(asking, "FIRST_BREAK", 0.01)
    monkeypatch.setattr("os.fsync", lambda _handle: None)


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[str], Any]]:
    """Servers by name, each started when it is first asked for."""
    with ExitStack() as stack:
        started: dict[str, Any] = {}

        def server(name: str) -> Any:
            if name not in started:
                makers: dict[str, Callable[[], Any]] = {
                    "postgres": postgres,
                    "groonga": lambda: groonga(CATALOGUE),
                    "http": loopback_engine,
                }
                started[name] = stack.enter_context(makers[name]())
            return started[name]

        yield server


@pytest.fixture(params=FAMILY)
def source(request: pytest.FixtureRequest, tmp_path: Path, servers: Callable[[str], Any]) -> Iterator[Source]:
    name = request.param
    if name == "callable":
        made: Source = Function(matching)
    elif name == "sqlite":
        sql = saved(tmp_path / "search.sql", SQLITE_SQL)
        made = open_source(name, Options(endpoint=str(products(tmp_path / "shop=*?#.db")), template=sql))
    elif name == "postgres":
        address = servers(name)
        fill_postgres(address)
        made = open_source(
            name, Options(endpoint=address, template=saved(tmp_path / "search.sql", POSTGRES_SQL))
        )
    elif name == "groonga":
        select = (
            "/d/select?table=Products&match_columns=title&query={query}&query_flags=NONE&output_columns=_key"
        )
        address = servers(name) + select + "&sort_keys=-_score,place&limit={depth}"
        made = open_source("url", Options(endpoint=address, json_path="$[1][0][2:][0]"))
    elif name == "bm25":
        made = open_source(name, Options(documents=documents(tmp_path / "documents.parquet")))
    elif name == "file":
        made = open_source(str(exported(tmp_path / "exported.parquet")), Options())
    else:
        made = open_source(*http(name, servers("http"), tmp_path))
    with closing(made) as opened:
        yield opened


def log_of(queries: Sequence[str], path: Path) -> Path:
    """A log in which each query was searched once."""
    pq.write_table(pa.table({"query": queries, "document": ["vlc"] * len(queries)}), path)
    return path


def rankings_in(path: Path) -> dict[str, list[str]]:
    """The documents of each query, by rank."""
    found: dict[str, list[str]] = {}
    for row in pq.read_table(path).to_pylist():
        found.setdefault(row["query"], []).append(row["document"])
        assert row["rank"] == len(found[row["query"]])
    return found


def expected(queries: Sequence[str], depth: int = 100) -> dict[str, list[str]]:
    return {query: found for query in queries if (found := matching(query, depth))}


REFUSED = {"groonga": {"NEAR(x -y ^z", "'; DROP TABLE products; --"}}
"""In Groonga's query language, these are errors."""
# "line\nbreak" and "line\tbreak" have one normal form, so one of them is asked; which one is the first by its text
ASKED = [query for query in QUERIES if query != "line\nbreak"]


def test_the_family_is_complete() -> None:
    names = {getattr(one, "values", (one,))[0] for one in FAMILY}
    assert names >= MEMBERS.keys()


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_every_source_gives_the_engines_own_order_and_no_character_is_special(
    source: Source, tmp_path: Path, depth: int, request: pytest.FixtureRequest
) -> None:
    refused = REFUSED.get(request.node.callspec.params["source"], set())
    found = collect(
        source,
        [log_of(QUERIES, tmp_path / "log.parquet")],
        out=tmp_path / "rankings.parquet",
        depth=depth,
        limits=Limits(max_failed=len(refused) / len(ASKED)),
    )
    wanted = expected(ASKED, depth) | ({"line\tbreak": ["Breaks"]})
    assert rankings_in(found.path) == wanted
    assert {query for query, _ in found.failures.examples} == refused
    assert found.asked == found.queries == len(ASKED)
    assert found.without_results == len(ASKED) - len(wanted) - len(refused)


def test_a_second_run_asks_only_what_is_new(source: Source, tmp_path: Path) -> None:
    class Counting:
        batch, most_batch, most_threads = source.batch, source.most_batch, source.most_threads
        asked: list[str]

        @property
        def identity(self) -> dict[str, Any]:
            return source.identity

        def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
            self.asked += queries
            return source.ask(queries, depth)

        def close(self) -> None:
            pass

    counting, out = Counting(), tmp_path / "rankings.parquet"
    counting.asked = []
    first = collect(counting, [log_of(["video", "nothing"], tmp_path / "one.parquet")], out=out)
    before = pq.read_table(out)
    second = collect(counting, [log_of(["video", "nothing", "player"], tmp_path / "two.parquet")], out=out)
    assert (first.asked, first.known, second.asked, second.known) == (2, 0, 1, 2)
    assert sorted(counting.asked) == ["nothing", "player", "video"]
    assert rankings_in(out) == expected(["player", "video"])
    assert second.without_results == 1
    after = pq.read_table(out)
    assert after.filter(pa.compute.equal(after["query"], "video")).equals(before)


def test_run_reads_what_was_collected(source: Source, tmp_path: Path, engine: DuckDB) -> None:
    log = log_of(["video", "Player"], tmp_path / "log.parquet")
    found = collect(source, [log], out=tmp_path / "rankings.parquet")
    table.read(engine, found.path)
    rows = engine.arrow(
        "SELECT raw_query, document_id, rank FROM ranked ORDER BY raw_query, rank"
    ).to_pylist()
    assert [(row["raw_query"], row["document_id"]) for row in rows] == [
        (query, name) for query in ("Player", "video") for name in matching(query)
    ]
