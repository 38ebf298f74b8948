"""Reading lists shown: what contradicts is left out and counted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.completion.shown_lists import ANOTHER_LOG, OTHER_QUERY, ShownLists, read
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.errors import LogError

TEXTS = ["lamp", "lamp red", "lock"]
SCHEMA = pa.schema(
    [
        ("typing_session", pa.string()),
        ("position_in_session", pa.int32()),
        ("prefix", pa.string()),
        ("shown", pa.list_(pa.string())),
        ("taken", pa.int32()),
        ("query", pa.string()),
        ("search_id", pa.int64()),
        ("device", pa.string()),
    ]
)
Row = tuple[Any, ...]


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Lists shown are read by the embedded engine, wherever the tables of the log are."""
    made = DuckDB(threads=1)
    yield made
    made.close()


def row(
    session: str | None,
    position: int | None,
    prefix: str = "l",
    shown: list[str] | None = None,
    taken: int | None = None,
    query: str | None = "lock",
    search: int | None = 7,
    device: str | None = None,
) -> Row:
    return (
        session,
        position,
        prefix,
        ["lamp", "Lock!"] if shown is None else shown,
        taken,
        query,
        search,
        device,
    )


def read_rows(engine: Engine, folder: Path, rows: list[Row], by: str | None = None) -> ShownLists:
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in rows], schema=SCHEMA)
    pq.write_table(table, folder / "completions.parquet")
    return read(engine, folder / "completions.parquet", TEXTS, by)


def test_sessions_are_in_order_and_texts_are_numbers(engine: Engine, tmp_path: Path) -> None:
    lists = read_rows(
        engine,
        tmp_path,
        [
            row("b", 1, "LO ", taken=2, device="phone"),
            row("b", 0, "l", ["lamp red", "unknown"], device="phone"),
            row("a", 0, "la", [], query="lamp", search=9),
        ],
        by="device",
    )
    assert lists.sessions == 2
    first = lists.query.tolist().index(2)  # session b issued "lock"
    assert lists.search_id.to_pylist()[first] == "7"
    assert lists.value.to_pylist()[first] == "phone"
    b = lists.of_sessions(np.arange(2) == first)
    assert [b.prefixes[at] for at in b.prefix] == ["l", "lo"]
    assert b.taken.tolist() == [0, 2]
    assert b.shown.values.tolist() == [1, -1, 0, 2]
    assert b.took.tolist() == [True]
    assert not lists.left_out
    assert not lists.of_sessions(np.zeros(2, np.bool_)).sessions


def test_contradictions_are_left_out_and_counted(engine: Engine, tmp_path: Path) -> None:
    rows = [
        row("good", 0),
        row("good", 0),  # the same again
        row("good", 1, taken=1),  # taken, and logged before as only shown:
        row("good", 1),
        row("good", 2),  # shown after the take
        row("beyond", 0, taken=3),
        row("beyond", 1, taken=1),
        row("nothing followed", 0, query=None),
        row("nothing followed", 1, query=None),
        row("twice", 0, taken=1),
        row("twice", 1, taken=2),
        row(None, 0),
        *(row(f"fine {i}", 0, taken=1) for i in range(60)),
        row("zero", 0, taken=0),
    ]
    lists = read_rows(engine, tmp_path, rows)
    assert lists.sessions == 62
    assert len(lists) == 63
    assert dict(lists.left_out) == {
        "lists without a typing session": 1,
        "rows that repeat a list of their session": 2,
        "sessions with a position in the list that cannot be": 2,
        "sessions in which nothing was taken and no search followed": 1,
        "lists of these": 2,
        "sessions with two taken suggestions, of which the first counts": 1,
        "lists shown after a suggestion was taken": 2,
    }
    assert (lists.taken <= lists.shown.lengths).all()


def test_positions_from_0_are_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"2 of 3 suggestions taken at position 0; expected positions from 1"):
        read_rows(engine, tmp_path, [row("a", 0, taken=0), row("b", 0, taken=0), row("c", 0, taken=1)])


def test_a_table_without_rows_has_no_sessions(engine: Engine, tmp_path: Path) -> None:
    lists = read_rows(engine, tmp_path, [])
    assert (lists.sessions, len(lists)) == (0, 0)


def test_missing_columns_and_other_types_are_named(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "other.parquet"
    pq.write_table(pa.table({"query": ["a"], "shown": ["b"]}), file)
    with pytest.raises(
        LogError, match="lacks the columns typing_session, position_in_session, prefix, taken"
    ):
        read(engine, file, TEXTS)
    columns = {name: pa.array(["1"]) for name in SCHEMA.names}
    pq.write_table(pa.table(columns), file)
    with pytest.raises(
        LogError, match="the column shown has values of the type VARCHAR; expected lists of text"
    ):
        read(engine, file, TEXTS)


# --- the searches of a log


def log_of(*queries: int) -> pa.Table:
    """A log whose searches are 0, 1, …"""
    return pa.table(
        {"search_id": [str(n) for n in range(len(queries))], "query": pa.array(queries, pa.int32())}
    )


def test_a_search_that_issued_another_query_in_the_log_is_not_used(engine: Engine, tmp_path: Path) -> None:
    sessions = int(1 / ANOTHER_LOG) * 2
    rows = [row(f"{n:03d}", 0, query="lock", search=n) for n in range(sessions)]
    lists = read_rows(engine, tmp_path, rows)
    joined = lists.in_log(log_of(TEXTS.index("lamp"), *[TEXTS.index("lock")] * (sessions - 1)))
    assert not joined.another_log
    kept = joined.agreeing()
    assert sorted(map(str, kept.search_id.to_pylist())) == sorted(["None", *map(str, range(1, sessions))])
    assert kept.left_out == {OTHER_QUERY: 1}
    joined.check("completions.parquet")


def test_numbers_of_another_log_are_no_searches_of_this_one(engine: Engine, tmp_path: Path) -> None:
    queries = ["lamp", "lock", "lamp red", "lock"]
    rows = [row(f"s{n}", 0, query=query, search=n) for n, query in enumerate(queries)]
    lists = read_rows(engine, tmp_path, [*rows, row("s9", 0, search=9), row("s10", 0, search=None)])
    joined = lists.in_log(log_of(0, 0, 0, 2))  # two agree by chance
    assert joined.another_log
    kept = joined.agreeing()
    assert [name for name in kept.search_id.to_pylist() if name] == ["9"]
    assert kept.left_out == {OTHER_QUERY: 4}
    with pytest.raises(
        LogError, match=r"2 of 4 typing sessions whose search issued another query .* search_id [12];"
    ):
        joined.check("completions.parquet")
