import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from inputs import Row, built, click, refused, write
from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.logs import log
from wayword.logs.splits import SPLITS

IDS = [*map(str, range(300)), "ü 😀", "it's", " x "]


def slow_split(search_id: str, first: float = 0.6, second: float = 0.3) -> str:
    place = int(hashlib.md5(search_id.encode()).hexdigest()[:8], 16) / 2**32  # noqa: S324
    return "retriever" if place < first else "ranker" if place < first + second else "test"


def splits(engine: Engine, path: Path, rows: list[Row], **config: Any) -> dict[str, str]:
    searches, _ = built(engine, write(path / "log.parquet", rows), **config)
    return {search["search_id"]: search["split"] for search in searches}


def test_the_split_is_md5_of_the_search_id_whatever_the_order_of_rows(engine: Engine, tmp_path: Path) -> None:
    rows = [click(n, search_id=search_id) for n, search_id in enumerate(IDS)]
    expected = {search_id: slow_split(search_id) for search_id in IDS}
    assert splits(engine, tmp_path, rows) == expected
    random.Random(0).shuffle(rows)
    assert splits(engine, tmp_path, rows) == expected
    assert set(expected.values()) == set(SPLITS)


def test_other_shares_move_the_thresholds(engine: Engine, tmp_path: Path) -> None:
    rows = [click(n, search_id=search_id) for n, search_id in enumerate(IDS)]
    found = splits(engine, tmp_path, rows, retriever_share=0.0, ranker_share=0.25)
    assert found == {search_id: slow_split(search_id, 0.0, 0.25) for search_id in IDS}


TIMES: dict[str, list[Any]] = {
    "numbers": [9, 10, 100, -5, 1e9, 0.5, 11, 12, 13, 14],
    "timestamps": [
        "2024-01-01T10:00:00+02:00", "2024-01-01T09:00:00Z", "2024-01-01 09:30:00", "1999-12-31", "2030-01-01",
        "2000-01-01", "2024-01-02T00:30:00+03:00", "2024-01-01T22:00:00Z", "2024-01-03", "2024-01-04",
    ],
}  # fmt: skip
OLDEST_FIRST = {"numbers": [3, 5, 0, 1, 6, 7, 8, 9, 2, 4], "timestamps": [3, 5, 0, 1, 2, 6, 7, 8, 9, 4]}


@pytest.mark.parametrize("kind", TIMES)
def test_by_time_the_oldest_train_the_retriever_and_the_newest_are_the_test(
    engine: Engine, tmp_path: Path, kind: str
) -> None:
    rows = [click(n, search_id=f"s{n}", time=time) for n, time in enumerate(TIMES[kind])]
    found = splits(engine, tmp_path, rows, split="time")
    in_order = [found[f"s{n}"] for n in OLDEST_FIRST[kind]]
    assert in_order == ["retriever"] * 6 + ["ranker"] * 3 + ["test"]


def test_the_time_of_a_search_is_its_earliest_as_a_number(engine: Engine, tmp_path: Path) -> None:
    rows = [
        click(0, search_id="late", time=100),
        click(0, search_id="late", time=20),
        click(0, search_id="soon", time=9),
    ]
    found = splits(engine, tmp_path, rows, split="time", retriever_share=0.5, ranker_share=0.4)
    assert found == {"soon": "retriever", "late": "ranker"}


def test_times_that_are_missing_or_unreadable_are_refused(engine: Engine, tmp_path: Path) -> None:
    assert "no column `time`" in refused(engine, tmp_path, [click(0)], split="time")
    rows = [click(0, time="3"), click(1, time="yesterday"), click(2, time=None)]
    message = refused(engine, tmp_path, rows, split="time")
    assert "2 times that cannot be read" in message
    assert "row 2: search_id='1', time='yesterday'" in message
    assert "cannot be read" in refused(engine, tmp_path, [click(0, time=float("nan"))], split="time")


def test_the_default_shares_are_those_of_the_paper() -> None:
    assert (LogConfig().retriever_share, LogConfig().ranker_share) == (0.6, 0.3)


def how(engine: Engine, tmp_path: Path, rows: list[Row], **config: Any) -> tuple[str, dict[str, str]]:
    path = write(tmp_path / "log.parquet", rows)
    built_log = log.build(engine, path, LogConfig(**config))
    searches = engine.arrow("SELECT search_id, split FROM searches ORDER BY search").to_pylist()
    return str(built_log.report["split"]), {row["search_id"]: row["split"] for row in searches}


def test_by_default_the_split_is_by_time_where_every_row_has_one(engine: Engine, tmp_path: Path) -> None:
    rows = [click(n, search_id=f"s{n}", time=time) for n, time in enumerate(TIMES["timestamps"])]
    said, found = how(engine, tmp_path, rows)
    assert said == "by time: the newest searches are the test"
    assert found == splits(engine, tmp_path, rows, split="time")
    said, found = how(engine, tmp_path, rows, split="hash")
    assert said == "by md5 of the search id"
    assert found == {f"s{n}": slow_split(f"s{n}") for n in range(len(rows))}
    rows[3]["time"] = "soon"
    said, found = how(engine, tmp_path, rows)
    assert said == "by md5 of the search id, as the log has 1 times that cannot be read"
    assert found == {f"s{n}": slow_split(f"s{n}") for n in range(len(rows))}
    said, _ = how(engine, tmp_path, [click(n) for n in range(3)])
    assert said == "by md5 of the search id, as the log has no column `time`"
