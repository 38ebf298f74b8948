"""Stage `rankings`: numbers queries and documents, and joins the log with them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from wayword.config import RankingsConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import column_types
from wayword.logs.columns import as_text
from wayword.progress import Progress
from wayword.rankings import table as rankings
from wayword.rankings.availability import COLUMN
from wayword.rankings.document_ranker import RANKERS, DocumentRanker, ranker_named
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report
from wayword.text import normalise


def write(
    out: Path,
    at: Folders,
    config: RankingsConfig,
    *,
    exported: Path | InputFile | None,
    documents: Path | InputFile | None,
    queries: Path | InputFile | None = None,
    rankers: Mapping[str, DocumentRanker] = RANKERS,
    judged: bool = False,
    lenient: bool = False,
    source: str = "the log",
    progress: Progress,
) -> Report:
    """Write the tables from exported rankings, or with an embedded ranker over a document table, which also answers for
    further `queries` and for those that it proposes.

    `source` names the log in messages.
    """
    with tables_in(out) as engine:
        tables.fetch(engine, at["log"], "searches", "clicks")
        described = read_documents(engine, documents, attributes=config.propose > 0) if documents else None
        more, asked = _queries(engine, queries) if queries else [], dict[str, int]()
        if exported:
            rankings.read(engine, exported)
            asked = {"further queries without a ranking": _without_ranking(engine, more)} if queries else {}
        elif described is not None:
            ranker = ranker_named(config.ranker, rankers)
            proposed = rankings.rank_logged_queries(
                engine,
                described,
                ranker,
                depth=config.depth,
                more=more,
                propose=config.propose,
                progress=progress,
            )
            asked = {"proposed queries": proposed} if config.propose else {}
        rankings.number(engine, described)
        rules = rankings.MismatchRules(config.on_mismatch, lenient, judged, config.max_unexplained)
        report = rankings.join_log(engine, rules, source=source)
        rankings.require_clicks(engine, source=source)
        for name, order in (
            ("queries", "query"),
            ("documents", "document"),
            ("rankings", "query, rank, document"),
            ("numbered_searches", "search"),
            ("numbered_clicks", "search, document, rank, weight"),
        ):
            tables.save(engine, out, name, order)
    return {
        **{name: tables.rows(out, name) for name in ("queries", "documents", "rankings")},
        **report,
        **asked,
    }


def _queries(engine: Engine, path: Path | InputFile) -> list[str]:
    """Read a table of further queries: the column `query`."""
    engine.read("asked", path)
    names = [name for name in engine.columns("asked") if name != "input_row"]
    if "query" not in names:
        raise LogError(f"{path} has the columns {', '.join(names)}; expected query. Rename it.")
    column_types.check(engine, "asked", {"query": column_types.TEXT}, source=str(path))
    text = as_text(engine, "asked", "query")
    rows = engine.arrow(f"SELECT {text} AS query FROM asked WHERE {text} <> '' ORDER BY input_row")
    return list({normalise(query): query for query in reversed(rows["query"].to_pylist())}.values())[::-1]


def _without_ranking(engine: Engine, queries: Sequence[str]) -> int:
    """Count the queries that the exported rankings lack."""
    known = {*engine.arrow("SELECT text FROM ranked_forms")["text"].to_pylist()}
    return sum(normalise(query) not in known for query in queries)


def read_documents(engine: Engine, path: Path | InputFile, *, attributes: bool = False) -> pa.Table:
    """Read a document table: `document` (the id), `title`, and optionally `name`, which is searched too; with
    `attributes`, also further columns of text."""
    engine.read("described", path)
    names = [name for name in engine.columns("described") if name != "input_row"]
    if "document" not in names or "title" not in names:
        raise LogError(
            f"{path} has the columns {', '.join(names)}; expected document and title. Rename them: `wayword import LOG "
            f"--documents {path} --out log` does."
        )
    used = dict.fromkeys(("document", "name", "title"), column_types.TEXT)
    column_types.check(engine, "described", used, source=str(path))
    types = engine.columns("described")
    further = [name for name in names if types[name] == "VARCHAR" and name not in (*used, COLUMN)]
    texts = [name for name in names if name in ("name", "title")] + (further if attributes else [])
    columns = ", ".join(
        f"coalesce({as_text(engine, 'described', name)}, '') AS {engine.quote(name)}" for name in texts
    )
    return engine.arrow(
        f"SELECT {as_text(engine, 'described', 'document')} AS document, {columns} FROM described ORDER BY input_row"
    )
