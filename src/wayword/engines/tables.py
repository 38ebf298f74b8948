"""Tables between stages: Parquet files in a fixed row order, so that equal tables are equal files."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.engines import Engine
from wayword.store.stage import Folders


def save(engine: Engine, folder: Path, name: str, order: str, columns: str = "*") -> None:
    """Write a table of an engine to `folder/name.parquet`, sorted."""
    pq.write_table(
        engine.arrow(f"SELECT {columns} FROM {name} ORDER BY {order}"),
        folder / f"{name}.parquet",
        compression="zstd",
    )


def fetch(engine: Engine, folder: Path, *names: str) -> None:
    """Load tables written by `save` into an engine."""
    for name in names:
        engine.load(name, read(folder, name))


def read(folder: Path, name: str, *columns: str) -> pa.Table:
    """Read a table written by `save` as Arrow, or some of its columns."""
    return pq.read_table(folder / f"{name}.parquet", columns=list(columns) or None, memory_map=True)


def schema(folder: Path, name: str) -> pa.Schema:
    """Names and types of the columns of a table written by `save`."""
    return pq.read_schema(folder / f"{name}.parquet", memory_map=True)


def fetch_numbered(engine: Engine, at: Folders) -> None:
    """Load the numbered log: queries, documents, rankings, searches, clicks, propensities and contexts."""
    fetch(engine, at["rankings"], "queries", "documents", "rankings", "numbered_searches", "numbered_clicks")
    fetch(engine, at["propensity"], "propensity")
    fetch(engine, at["contexts"], "instances", "contexts")


@contextmanager
def tables_in(folder: Path) -> Iterator[Engine]:
    """An engine for one stage that spills into the output folder of the stage."""
    from wayword.engines.duck import DuckDB  # late: a server reads tables without an engine

    engine = DuckDB(spill=folder)
    try:
        yield engine
    finally:
        engine.close()


def write_json(path: Path, value: Any) -> None:
    """Write plain values as indented JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
