"""Stage `log`: `searches` and `clicks`, validated, normalised and split."""

from pathlib import Path

import pyarrow as pa

from wayword.config import LogConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.logs import log
from wayword.logs.columns import CONTEXT
from wayword.store.input_file import InputFile
from wayword.store.stage import Report

SEARCH_COLUMNS = (
    "search",
    "search_id",
    "split",
    "text",
    "raw_query",
    "prefix",
    "untyped",
    "user_id",
    "time_text",
    "recency",
)


def write(out: Path, source: Path | InputFile, config: LogConfig, *, judged: bool = False) -> Report:
    """Write the tables from the file `source`; `judged` reads it as graded judgments."""
    with tables_in(out) as engine:
        built = log.build(engine, source, config, judged=judged)
        columns = ", ".join([*SEARCH_COLUMNS, *map(engine.quote, built.columns.stored)])
        tables.save(engine, out, "searches", "search", columns)
        tables.save(engine, out, "clicks", "search, document_id, rank, weight")
    return {**built.report, "context columns": list(built.columns.context)}


def context_columns(folder: Path) -> dict[str, pa.DataType]:
    """The log's context columns by name, in its order, with their types."""
    schema = tables.schema(folder, "searches")
    return {
        field.name.removeprefix(CONTEXT): field.type for field in schema if field.name.startswith(CONTEXT)
    }
