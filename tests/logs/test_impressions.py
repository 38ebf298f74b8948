import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inputs import Row, write
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import impressions
from wayword.logs.impressions import TWICE, TWICE_CLICKED, UNREAD_TIMES
from wayword.store.input_file import InputFile


def shown(number: int, **other: Any) -> Row:
    """Three results of each search, the first clicked."""
    row = {"search_id": f"s{number // 3}", "query": "TV  Stand", "document": f"d{number % 3}"}
    return {**row, "rank": number % 3 + 1, "clicked": number % 3 == 0} | other


def read(engine: Engine, path: Path, *, first_rank: int = 1) -> tuple[list[Row], dict[str, int]]:
    counts = impressions.read(engine, InputFile(path), first_rank=first_rank)
    return engine.arrow("SELECT * FROM impressions ORDER BY search_id, rank, document").to_pylist(), counts


def refused(engine: Engine, path: Path, **options: int) -> str:
    with pytest.raises(LogError) as error:
        read(engine, path, **options)
    return str(error.value)


def test_the_same_impressions_in_every_format_are_the_same_table(engine: Engine, tmp_path: Path) -> None:
    rows = [shown(n, time=f"2026-01-0{n // 3 + 1}T00:00:00Z", swap="a" if n < 2 else None) for n in range(9)]
    found = [read(engine, write(tmp_path / f"log.{e}", rows)) for e in ("parquet", "csv", "tsv", "jsonl")]
    assert found[1:] == found[:1] * 3
    table, counts = found[0]
    assert counts == {"rows": 9, "impressions": 9}
    assert table[0] == {
        "search_id": "s0", "query": "tv stand", "document": "d0", "rank": 1, "clicked": True,
        "time": 1_767_225_600_000_000, "swap": "a",
    }  # fmt: skip
    assert [row["clicked"] for row in table] == [True, False, False] * 3
    kinds = engine.columns("impressions")
    assert (kinds["rank"], kinds["clicked"], kinds["time"]) == ("INTEGER", "BOOLEAN", "BIGINT")


@pytest.mark.parametrize("clicked", [(0, 1), (0.0, 1.0), ("false", "TRUE"), (False, True), ("0", "1")])
def test_clicked_is_a_number_or_a_truth_value(
    engine: Engine, tmp_path: Path, clicked: tuple[Any, Any]
) -> None:
    path = write(tmp_path / "log.parquet", [shown(n, clicked=clicked[n == 1]) for n in range(3)])
    assert [row["clicked"] for row in read(engine, path)[0]] == [False, True, False]


def test_ranks_may_start_at_0(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", [shown(n, rank=n % 3) for n in range(6)])
    table, _ = read(engine, path, first_rank=0)
    assert [row["rank"] for row in table] == [1, 2, 3, 1, 2, 3]
    message = refused(engine, path)
    assert "a rank that is not a whole number from 1 up (2 in all)" in message
    assert "`--first-rank 0` where the first is 0" in message
    assert "row 1: " in message


def test_rows_that_are_there_twice_are_one_impression(engine: Engine, tmp_path: Path) -> None:
    rows = [shown(0), shown(0, clicked=False), shown(1), shown(1), shown(2)]
    table, counts = read(engine, write(tmp_path / "log.csv", rows))
    assert [(row["document"], row["clicked"]) for row in table] == [
        ("d0", True),
        ("d1", False),
        ("d2", False),
    ]
    assert counts == {"rows": 5, "impressions": 3, TWICE: 1, TWICE_CLICKED: 1}


BAD = [
    ([shown(3, search_id=None)], "a row without a search_id", 1),
    ([shown(3, query=" ")], "a row without a query", 1),
    ([shown(3, document=None)], "a row without a document", 1),
    ([shown(3, rank=1.5)], "a rank that is not a whole number from 1 up", 1),
    ([shown(3, clicked=2)], "a value of `clicked` that is neither 0 nor 1, true nor false", 1),
    ([shown(3), shown(4, query="other")], "a search_id that stands for two queries", 2),
    ([shown(3), shown(3, rank=9)], "a document that one search shows at two ranks", 2),
    ([shown(3), shown(3, document="d9")], "two documents that one search shows at one rank", 2),
]


@pytest.mark.parametrize(("rows", "name", "lost"), BAD, ids=[name for _, name, _ in BAD])
def test_few_bad_rows_are_counted_and_many_are_refused(
    engine: Engine, tmp_path: Path, rows: list[Row], name: str, lost: int
) -> None:
    good = [shown(n) for n in range(6, 306)]
    table, counts = read(engine, write(tmp_path / "few.csv", [*good, *rows]))
    assert counts == {"rows": 300 + len(rows), "impressions": 300 + len(rows) - lost, name: lost}
    assert len(table) == 300 + len(rows) - lost
    message = refused(engine, write(tmp_path / "many.csv", [*good[:30], *rows]))
    assert re.search(
        rf"cannot be used:\n- found {name} \(1 in all\); expected .*For example:\n    \S", message
    )


def experiment(searches: int, *, swapped: int = 2, labelled: int = 2, label: str = "1-2") -> list[Row]:
    """Searches of one query; in one of `swapped` the first two results change places."""
    rows = []
    for n in range(3 * searches):
        place = n % 3
        rank = 2 - place if place < 2 and n // 3 % swapped == 0 else place + 1
        rows.append(shown(n, rank=rank, swap=label if place < labelled else None))
    return rows


def test_a_swap_experiment_is_read(engine: Engine, tmp_path: Path) -> None:
    table, counts = read(engine, write(tmp_path / "log.csv", experiment(40)))
    assert counts == {"rows": 120, "impressions": 120}
    assert sum(row["swap"] == "1-2" for row in table) == 80


WRONG_SWAPS = [
    (experiment(40, labelled=3), "a search with a label in `swap` on other than two results", 40),
    (experiment(40, labelled=1), "a search with a label in `swap` on other than two results", 40),
    (experiment(40, swapped=1000), "a label in `swap` whose results hardly change places", 1),
    (
        [row | {"rank": row["rank"] + (n >= 60) * (n % 3)} for n, row in enumerate(experiment(40))],
        "a label in `swap` that stands for more than two ranks",
        1,
    ),
]


@pytest.mark.parametrize(("rows", "name", "count"), WRONG_SWAPS)
def test_labels_that_are_no_swap_experiment_are_refused(
    engine: Engine, tmp_path: Path, rows: list[Row], name: str, count: int
) -> None:
    """Their results have different relevance at the two ranks: p would be wrong without a word."""
    assert f"- found {name} ({count} in all); expected" in refused(engine, write(tmp_path / "log.csv", rows))


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000, 1_000_000_000])
def test_times_may_be_numbers_of_any_unit(engine: Engine, tmp_path: Path, unit: int) -> None:
    rows = [shown(n, time=(1_767_225_600 + n // 3) * unit) for n in range(6)]
    table, _ = read(engine, write(tmp_path / "log.parquet", rows))
    assert {row["time"] for row in table} == {1_767_225_600_000_000, 1_767_225_601_000_000}


def test_times_that_cannot_be_read_are_counted(engine: Engine, tmp_path: Path) -> None:
    rows = [
        shown(0, time="2026-01-01"),
        shown(1, time="yesterday"),
        shown(2, time=None),
        shown(3, time="1969-12-31"),
    ]
    table, counts = read(engine, write(tmp_path / "log.parquet", rows))
    assert counts == {"rows": 4, "impressions": 4, UNREAD_TIMES: 2}
    assert [row["time"] for row in table] == [1_767_225_600_000_000, None, None, None]


def test_a_table_without_the_columns_or_rows_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", [{"query": "a", "document": "d", "rank": 1, "colour": "red"}])
    message = refused(engine, path)
    assert "lacks the columns search_id, clicked." in message
    assert "found:    query, document, rank, colour" in message
    (tmp_path / "empty.csv").write_text("search_id,query,document,rank,clicked\n")
    assert "it has columns but no row" in refused(engine, tmp_path / "empty.csv")


def test_columns_of_other_types_are_named(engine: Engine, tmp_path: Path) -> None:
    rows = {name: [value] for name, value in shown(0).items()}
    pq.write_table(pa.table(rows | {"clicked": [["yes"]]}), tmp_path / "log.parquet")
    assert "clicked has values of the type VARCHAR[]; expected 0 and 1" in refused(
        engine, tmp_path / "log.parquet"
    )
