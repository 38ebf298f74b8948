"""Tables between stages: Parquet files in a fixed row order, so that equal tables are equal files."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.engines import Engine
from wayword.engines.kept import Kept
from wayword.store.memory import limit_of_tables
from wayword.store.stage import Folders


def save(engine: Engine, folder: Path, name: str, order: str, columns: str = "*") -> None:
    """Store a table of an engine as `name` in `folder`, sorted."""
    engine.keep(f"SELECT {columns} FROM {name}", folder / f"{name}.parquet", order)


def fetch(engine: Engine, folder: Path, *names: str) -> None:
    """Load tables written by `save` into an engine."""
    for name in names:
        engine.fetch(name, folder / f"{name}.parquet")


def read(folder: Path, name: str, *columns: str) -> pa.Table:
    """Read a table written by `save` as Arrow, or some of its columns."""
    kept = Kept.of(folder / f"{name}.parquet")
    if kept:
        return kept.read(columns)
    return pq.read_table(folder / f"{name}.parquet", columns=list(columns) or None, memory_map=True)


def schema(folder: Path, name: str) -> pa.Schema:
    """Names and types of the columns of a table written by `save`."""
    kept = Kept.of(folder / f"{name}.parquet")
    return kept.columns if kept else pq.read_schema(folder / f"{name}.parquet", memory_map=True)


def fetch_columns(engine: Engine, folder: Path, name: str, *columns: str) -> None:
    """Load some columns of a table written by `save` into an engine."""
    engine.fetch(name, folder / f"{name}.parquet", *columns)


def batches(folder: Path, name: str, *columns: str) -> Iterator[pa.Table]:
    """Read columns of a table in parts, in no particular order if it is kept."""
    kept = Kept.of(folder / f"{name}.parquet")
    if kept:
        yield from kept.batches(columns)
    else:
        yield read(folder, name, *columns)


def rows(folder: Path, name: str) -> int:
    """The number of rows of a table written by `save`."""
    kept = Kept.of(folder / f"{name}.parquet")
    return kept.rows if kept else int(pq.read_metadata(folder / f"{name}.parquet").num_rows)


def fetch_numbered(engine: Engine, at: Folders, *columns: str) -> None:
    """Load the numbered log: queries, documents, rankings, searches, clicks, propensities and contexts.

    Where `columns` are named, only these of the searches: their texts are most of the log.
    """
    fetch(engine, at["rankings"], "queries", "documents", "rankings", "numbered_clicks")
    fetch_columns(engine, at["rankings"], "numbered_searches", *columns)
    fetch(engine, at["propensity"], "propensity")
    fetch(engine, at["contexts"], "instances", "contexts")


_ENGINES: ContextVar[Callable[[], Engine] | None] = ContextVar("engines", default=None)


@contextmanager
def tables_on(make: Callable[[], Engine] | None) -> Iterator[None]:
    """Run the stages inside on engines that this makes, one for each; None is the default engine."""
    before = _ENGINES.set(make)
    try:
        yield
    finally:
        _ENGINES.reset(before)


@contextmanager
def tables_in(folder: Path) -> Iterator[Engine]:
    """An engine for one stage: DuckDB that spills into the output folder of the stage, or what `tables_on` makes."""
    make = _ENGINES.get()
    if make is None:
        with embedded_in(folder) as engine:
            yield engine
        return
    engine = make()
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def embedded_in(folder: Path) -> Iterator[Engine]:
    """DuckDB, wherever the tables live: for files of this machine with lists in them."""
    from wayword.engines.duck import DuckDB  # late: a server reads tables without an engine

    engine = DuckDB(spill=folder, memory=limit_of_tables())
    try:
        yield engine
    finally:
        engine.close()


def write_json(path: Path, value: Any) -> None:
    """Write plain values as indented JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
