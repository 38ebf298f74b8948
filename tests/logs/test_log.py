import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inputs import Row, built, click, refused, write
from wayword.config import Config
from wayword.engines import Engine
from wayword.errors import LogError, WaywordError
from wayword.pipeline import run
from wayword.serving.completer import Completer

ODD = [
    "order",
    'my "col"',
    "row",
    "context",
    "split",
    "Text",
    "search",
    "pass",
    "a:b",
    "naïve 列",
    "raw_query",
    "p",
]
QUICK = Config.parse(
    {"retriever": {"model": "popular"}, "ranker": {"rounds": 2}, "evaluation": {"bootstrap": 10}}
)


def test_the_same_log_in_every_format_gives_the_same_tables(engine: Engine, tmp_path: Path) -> None:
    rows = [
        click(
            n,
            search_id=f"s{n // 2}",
            weight=n / 2,
            user=f"u{n // 2}",
            time=n,
            age=n // 2 + 0.5,
            shop=f"a,'\"\n{n // 2}",
        )
        for n in range(12)
    ]
    for row in rows:
        row["query"] = "Same Query"
    rows.append({"query": 'No "click",\nhere', "document": None, "rank": None, "search_id": "last"})
    tables = [built(engine, write(tmp_path / f"log.{e}", rows)) for e in ("parquet", "csv", "tsv", "jsonl")]
    assert tables[1:] == tables[:1] * 3
    searches, clicks = tables[0]
    assert [s["context_age"] for s in searches] == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, None]
    assert searches[-1]["text"] == "no click here"
    assert clicks[3] == {"search": 1, "document_id": "003", "rank": 4, "weight": 3 / 2}
    assert len(clicks) == 12


def test_only_query_document_and_rank_are_needed(engine: Engine, tmp_path: Path) -> None:
    searches, clicks = built(engine, write(tmp_path / "log.csv", [click(n) for n in range(3)]))
    assert [s["search_id"] for s in searches] == ["0", "1", "2"]
    assert [(c["document_id"], c["rank"], c["weight"]) for c in clicks] == [
        ("000", 1, 1),
        ("001", 2, 1),
        ("002", 3, 1),
    ]


def test_integers_with_gaps_are_the_same_ids_as_integers(engine: Engine, tmp_path: Path) -> None:
    table = pa.table(
        {"query": ["a", "b"], "document": [7.0, None], "rank": [1.0, None], "search_id": [12.0, 13.0]}
    )
    pq.write_table(table, tmp_path / "log.parquet")
    searches, clicks = built(engine, tmp_path / "log.parquet")
    assert [s["search_id"] for s in searches] == ["12", "13"]
    assert [c["document_id"] for c in clicks] == ["7"]


def test_parquet_types_of_all_kinds_are_read(engine: Engine, tmp_path: Path) -> None:
    columns = {
        "query": pa.array(["a", "b"]).cast(pa.large_string()),
        "document": pa.array(["1", "2"]).dictionary_encode(),
        "rank": pa.array([1, 2], pa.int8()),
        "weight": pa.array([1, 2]).cast(pa.decimal128(30, 2)),
        "time": pa.array([0, 1]).cast(pa.timestamp("ns", "Asia/Tokyo")),
        "count": pa.array([3, 4], pa.uint16()),
        "flag": pa.array([True, None]),
        "null": pa.nulls(2),
        "bytes": pa.array([b"x", b"y"]),
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    searches, clicks = built(engine, tmp_path / "log.parquet", split="time")
    assert [c["weight"] for c in clicks] == [1.0, 2.0]
    first = {name: value for name, value in searches[0].items() if name.startswith("context_")}
    assert first == {
        "context_count": 3.0, "context_flag": "true", "context_null": None, "context_bytes": "x",
    }  # fmt: skip


def test_nan_in_a_context_column_is_missing(engine: Engine, tmp_path: Path) -> None:
    rows = [click(0, price=float("nan")), click(1, price=2.0)]
    searches, _ = built(engine, write(tmp_path / "log.parquet", rows))
    assert [s["context_price"] for s in searches] == [None, 2.0]


@pytest.mark.parametrize("rank", [0, -1, 1.5, "abc", 1e300, float("nan"), None, 2**31])
def test_a_rank_that_is_none_is_shown(engine: Engine, tmp_path: Path, rank: Any) -> None:
    message = refused(engine, tmp_path, [click(0, rank=rank), *[click(n, rank=rank) for n in range(1, 9)]])
    assert "a rank that is not a whole number from 1 up (9 in all)" in message
    assert message.count("row ") == 5
    assert "row 1: search_id='0', query='Query 0', document='000'" in message


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e300, "x"])
def test_a_weight_that_is_none_is_shown(engine: Engine, tmp_path: Path, weight: Any) -> None:
    assert "weight that is negative, huge or not a number" in refused(
        engine, tmp_path, [click(0, weight=weight)]
    )


@pytest.mark.parametrize("query", ["", "  ", "\t", "\u200b", None])
def test_a_blank_query_is_refused(engine: Engine, tmp_path: Path, query: str | None) -> None:
    message = refused(engine, tmp_path, [click(0), click(1, query=query)])
    assert "a row without a query (1 in all)" in message
    assert "row 2: " in message


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([click(0, search_id="s"), click(1, search_id="s")], "two queries .* one='Query 0', another='Query 1'"),
        ([click(0, search_id="s"), click(0, search_id="s", rank=9)], "two ranks .* low=1.0, high=9.0"),
        ([click(0, search_id="s"), click(0, search_id=None)], "row without a search_id .* row 2"),
        ([click(0, search_id="s", prefix="q"), click(0, search_id="s", prefix="")], "two queries or two prefixes"),
        ([click(0, search_id="s", user="a"), click(0, search_id="s", user="b")], "two users"),
        ([click(0, search_id="s", shop="a"), click(0, search_id="s", shop="b")], "two values .* column shop"),
        ([click(0, price=float("inf"))], "infinite or too large in the context column price"),
        ([{"Query": "a", "rank": 1}], "lacks the columns query, document.*found: +Query, rank.*expected: query"),
    ],
)  # fmt: skip
def test_contradictions_are_named(engine: Engine, tmp_path: Path, rows: list[Row], message: str) -> None:
    assert re.search(message, refused(engine, tmp_path, rows), re.DOTALL)


def test_a_log_without_rows_is_refused(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("query,document,rank\n")
    with pytest.raises(LogError, match="it has columns but no row"):
        built(engine, tmp_path / "log.csv")


@pytest.mark.parametrize("grade", [None, -1.0, float("nan"), 1e9])
def test_a_grade_that_is_none_is_refused(engine: Engine, tmp_path: Path, grade: Any) -> None:
    rows = [{"query": "a", "document": "d", "grade": grade}]
    assert "grade that is negative or not a number" in refused(engine, tmp_path, rows, judged=True)


def test_judgments_of_a_query_are_one_search_and_a_rank_in_them_is_not_read(
    engine: Engine, tmp_path: Path
) -> None:
    pairs = [("a|b", "c"), ("a", "b|c"), ("a|b", "c")]
    rows = [
        {"query": q, "prefix": p, "document": f"d{n}", "grade": n, "rank": "x"}
        for n, (q, p) in enumerate(pairs)
    ]
    searches, clicks = built(engine, write(tmp_path / "log.parquet", rows), judged=True)
    assert [s["text"] for s in searches] == ["a|b", "a"]
    assert [(c["search"], c["weight"], c["rank"]) for c in clicks] == [
        (0, 0, None),
        (0, 2, None),
        (1, 1, None),
    ]


def rankings() -> list[Row]:
    return [{"query": f"query {q}", "document": f"00{d}", "rank": d + 1} for q in range(3) for d in range(4)]


def test_context_columns_of_any_name_reach_the_completer(tmp_path: Path) -> None:
    rows = [click(n, **dict.fromkeys(ODD, "ab"[n % 2]), size=n % 2) for n in range(60)]
    workspace = run(
        write(tmp_path / "log.parquet", rows),
        write(tmp_path / "r.csv", rankings()),
        out=tmp_path / "out",
        config=QUICK,
    )
    completer = Completer.open(workspace)
    assert completer.complete("q", context={**dict.fromkeys(ODD, "a"), "size": 1})
    with pytest.raises(WaywordError, match="the log's context columns are: order, "):
        completer.complete("q", context={"no such": 1})


@pytest.mark.parametrize(
    "rows",
    [
        [click(0)],
        [click(0, document=None)],
        [click(n, prefix="") for n in range(30)],
        [click(n, prefix="zzz") for n in range(30)],
        [click(n, weight=0) for n in range(30)],
        [click(n, document="\0'\"") for n in range(30)],
        [click(n, query="?") for n in range(30)],
        [click(n, query="x y" * 50_000) for n in range(30)],
    ],
    ids=["one row", "no click", "nothing typed", "other prefix", "no weight", "odd ids", "short", "long"],
)  # fmt: skip
def test_a_poor_log_ends_in_a_workspace_or_in_our_error(tmp_path: Path, rows: list[Row]) -> None:
    answers = rankings() + [{"query": row["query"], "document": "\0'\"", "rank": 99} for row in rows]
    log_path, rankings_path = write(tmp_path / "log.parquet", rows), write(tmp_path / "r.parquet", answers)
    with suppress(WaywordError):
        run(log_path, rankings_path, out=tmp_path / "out", config=QUICK)
