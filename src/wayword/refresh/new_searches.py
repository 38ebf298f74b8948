"""The log with new searches: the newest of them become the test set, and what was the test set is learned from.

So the newest searches are held out of the served version and of the next one, which are compared on them; the refresh
after this one learns from them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import structs

from wayword.config import LogConfig, RefreshConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import log
from wayword.logs.columns import CONTEXT
from wayword.logs.splits import threshold
from wayword.logs.stage import SEARCH_COLUMNS, context_columns
from wayword.store.artefact import report_of
from wayword.store.input_file import InputFile
from wayword.store.stage import Report

PARTS = "parts"
"""In the report of the log: the digests of the logs that refreshes have added."""
ADDED = "added searches"
"""In the report of the log: the searches that refreshes have added."""
REFRESHES = "refreshes"
"""In the report of the log: the refreshes since the last full run."""


def write(
    out: Path, before: Path, files: Sequence[InputFile], config: LogConfig, refresh: RefreshConfig
) -> Report:
    """Write `searches` and `clicks` of the log `before` with those of the files."""
    report = report_of(before)
    columns = [CONTEXT + name for name in context_columns(before)]
    with tables_in(out) as engine:
        tables.fetch(engine, before, "searches", "clicks")
        for name in ("searches", "clicks"):
            engine.step(f"old_{name}", f"SELECT * FROM {name}")
        counts = _read(engine, files, config, context_columns(before))
        engine.step("new_searches", _numbered(engine, columns))
        new = _count(engine, "new_searches")
        if not new:
            raise LogError(
                f"{_names(files)}: all {counts['read']:,} searches are in the workspace's log already, by their "
                "search_id. Expected new searches."
            )
        clock = _clock(engine)
        share = config.retriever_share / (config.retriever_share + config.ranker_share)
        split = "CASE WHEN substr(md5(search_id), 9, 8) < :bound THEN 'retriever' ELSE 'ranker' END"
        held_out = min(max(round(refresh.held_out * new), 1), new)
        names = ", ".join([*(n for n in SEARCH_COLUMNS if n != "split"), *map(engine.quote, columns)])
        engine.step(
            "all_searches",
            f"""SELECT {names}, CASE WHEN split = 'test' THEN {split} ELSE split END AS split FROM old_searches
                UNION ALL
                SELECT {names}, CASE WHEN newest <= :held_out THEN 'test' ELSE {split} END AS split
                FROM (SELECT *, row_number() OVER (ORDER BY {clock} search DESC) AS newest FROM new_searches)""",
            bound=threshold(share),
            held_out=held_out,
        )
        engine.step(
            "all_clicks",
            """SELECT search, document_id, rank, weight FROM old_clicks UNION ALL
               SELECT s.search, c.document_id, c.rank, c.weight FROM read_clicks AS c
               JOIN new_searches AS s ON s.file = c.file AND s.read_search = c.search""",
        )
        ordered = ", ".join([*SEARCH_COLUMNS, *map(engine.quote, columns)])
        _save(engine, out, "searches", "all_searches", "search", ordered)
        _save(engine, out, "clicks", "all_clicks", "search", "search, document_id, rank, weight")
        clicks = _count(engine, "all_clicks") - _count(engine, "old_clicks")
        learned_now = _count(engine, "old_searches WHERE split = 'test'")
    return {
        **{name: value for name, value in report.items() if not name.startswith("searches for ")},
        "searches": report["searches"] + new,
        "clicks": report["clicks"] + clicks,
        "new searches": new,
        "new clicks": clicks,
        "searches known already": counts["read"] - new,
        "searches for test": held_out,
        "searches held out before": learned_now,
        PARTS: [*report.get(PARTS, ()), *(file.digest for file in files)],
        ADDED: report.get(ADDED, 0) + new,
        REFRESHES: report.get(REFRESHES, 0) + 1,
    }


def _read(
    engine: Engine, files: Sequence[InputFile], config: LogConfig, context: dict[str, pa.DataType]
) -> dict[str, int]:
    """Tables `read_searches` and `read_clicks`: all files, with the number of the file.

    A log without a column search_id gets ids of its own, which no other log has.
    """
    searches, clicks = list[pa.Table](), list[pa.Table]()
    for number, file in enumerate(files):
        built = log.build(engine, file, structs.replace(config, split="hash"))
        if set(built.columns.context) != set(context):
            raise LogError(
                f"{file} has the context columns {', '.join(built.columns.context) or 'none'}; the workspace's log has "
                f"{', '.join(context) or 'none'}. Give the same columns, or learn from all logs with `wayword run`."
            )
        prefix = "" if built.columns.has("search_id") else f"{file.digest[:16]}:"
        given = ", ".join(
            f"{_as(engine.quote(CONTEXT + name), kind)} AS {engine.quote(CONTEXT + name)}"
            for name, kind in context.items()
        )
        searches.append(
            engine.arrow(
                f"""SELECT {number} AS file, search AS read_search, concat(:prefix, search_id) AS search_id, text,
                           raw_query, prefix, untyped, user_id, time_text {", " * bool(given)}{given}
                    FROM searches ORDER BY search""",
                prefix=prefix,
            )
        )
        clicks.append(
            engine.arrow(f"SELECT {number} AS file, search, document_id, rank, weight FROM clicks ORDER BY search")
        )
    engine.load("read_searches", pa.concat_tables(searches, promote_options="permissive"))
    engine.load("read_clicks", pa.concat_tables(clicks, promote_options="permissive"))
    return {"read": sum(table.num_rows for table in searches)}


def _as(column: str, kind: pa.DataType) -> str:
    """SQL for a context column with the type that it has in the workspace."""
    return f"CAST({column} AS DOUBLE)" if pa.types.is_floating(kind) else f"CAST({column} AS STRING)"


def _numbered(engine: Engine, columns: Sequence[str]) -> str:
    """SQL of the searches that the log lacks, numbered after its own; of several with one id the first."""
    last = engine.arrow("SELECT coalesce(max(search), -1) AS last FROM old_searches")["last"][0].as_py()
    given = "".join(f", {engine.quote(name)}" for name in columns)
    return f"""
        SELECT {last} + row_number() OVER (ORDER BY file, read_search) AS search, file, read_search, search_id, text,
               raw_query, prefix, untyped, user_id, time_text {given}
        FROM (SELECT *, row_number() OVER (PARTITION BY search_id ORDER BY file, read_search) AS place
              FROM read_searches)
        WHERE place = 1 AND search_id NOT IN (SELECT search_id FROM old_searches)"""


def _clock(engine: Engine) -> str:
    """SQL that orders new searches from the newest on, where all have a time; else the last row is the newest."""
    for clock in ("TRY_CAST(time_text AS DOUBLE)", engine.instant("time_text")):
        if not _count(engine, f"new_searches WHERE {clock} IS NULL"):
            return f"{clock} DESC,"
    return ""


def _save(engine: Engine, out: Path, name: str, table: str, order: str, columns: str) -> None:
    rows = engine.arrow(f"SELECT {columns} FROM {table} ORDER BY {order}")
    pq.write_table(rows, out / f"{name}.parquet", compression="zstd")


def _count(engine: Engine, table: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())


def _names(files: Sequence[Any]) -> str:
    return ", ".join(map(str, files))
