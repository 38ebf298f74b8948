"""log: `searches` and `clicks` as they were logged, checked, normalised and split."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from wayword.config import LogConfig
from wayword.engines import tables
from wayword.engines.stages import Report, tables_in
from wayword.logs import log
from wayword.logs.columns import CONTEXT

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
)


@dataclass(frozen=True)
class Source:
    """Where the log comes from, whether it holds judgments, and whether clicks that do not fit are dropped."""

    log: Path
    judged: bool = False
    lenient: bool = False


def write(out: Path, source: Source, config: LogConfig) -> Report:
    """Fill `out`."""
    with tables_in(out) as engine:
        found = log.build(engine, source.log, config, judged=source.judged)
        columns = ", ".join([*SEARCH_COLUMNS, *map(engine.quote, found.columns.stored)])
        tables.save(engine, out, "searches", "search", columns)
        tables.save(engine, out, "clicks", "search, document, rank, weight")
    return {**found.report, "context columns": list(found.columns.context)}


def context_columns(folder: Path) -> dict[str, pa.DataType]:
    """The log's context columns by name, in its order, with their types."""
    schema = tables.read(folder, "searches").schema
    return {
        field.name.removeprefix(CONTEXT): field.type for field in schema if field.name.startswith(CONTEXT)
    }
