"""Logs small enough to read, written in any format."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import log

Row = dict[str, Any]


def click(number: int, **other: Any) -> Row:
    return {"query": f"Query {number % 3}", "document": f"00{number % 4}", "rank": number % 4 + 1} | other


def write(path: Path, rows: list[Row]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix == ".parquet":
        pq.write_table(pa.table({n: [row.get(n) for row in rows] for n in names}), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def built(engine: Engine, path: Path, *, judged: bool = False, **config: Any) -> tuple[list[Row], list[Row]]:
    log.build(engine, path, LogConfig(**config), judged=judged)
    searches = engine.arrow("SELECT * FROM searches ORDER BY search").to_pylist()
    return searches, engine.arrow("SELECT * FROM clicks ORDER BY search, document_id").to_pylist()


def refused(engine: Engine, tmp_path: Path, rows: list[Row], *, judged: bool = False, **config: Any) -> str:
    with pytest.raises(LogError) as error:
        built(engine, write(tmp_path / "log.parquet", rows), judged=judged, **config)
    return str(error.value)
