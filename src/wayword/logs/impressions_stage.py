"""Stage `impressions`: what each search showed, and the same in the numbers of the log and of the rankings."""

from pathlib import Path

from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import impressions
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report

ANOTHER_LOG = 0.02
"""If more than this share of the search_ids that the log has too stand for another query there, they are another log's:
two logs that number their searches have the same numbers."""
UNUSED = (
    "search_ids stand for another query in the log, and are not used; expected those of this log: look whether both "
    "were recorded together"
)
WITHOUT = (
    "clicks of the log are not among them, in searches that they show; expected all: look whether later pages, and "
    "results that load while scrolling, are recorded"
)


def write(out: Path, at: Folders, file: InputFile, *, first_rank: int = 1) -> Report:
    """Write `impressions` and `numbered_impressions` (search_id, search, query, document, rank, clicked)."""
    with tables_in(out) as engine:
        counts = impressions.read(engine, file, first_rank=first_rank)
        tables.fetch(engine, at["rankings"], "queries", "documents", "numbered_searches", "numbered_clicks")
        report = number(engine, source=str(file))
        for name in ("impressions", "numbered_impressions"):
            tables.save(engine, out, name, "search_id, rank, document")
    return {**counts, **report}


def number(engine: Engine, *, source: str) -> dict[str, int]:
    """Step `numbered_impressions`: search, query and document are null where the log and the rankings lack them."""
    unused = _contradictions(engine, source)
    engine.step(
        "numbered_impressions",
        """
        SELECT i.search_id, s.search, q.query, d.document, i.rank, i.clicked FROM impressions AS i
        LEFT JOIN queries AS q ON q.text = i.query LEFT JOIN documents AS d ON d.document_id = i.document
        LEFT JOIN joined_searches AS s ON s.search_id = i.search_id AND s.text = i.query
        """,
    )
    missing = """numbered_clicks AS c WHERE c.search IN (SELECT search FROM numbered_impressions) AND NOT EXISTS (
                 SELECT 1 FROM numbered_impressions AS i
                 WHERE i.search = c.search AND i.document = c.document AND i.clicked)"""
    return {
        "searches": _count(engine, "(SELECT DISTINCT search_id FROM impressions) AS t"),
        "clicked impressions": _count(engine, "impressions WHERE clicked"),
        "searches in the log": _count(
            engine, "(SELECT DISTINCT search FROM numbered_impressions WHERE search IS NOT NULL) AS t"
        ),
        WITHOUT: _count(engine, missing),
        UNUSED: unused,
    }


def _contradictions(engine: Engine, source: str) -> int:
    """Step `joined_searches` (search, search_id, text): those that impressions are joined with. Returns how many
    search_ids stand for another query in the log.

    A log without search_ids numbers its rows: what has the same numbers by chance is not joined with it.
    """
    engine.step(
        "named_searches",
        """
        SELECT i.search_id, i.query, s.text FROM (SELECT DISTINCT search_id, query FROM impressions) AS i
        JOIN numbered_searches AS s ON s.search_id = i.search_id
        """,
    )
    named, wrong = _count(engine, "named_searches"), _count(engine, "named_searches WHERE query <> text")
    another = wrong > 1 and wrong > ANOTHER_LOG * named
    if another and _count(engine, "numbered_searches WHERE search_id <> CAST(search AS STRING)"):
        row = engine.arrow(
            "SELECT * FROM named_searches WHERE query <> text ORDER BY search_id LIMIT 1"
        ).to_pylist()[0]
        raise LogError(
            f"{source} has {wrong:,} of {named:,} search_ids that stand for another query in the log, such as "
            f"{row['search_id']} ({row['query']!r}, in the log {row['text']!r}); expected the impressions of this log. "
            "Give those that were recorded with it, or with search_ids that the log does not have."
        )
    engine.step(
        "joined_searches",
        f"SELECT search, search_id, text FROM numbered_searches WHERE {'false' if another else 'true'}",
    )
    return wrong


def _count(engine: Engine, table: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())
