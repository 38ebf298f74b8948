"""The log with new searches: the newest of them become the test set, and what was the test set is learned from.

So the newest searches are held out of the served version and of the next one, which are compared on them; the refresh
after this one learns from them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import structs

from wayword.config import LogConfig, RefreshConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import clock, log
from wayword.logs.columns import CONTEXT
from wayword.logs.splits import SPLITS, threshold
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
    report, earlier = report_of(before), tables.read(before, "searches")
    tested = pc.equal(earlier["split"], "test")
    with tables_in(out) as engine:
        read = _read(engine, files, config, context_columns(before))
        engine.load("known", earlier.select(["search", "search_id"]))
        engine.load("tested", earlier.select(["search", "search_id"]).filter(tested))
        engine.step("new_searches", _numbered(engine))
        new = _count(engine, "new_searches")
        if not new:
            raise LogError(
                f"{', '.join(map(str, files))}: all {read:,} searches are in the workspace's log already, by their "
                "search_id. Expected new searches."
            )
        held_out = min(max(round(refresh.held_out * new), 1), new)
        added, clicks = _added(engine, held_out, config), _added_clicks(engine)
        trained = engine.arrow(
            f"SELECT {_TRAINED} AS split FROM tested ORDER BY search", bound=_bound(config)
        )
    split = pc.replace_with_mask(
        earlier["split"].combine_chunks(), tested.combine_chunks(), trained["split"].combine_chunks()
    )
    place = earlier.column_names.index("split")
    searches = _both(earlier.set_column(place, "split", split), added)
    if config.half_life_days:
        searches = _weighed(out, searches, config.half_life_days, ", ".join(map(str, files)))
    _save(out, "searches", searches)
    _save(out, "clicks", _both(tables.read(before, "clicks"), clicks))
    return {
        **{name: value for name, value in report.items() if not name.startswith("searches for ")},
        "searches": report["searches"] + new,
        "clicks": report["clicks"] + clicks.num_rows,
        "new searches": new,
        "new clicks": clicks.num_rows,
        "searches known already": read - new,
        "searches with a click": report["searches with a click"]
        + pc.count_distinct(clicks["search"]).as_py(),
        **_of_splits(split, added["split"]),
        "searches held out before": trained.num_rows,
        PARTS: [*report.get(PARTS, ()), *(file.digest for file in files)],
        ADDED: report.get(ADDED, 0) + new,
        REFRESHES: report.get(REFRESHES, 0) + 1,
    }


def _of_splits(*parts: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """The number of searches of each split."""
    return {
        f"searches for {split}": sum(pc.sum(pc.equal(part, split)).as_py() or 0 for part in parts)
        for split in SPLITS
    }


_TRAINED = "CASE WHEN substr(md5(search_id), 9, 8) < :bound THEN 'retriever' ELSE 'ranker' END"
"""SQL of the split of a search that is not tested. The digits are not those that chose the test set of a run."""


def _bound(config: LogConfig) -> str:
    return threshold(config.retriever_share / (config.retriever_share + config.ranker_share))


def _read(
    engine: Engine, files: Sequence[InputFile], config: LogConfig, context: Mapping[str, pa.DataType]
) -> int:
    """Tables `read_searches` and `read_clicks`: all files, with the number of the file. Returns the searches read.

    A log without a column search_id gets ids of its own, which no other log has.
    """
    searches, clicks = list[pa.Table](), list[pa.Table]()
    for number, file in enumerate(files):
        built = log.build(engine, file, structs.replace(config, split="hash", half_life_days=0.0))
        if set(built.columns.context) != set(context):
            raise LogError(
                f"{file} has the context columns {', '.join(built.columns.context) or 'none'}; the workspace's log has "
                f"{', '.join(context) or 'none'}. Give the same columns, or learn from all logs with `wayword run`."
            )
        prefix = "" if built.columns.has("search_id") else f"{file.digest[:16]}:"
        given = "".join(f", {_as(engine.quote(CONTEXT + name), kind)}" for name, kind in context.items())
        searches.append(
            engine.arrow(
                f"""SELECT {number} AS file, search AS read_search, concat(:prefix, search_id) AS search_id, text,
                           raw_query, prefix, untyped, user_id, time_text, recency {given}
                    FROM searches ORDER BY search""",
                prefix=prefix,
            )
        )
        clicks.append(
            engine.arrow(
                f"SELECT {number} AS file, search, document_id, rank, weight FROM clicks ORDER BY search"
            )
        )
    engine.load("read_searches", pa.concat_tables(searches, promote_options="permissive"))
    engine.load("read_clicks", pa.concat_tables(clicks, promote_options="permissive"))
    return sum(table.num_rows for table in searches)


def _as(column: str, kind: pa.DataType) -> str:
    """SQL for a context column with the type that it has in the workspace."""
    return f"CAST({column} AS {'DOUBLE' if pa.types.is_floating(kind) else 'STRING'}) AS {column}"


def _numbered(engine: Engine) -> str:
    """SQL of the searches that the log lacks, numbered after its own; of several with one id the first."""
    last = engine.arrow("SELECT coalesce(max(search), -1) AS last FROM known")["last"][0].as_py()
    return f"""
        SELECT {last} + row_number() OVER (ORDER BY file, read_search) AS search, *
        FROM (SELECT *, row_number() OVER (PARTITION BY search_id ORDER BY file, read_search) AS place
              FROM read_searches) AS numbered
        WHERE place = 1 AND search_id NOT IN (SELECT search_id FROM known)"""


def _added(engine: Engine, held_out: int, config: LogConfig) -> pa.Table:
    """The new searches, of which the `held_out` newest are tested."""
    stored = [name for name in engine.columns("new_searches") if name.startswith(CONTEXT)]
    columns = ", ".join([*SEARCH_COLUMNS, *map(engine.quote, stored)])
    return engine.arrow(
        f"""SELECT {columns} FROM (
              SELECT *, CASE WHEN newest <= :held_out THEN 'test' ELSE {_TRAINED} END AS split FROM (
                SELECT *, row_number() OVER (ORDER BY {_clock(engine)} search DESC) AS newest FROM new_searches
              ) AS aged) AS dealt ORDER BY search""",
        held_out=held_out,
        bound=_bound(config),
    )


def _added_clicks(engine: Engine) -> pa.Table:
    return engine.arrow(
        """SELECT s.search, c.document_id, c.rank, c.weight FROM read_clicks AS c
           JOIN new_searches AS s ON s.file = c.file AND s.read_search = c.search
           ORDER BY s.search, c.document_id, c.rank, c.weight"""
    )


def _clock(engine: Engine) -> str:
    """SQL that orders new searches from the newest on, where all have a time; else the last row is the newest."""
    for time in ("TRY_CAST(time_text AS DOUBLE)", engine.instant("time_text")):
        if not _count(engine, f"new_searches WHERE {time} IS NULL"):
            return f"{time} DESC,"
    return ""


def _weighed(spill: Path, searches: pa.Table, half_life_days: float, source: str) -> pa.Table:
    """Compute the recency of all searches anew: the newest one is another now."""
    rows = pa.array(range(searches.num_rows), pa.int64())
    with tables_in(spill) as engine:
        engine.load("typed", searches.select(["search_id", "time_text"]).append_column("input_row", rows))
        engine.load("unsplit", searches.select(["search", "search_id"]))
        times = clock.read(engine, timed=True)
        clock.date(engine, times)
        clock.weigh(engine, times, half_life_days, source=source)
        recency = engine.arrow("SELECT recency FROM weighed ORDER BY search")["recency"]
    return searches.set_column(searches.column_names.index("recency"), "recency", recency)


def _both(earlier: pa.Table, added: pa.Table) -> pa.Table:
    """Return both tables as one; the searches of the second have larger numbers."""
    return pa.concat_tables([earlier, added.select(earlier.column_names).cast(earlier.schema)])


def _save(out: Path, name: str, table: pa.Table) -> None:
    pq.write_table(table, out / f"{name}.parquet", compression="zstd")


def _count(engine: Engine, table: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())
