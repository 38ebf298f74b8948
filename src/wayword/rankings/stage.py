"""Stage `rankings`: numbers queries and documents, and joins the log with them."""

from collections.abc import Mapping
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
from wayword.rankings.document_ranker import RANKERS, DocumentRanker, ranker_named
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report


def write(
    out: Path,
    at: Folders,
    config: RankingsConfig,
    *,
    exported: Path | InputFile | None,
    documents: Path | InputFile | None,
    rankers: Mapping[str, DocumentRanker] = RANKERS,
    judged: bool = False,
    lenient: bool = False,
    source: str = "the log",
    progress: Progress,
) -> Report:
    """Write the tables from exported rankings, or with an embedded ranker over a document table.

    `source` names the log in messages.
    """
    with tables_in(out) as engine:
        tables.fetch(engine, at["log"], "searches", "clicks")
        described = read_documents(engine, documents) if documents else None
        if exported:
            rankings.read(engine, exported)
        elif described is not None:
            ranker = ranker_named(config.ranker, rankers)
            rankings.rank_logged_queries(engine, described, ranker, depth=config.depth, progress=progress)
        rankings.number(engine, described)
        rules = rankings.MismatchRules(config.on_mismatch, lenient, judged, config.max_unexplained)
        report = rankings.join_log(engine, rules, source=source)
        for name, order in (
            ("queries", "query"),
            ("documents", "document"),
            ("rankings", "query, rank, document"),
            ("numbered_searches", "search"),
            ("numbered_clicks", "search, document, rank, weight"),
        ):
            tables.save(engine, out, name, order)
    return {
        **{name: tables.read(out, name).num_rows for name in ("queries", "documents", "rankings")},
        **report,
    }


def read_documents(engine: Engine, path: Path | InputFile) -> pa.Table:
    """Read a document table: `document` (the id), `title`, and optionally `name`, which is searched too."""
    engine.read("described", path)
    names = [name for name in engine.columns("described") if name != "input_row"]
    if "document" not in names or "title" not in names:
        raise LogError(
            f"{path} has the columns {', '.join(names)}; expected document and title. Rename them."
        )
    used = dict.fromkeys(("document", "name", "title"), column_types.TEXT)
    column_types.check(engine, "described", used, source=str(path))
    texts = [name for name in names if name in ("name", "title")]
    columns = ", ".join(f"coalesce({as_text(engine, 'described', name)}, '') AS {name}" for name in texts)
    return engine.arrow(
        f"SELECT {as_text(engine, 'described', 'document')} AS document, {columns} FROM described ORDER BY input_row"
    )
