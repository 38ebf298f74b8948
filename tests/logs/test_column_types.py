"""A column of a type that its values cannot have is refused by name, in every input table and every format."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inputs import built, click, write
from wayword.config import LogConfig, RankingsConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.evaluation.ceiling import true_demand
from wayword.logs import log
from wayword.logs import stage as log_stage
from wayword.progress import SILENT
from wayword.rankings import stage as rankings_stage
from wayword.rankings import table as rankings

NESTED: dict[str, Any] = {
    "list": pa.array([["a"], ["b"]]),
    "fixed list": pa.array([[1], [2]], pa.list_(pa.int64(), 1)),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
}
NOT_TEXT: dict[str, Any] = NESTED | {
    "boolean": pa.array([True, False]),
    "timestamp": pa.array([dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)]),
    "date": pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2)]),
}
LOG = {"query": pa.array(["a", "b"]), "document": pa.array(["1", "2"]), "rank": pa.array([1, 2])}


def _wrong(name: str, types: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, kind) for kind in types]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            case
            for name in ("query", "document", "prefix", "search_id", "user")
            for case in _wrong(name, NOT_TEXT)
        ),
        *(case for name in ("rank", "weight") for case in _wrong(name, NOT_TEXT)),
        *(case for name in ("time", "device") for case in _wrong(name, NESTED)),
        ("time", "boolean"),
    ],
)
def test_a_wrong_type_in_a_log_is_named(name: str, kind: str, engine: Engine, tmp_path: Path) -> None:
    pq.write_table(pa.table(LOG | {name: NOT_TEXT[kind]}), tmp_path / "log.parquet")
    with pytest.raises(
        LogError, match=rf"log\.parquet cannot be used:\n- the column {name} has values of the type"
    ):
        log.build(engine, tmp_path / "log.parquet", LogConfig())


@pytest.mark.parametrize("name", ["query", "document", "rank"])
@pytest.mark.parametrize("kind", NOT_TEXT)
def test_a_wrong_type_in_rankings_is_named(name: str, kind: str, engine: Engine, tmp_path: Path) -> None:
    pq.write_table(pa.table(LOG | {name: NOT_TEXT[kind]}), tmp_path / "rankings.parquet")
    with pytest.raises(LogError, match=f"- the column {name} has values of the type"):
        rankings.read(engine, tmp_path / "rankings.parquet")


def test_a_wrong_type_in_documents_and_in_the_truth_is_named(engine: Engine, tmp_path: Path) -> None:
    clicks = write(tmp_path / "clicks.csv", [click(n) for n in range(8)])
    (tmp_path / "log").mkdir()
    log_stage.write(tmp_path / "log", clicks, LogConfig())
    for name in ("document", "title", "name"):
        columns = {"document": pa.array(["1", "2"]), "title": pa.array(["a", "b"]), "tags": NESTED["list"]}
        pq.write_table(pa.table(columns | {name: NESTED["struct"]}), tmp_path / "documents.parquet")
        (tmp_path / name).mkdir()
        with pytest.raises(LogError, match=f"- the column {name} has values of the type STRUCT"):
            rankings_stage.write(
                tmp_path / name,
                {"log": tmp_path / "log"},
                RankingsConfig(),
                exported=None,
                documents=tmp_path / "documents.parquet",
                progress=SILENT,
            )
    engine.step("numbered_searches", "SELECT CAST(NULL AS STRING) AS prefix")
    truth = write(tmp_path / "truth.csv", [{"query": "a", "document": "1", "mass": "much"}])
    with pytest.raises(
        LogError, match="- the column mass has values of the type VARCHAR; expected real numbers"
    ):
        true_demand(engine, truth, [], None)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [["a"], {"a": 1}])
@pytest.mark.parametrize("name", ["query", "document", "rank", "time", "device"])
def test_one_nested_value_in_json_lines_is_refused(
    name: str, value: object, engine: Engine, tmp_path: Path
) -> None:
    rows = [click(n) | {name: "1"} for n in range(8)]
    rows[5][name] = value
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(LogError, match=f"- the column {name} has values of the type JSON"):
        log.build(engine, tmp_path / "log.jsonl", LogConfig())


def test_boolean_queries_in_json_lines_are_refused_and_boolean_context_is_read(
    engine: Engine, tmp_path: Path
) -> None:
    searches, _ = built(engine, write(tmp_path / "log.jsonl", [click(n, logged_in=n > 2) for n in range(8)]))
    assert [s["context_logged_in"] for s in searches] == ["false"] * 3 + ["true"] * 5
    with pytest.raises(LogError, match="- the column query has values of the type BOOLEAN; expected text"):
        built(engine, write(tmp_path / "other.jsonl", [click(n) | {"query": True} for n in range(8)]))


def test_keys_of_json_lines_may_have_any_characters(engine: Engine, tmp_path: Path) -> None:
    odd = {"a/b~c": "1", 'with "quotes"': "2", "*": "3", "x.y[0]": "4", "it's": "5"}
    searches, _ = built(engine, write(tmp_path / "log.jsonl", [click(n, **odd) for n in range(8)]))
    assert [searches[0][f"context_{name}"] for name in odd] == [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(LogError, match=r"- the column a/b~c has values of the type JSON"):
        built(engine, write(tmp_path / "other.jsonl", [click(0) | {"a/b~c": [1]}]))


def test_nan_in_a_column_of_identifiers_is_missing(engine: Engine, tmp_path: Path) -> None:
    rows = [click(n) | {"document": float(n) if n else float("nan")} for n in range(8)]
    _, clicks = built(engine, write(tmp_path / "log.parquet", rows))
    assert [c["document_id"] for c in clicks] == [str(n) for n in range(1, 8)]
