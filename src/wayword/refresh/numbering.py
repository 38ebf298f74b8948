"""Queries, documents and the log in the numbers of a universe that has grown.

Numbers follow the order of texts, so new queries move those of others. Rankings of queries that are asked again replace
the earlier ones. Searches that were numbered before get their new numbers; new ones, and those whose clicks had no
ranking, are joined with the rankings as `wayword run` does.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.config import RankingsConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.rankings import table as rankings
from wayword.store.artefact import report_of
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report

Integers = NDArray[np.int64]
EXPLAINED = "clicks explained by the rankings"
ADDED_UP = (
    "mismatched clicks",
    "clicks that their own query does not return in the rankings",
    "clicks from another form of their query with other results",
)
"""Counts of clicks that are joined once. Those without a ranking are counted anew, as they are joined again."""
_NO_RANKINGS = pa.table(
    {
        "raw_query": pa.array([], pa.string()),
        "document_id": pa.array([], pa.string()),
        "rank": pa.array([], pa.int32()),
    }
)


def write(
    out: Path,
    at: Folders,
    before: Path,
    config: RankingsConfig,
    *,
    exported: list[InputFile],
    source: str,
) -> Report:
    """Write the tables of the stage `rankings` from those of `before`, the log, and further rankings."""
    pending = _pending(at["log"], before)
    with tables_in(out) as engine:
        for name in ("searches", "clicks"):
            engine.load(name, _of(tables.read(at["log"], name), pending))
        answered = _exported(engine, exported)
        rankings.number(engine, None)
        _universe(engine, before)
        joined = rankings.join_log(
            engine, rankings.MismatchRules(config.on_mismatch, lenient=True), source=source
        )
        for name, order in (("queries", "query"), ("documents", "document")):
            tables.save(engine, out, name, order)
        query, document = (
            moved(before, out, "queries", "text"),
            moved(before, out, "documents", "document_id"),
        )
        _save_rankings(engine, out, before, query, document)
        _save_log(engine, out, at["log"], before, pending, query, document)
    earlier = report_of(before)
    return {
        **{name: tables.read(out, name).num_rows for name in ("queries", "documents", "rankings")},
        **{name: n + (earlier[name] if name in ADDED_UP else 0) for name, n in joined.items()},
        EXPLAINED: tables.read(out, "numbered_clicks", "search").num_rows,
        "queries with other rankings": answered,
    }


def moved(before: Path, after: Path, table: str, key: str) -> Integers:
    """The number that each query (or document) of `before` has in `after`, where it is for sure."""
    old, new = (tables.read(folder, table, key)[key].combine_chunks() for folder in (before, after))
    return pc.index_in(old, value_set=new).to_numpy().astype(np.int64)


def _pending(log: Path, before: Path) -> Integers:
    """New searches, and known ones with clicks that had no ranking."""
    every = tables.read(log, "searches", "search")["search"].to_numpy()
    numbered = tables.read(before, "numbered_searches", "search")["search"].to_numpy()
    clicks = (tables.read(log, "clicks", "search"), tables.read(before, "numbered_clicks", "search"))
    given, kept = (np.bincount(of["search"].to_numpy(), minlength=int(every.max()) + 1) for of in clicks)
    done = np.isin(every, numbered) & (given == kept)[every]
    return np.asarray(every[~done], np.int64)


def _of(table: pa.Table, searches: Integers) -> pa.Table:
    return table.filter(pa.array(np.isin(table["search"].to_numpy(), searches)))


def _exported(engine: Engine, files: list[InputFile]) -> int:
    """Steps `ranked` and `ranked_forms` of all files; a later file replaces the rankings of an earlier one."""
    parts = list[pa.Table]()
    for number, file in enumerate(files):
        rankings.read(engine, file)
        parts.append(
            engine.arrow(
                f"""SELECT {number} AS file, f.text, r.raw_query, r.document_id, CAST(r.rank AS INTEGER) AS rank
                    FROM ranked AS r JOIN ranked_forms AS f ON f.raw = r.raw_query"""
            )
        )
    if not parts:
        engine.load("ranked", _NO_RANKINGS)
        engine.step("ranked_forms", "SELECT raw_query AS raw, raw_query AS text FROM ranked")
        return 0
    engine.load("every_ranked", pa.concat_tables(parts))
    engine.step(
        "last_ranked",
        """SELECT r.* FROM every_ranked AS r
           JOIN (SELECT text, max(file) AS file FROM every_ranked GROUP BY text) AS l
           ON l.text = r.text AND l.file = r.file""",
    )
    engine.step("ranked", "SELECT raw_query, document_id, rank FROM last_ranked")
    engine.step("ranked_forms", "SELECT DISTINCT raw_query AS raw, text FROM last_ranked")
    return int(engine.arrow("SELECT count(DISTINCT text) AS n FROM last_ranked")["n"][0].as_py())


def _universe(engine: Engine, before: Path) -> None:
    """Steps `queries` and `documents` of both universes. `rankings` has those of pending searches' queries and the new
    ones, in the numbers of the whole."""
    for name in ("queries", "documents", "rankings"):
        engine.step(f"new_{name}", f"SELECT * FROM {name}")
        engine.load(f"old_{name}", tables.read(before, name))
    engine.step(
        "queries",
        """SELECT CAST(row_number() OVER (ORDER BY text) - 1 AS INTEGER) AS query, * FROM (
             SELECT coalesce(o.text, n.text) AS text, coalesce(n.raw, o.raw) AS raw,
                    coalesce(o.shown, n.shown) AS shown,
                    coalesce(o.ranked, false) OR coalesce(n.ranked, false) AS ranked
             FROM old_queries AS o FULL JOIN new_queries AS n ON n.text = o.text) AS every""",
    )
    engine.step(
        "documents",
        """SELECT CAST(row_number() OVER (ORDER BY document_id) - 1 AS INTEGER) AS document, * FROM (
             SELECT coalesce(o.document_id, n.document_id) AS document_id, coalesce(n.title, o.title) AS title
             FROM old_documents AS o FULL JOIN new_documents AS n ON n.document_id = o.document_id) AS every""",
    )
    engine.step(
        "answered",
        """SELECT q.query, d.document, r.rank FROM new_rankings AS r JOIN new_queries AS n ON n.query = r.query
           JOIN queries AS q ON q.text = n.text JOIN new_documents AS o ON o.document = r.document
           JOIN documents AS d ON d.document_id = o.document_id""",
    )
    engine.step(
        "rankings",
        """SELECT * FROM answered UNION ALL
           SELECT q.query, d.document, r.rank FROM old_rankings AS r JOIN old_queries AS o ON o.query = r.query
           JOIN queries AS q ON q.text = o.text JOIN old_documents AS p ON p.document = r.document
           JOIN documents AS d ON d.document_id = p.document_id
           WHERE q.text IN (SELECT text FROM searches) AND q.query NOT IN (SELECT query FROM answered)""",
    )


def _save_rankings(engine: Engine, out: Path, before: Path, query: Integers, document: Integers) -> None:
    """Write `rankings`: the earlier ones, but of queries that were asked again, and the new ones."""
    answered, old = engine.arrow("answered"), tables.read(before, "rankings")
    columns = {
        "query": query[old["query"].to_numpy()].astype(np.int32),
        "document": document[old["document"].to_numpy()].astype(np.int32),
        "rank": old["rank"].to_numpy(),
    }
    if answered.num_rows:
        kept = ~np.isin(columns["query"], answered["query"].to_numpy())
        columns = {
            name: np.r_[values[kept], answered[name].to_numpy()].astype(np.int32)
            for name, values in columns.items()
        }
        order = np.lexsort((columns["document"], columns["rank"], columns["query"]))
        columns = {name: values[order] for name, values in columns.items()}
    pq.write_table(pa.table(columns), out / "rankings.parquet", compression="zstd")


def _save_log(
    engine: Engine, out: Path, log: Path, before: Path, pending: Integers, query: Integers, document: Integers
) -> None:
    """Write `numbered_searches` and `numbered_clicks`: the earlier ones with their present split, and those joined."""
    every = tables.read(log, "searches", "search", "split", "recency")
    earlier = _without(tables.read(before, "numbered_searches"), pending)
    place = np.searchsorted(every["search"].to_numpy(), earlier["search"].to_numpy())
    for name in ("split", "recency"):
        earlier = _with(earlier, name, every[name].take(pa.array(place)))
    earlier = _with(earlier, "query", pa.array(query[earlier["query"].to_numpy()].astype(np.int32)))
    _save(out, "numbered_searches", earlier, engine.arrow("SELECT * FROM numbered_searches ORDER BY search"))
    clicks = _without(tables.read(before, "numbered_clicks"), pending)
    clicks = _with(clicks, "document", pa.array(document[clicks["document"].to_numpy()].astype(np.int32)))
    joined = engine.arrow("SELECT * FROM numbered_clicks ORDER BY search, document, rank, weight")
    _save(out, "numbered_clicks", clicks, joined)


def _without(table: pa.Table, searches: Integers) -> pa.Table:
    gone = np.isin(table["search"].to_numpy(), searches)
    return table.filter(pa.array(~gone)) if gone.any() else table


def _with(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _save(out: Path, name: str, earlier: pa.Table, joined: pa.Table) -> None:
    """Write both tables as one, sorted by search."""
    both = pa.concat_tables([earlier, joined.select(earlier.column_names).cast(earlier.schema)])
    search = both["search"].to_numpy()
    if (search[1:] < search[:-1]).any():
        both = both.take(pa.array(np.argsort(search, kind="stable")))
    pq.write_table(both, out / f"{name}.parquet", compression="zstd")
