from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inputs import Row, write
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import impressions
from wayword.logs.impressions_stage import UNUSED, WITHOUT, number
from wayword.store.input_file import InputFile

QUERIES, DOCUMENTS = ("mail", "tv stand"), ("d1", "d2")
SHOWN: list[Row] = [
    {"search_id": "a", "query": "TV Stand", "document": "d1", "rank": 1, "clicked": 0},
    {"search_id": "a", "query": "TV Stand", "document": "d2", "rank": 2, "clicked": 1},
    {"search_id": "b", "query": "mail", "document": "d1", "rank": 1, "clicked": 0},
    {"search_id": "c", "query": "unknown", "document": "d9", "rank": 1, "clicked": 1},
]


def numbered(
    engine: Engine, folder: Path, shown: list[Row], log: dict[str, str], clicks: list[tuple[int, int]]
) -> dict[str, Any]:
    """Join with a log of searches (search_id → query) and clicks (search, document)."""
    impressions.read(engine, InputFile(write(folder / "shown.csv", shown)))
    engine.load("queries", pa.table({"query": pa.array([0, 1], pa.int32()), "text": QUERIES}))
    engine.load("documents", pa.table({"document": pa.array([0, 1], pa.int32()), "document_id": DOCUMENTS}))
    searches = {"search": pa.array(range(len(log)), pa.int64()), "search_id": [*log], "text": [*log.values()]}
    engine.load("numbered_searches", pa.table(searches))
    search, document = zip(*clicks, strict=True)
    columns = {"search": pa.array(search, pa.int64()), "document": pa.array(document, pa.int32())}
    engine.load("numbered_clicks", pa.table(columns))
    return number(engine, source="shown.csv")


def rows(engine: Engine) -> list[tuple[Any, ...]]:
    table = engine.arrow("SELECT * FROM numbered_impressions ORDER BY search_id, rank")
    assert table.column_names == ["search_id", "search", "query", "document", "rank", "clicked"]
    return [tuple(row.values()) for row in table.to_pylist()]


def test_impressions_get_the_numbers_of_the_log_and_null_where_it_has_none(
    engine: Engine, tmp_path: Path
) -> None:
    report = numbered(engine, tmp_path, SHOWN, {"x": "mail", "a": "tv stand"}, [(0, 0), (1, 0), (1, 1)])
    assert rows(engine) == [
        ("a", 1, 1, 0, 1, False),
        ("a", 1, 1, 1, 2, True),
        ("b", None, 0, 0, 1, False),
        ("c", None, None, None, 1, True),
    ]
    assert report == {
        "searches": 3,
        "clicked impressions": 2,
        "searches in the log": 1,
        WITHOUT: 1,  # (1, 0); of search 0 nothing is known
        UNUSED: 0,
    }


def test_impressions_of_another_log_are_refused_with_an_example(engine: Engine, tmp_path: Path) -> None:
    log = {"a": "mail", "b": "tv stand"}
    with pytest.raises(LogError, match=r"2 of 2 search_ids .* such as a \('tv stand', in the log 'mail'\)"):
        numbered(engine, tmp_path, SHOWN, log, [(0, 0)])


def test_a_search_id_that_contradicts_the_log_is_not_joined_and_counted(
    engine: Engine, tmp_path: Path
) -> None:
    shown = [{**SHOWN[0], "search_id": f"s{n}", "query": "mail"} for n in range(100)]
    log = {f"s{n}": "mail" if n else "tv stand" for n in range(100)}
    assert numbered(engine, tmp_path, shown, log, [(0, 0)])[UNUSED] == 1
    assert [row[1] for row in rows(engine) if row[0] in ("s0", "s1")] == [None, 1]


def test_a_log_that_has_no_search_ids_is_not_joined_by_its_row_numbers(
    engine: Engine, tmp_path: Path
) -> None:
    shown = [{**row, "search_id": n} for row, n in zip(SHOWN, "0012", strict=True)]
    report = numbered(engine, tmp_path, shown, {"0": "mail", "1": "mail", "2": "mail"}, [(0, 0)])
    assert (report[UNUSED], report["searches in the log"]) == (2, 0)
    assert [row[1] for row in rows(engine)] == [None] * 4
    assert [row[2] for row in rows(engine)] == [1, 1, 0, None]
