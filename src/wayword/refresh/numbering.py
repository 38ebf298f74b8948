"""Queries, documents and the log in the numbers of a universe that has grown.

Numbers follow the order of texts, so new queries move those of others. Rankings of queries that are asked again replace
the earlier ones. Searches that were numbered before stay as they are; new ones, and those whose clicks had no ranking,
are joined with the rankings as `wayword run` does.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.config import RankingsConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.rankings import table as rankings
from wayword.store.artefact import report_of
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report

COUNTS = "clicks explained by the rankings"
_NONE = pa.table(
    {name: pa.array([], kind) for name, kind in (("raw_query", pa.string()), ("document_id", pa.string()))}
    | {"rank": pa.array([], pa.int32())}
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
    with tables_in(out) as engine:
        _pending(engine, at["log"], before)
        answered = _exported(engine, exported)
        rankings.number(engine, None)
        _universe(engine, before)
        rules = rankings.MismatchRules(config.on_mismatch, lenient=True)
        joined = rankings.join_log(engine, rules, source=source)
        _with_earlier(engine, at["log"], before)
        for name, order in (
            ("queries", "query"),
            ("documents", "document"),
            ("rankings", "query, rank, document"),
            ("numbered_searches", "search"),
            ("numbered_clicks", "search, document, rank, weight"),
        ):
            tables.save(engine, out, name, order)
    earlier = report_of(before)
    return {
        **{name: tables.read(out, name).num_rows for name in ("queries", "documents", "rankings")},
        **{name: earlier.get(name, 0) + value if name == COUNTS else value for name, value in joined.items()},
        "queries asked again or new": answered,
    }


def _pending(engine: Engine, log: Path, before: Path) -> None:
    """Tables `searches` and `clicks`: new searches, and known ones with clicks that had no ranking."""
    tables.fetch(engine, before, "numbered_searches", "numbered_clicks")
    for name in ("searches", "clicks"):
        engine.step(f"earlier_{name}", f"SELECT * FROM numbered_{name}")
    engine.load("log_searches", tables.read(log, "searches"))
    engine.load("log_clicks", tables.read(log, "clicks"))
    engine.step(
        "pending",
        """SELECT s.search FROM log_searches AS s
           LEFT JOIN (SELECT search, count(*) AS n FROM log_clicks GROUP BY search) AS c ON c.search = s.search
           LEFT JOIN (SELECT search, count(*) AS n FROM earlier_clicks GROUP BY search) AS k ON k.search = s.search
           LEFT JOIN earlier_searches AS e ON e.search = s.search
           WHERE e.search IS NULL OR coalesce(c.n, 0) <> coalesce(k.n, 0)""",
    )
    for name in ("searches", "clicks"):
        engine.step(name, f"SELECT * FROM log_{name} WHERE search IN (SELECT search FROM pending)")


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
        engine.load("ranked", _NONE)
        engine.step("ranked_forms", "SELECT raw_query AS raw, raw_query AS text FROM ranked")
        return 0
    engine.load("every_ranked", pa.concat_tables(parts))
    engine.step(
        "last_ranked",
        """SELECT * FROM every_ranked AS r
           WHERE file = (SELECT max(file) FROM every_ranked AS o WHERE o.text = r.text)""",
    )
    engine.step("ranked", "SELECT raw_query, document_id, rank FROM last_ranked")
    engine.step("ranked_forms", "SELECT DISTINCT raw_query AS raw, text FROM last_ranked")
    return int(engine.arrow("SELECT count(DISTINCT text) AS n FROM last_ranked")["n"][0].as_py())


def _universe(engine: Engine, before: Path) -> None:
    """Steps `queries`, `documents` and `rankings` of both universes, in the numbers of the whole."""
    for name in ("queries", "documents", "rankings"):
        engine.step(f"new_{name}", f"SELECT * FROM {name}")
        engine.load(f"old_{name}", tables.read(before, name))
    engine.step(
        "queries",
        """SELECT CAST(row_number() OVER (ORDER BY text) - 1 AS INTEGER) AS query, * FROM (
             SELECT coalesce(o.text, n.text) AS text, coalesce(n.raw, o.raw) AS raw,
                    coalesce(o.shown, n.shown) AS shown, coalesce(o.ranked, false) OR coalesce(n.ranked, false) AS ranked
             FROM old_queries AS o FULL JOIN new_queries AS n ON n.text = o.text)""",
    )
    engine.step(
        "documents",
        """SELECT CAST(row_number() OVER (ORDER BY document_id) - 1 AS INTEGER) AS document, * FROM (
             SELECT coalesce(o.document_id, n.document_id) AS document_id, coalesce(n.title, o.title) AS title
             FROM old_documents AS o FULL JOIN new_documents AS n ON n.document_id = o.document_id)""",
    )
    for kind, key in (("queries", "text"), ("documents", "document_id")):
        number = {"queries": "query", "documents": "document"}[kind]
        for age in ("old", "new"):
            engine.step(
                f"{age}_{number}",
                f"SELECT a.{number} AS number, b.{number} FROM {age}_{kind} AS a JOIN {kind} AS b ON b.{key} = a.{key}",
            )
    engine.step(
        "rankings",
        """SELECT q.query, d.document, r.rank FROM old_rankings AS r JOIN old_query AS q ON q.number = r.query
           JOIN old_document AS d ON d.number = r.document
           WHERE r.query NOT IN (SELECT o.query FROM old_queries AS o JOIN new_queries AS n ON n.text = o.text
                                 WHERE n.ranked)
           UNION ALL
           SELECT q.query, d.document, r.rank FROM new_rankings AS r JOIN new_query AS q ON q.number = r.query
           JOIN new_document AS d ON d.number = r.document""",
    )


def _with_earlier(engine: Engine, log: Path, before: Path) -> None:
    """Add the searches that were numbered before, with the split that they have now."""
    columns = [name for name in engine.columns("numbered_searches") if name != "query"]
    names = ", ".join(f"{'l' if name == 'split' else 's'}.{engine.quote(name)}" for name in columns)
    engine.step(
        "numbered_searches",
        f"""SELECT * FROM numbered_searches UNION ALL
            SELECT {names}, q.query FROM earlier_searches AS s JOIN old_query AS q ON q.number = s.query
            JOIN log_searches AS l ON l.search = s.search
            WHERE s.search NOT IN (SELECT search FROM pending)""",
    )
    engine.step(
        "numbered_clicks",
        """SELECT search, document, rank, weight FROM numbered_clicks UNION ALL
           SELECT c.search, d.document, c.rank, c.weight FROM earlier_clicks AS c
           JOIN old_document AS d ON d.number = c.document
           WHERE c.search NOT IN (SELECT search FROM pending)""",
    )


def moved(before: Path, after: Path, table: str, key: str) -> NDArray[np.int64]:
    """The number that each query (or document) of `before` has in `after`.

    Both are sorted by text, and none is lost.
    """
    old, new = (tables.read(folder, table)[key].to_pylist() for folder in (before, after))
    place: dict[Any, int] = {text: number for number, text in enumerate(new)}
    return np.fromiter((place[text] for text in old), np.int64, len(old))
