"""Impressions: which results each search showed at which rank, and which of them were clicked.

Where a search has impression events, they say what was shown. Else it is the hits of its query record, whose position
is the rank: the engine may have returned more than was displayed, so hits count only where no event says more.
"""

from wayword.engines.duck import DuckDB
from wayword.logs.ubi.clicks import IMPRESSION
from wayword.logs.ubi.parser import count

UNSHOWN, ELSEWHERE = (
    "clicks on results that their search did not show",
    "clicks at another rank than the result was shown",
)


def find_seen(engine: DuckDB) -> None:
    """Table `seen` (query_id, document, rank), from impression events: the first rank of a document, and the first
    document at a rank. Needs `placed`."""
    engine.step(
        "seen",
        f"""
        SELECT query_id, document, rank FROM (
          SELECT query_id, document, rank, time, place FROM placed
          WHERE action = '{IMPRESSION}' AND query_id IS NOT NULL AND document IS NOT NULL AND rank IS NOT NULL
          QUALIFY row_number() OVER (PARTITION BY query_id, document ORDER BY time NULLS LAST, place) = 1
        ) AS firsts QUALIFY row_number() OVER (PARTITION BY query_id, rank ORDER BY time NULLS LAST, place) = 1
        """,
    )


def build(engine: DuckDB) -> dict[str, int]:
    """Table `impressions` (query_id, document, rank, clicked). Needs `searches`, `clicks` and `seen`."""
    engine.step(
        "impressions",
        """
        SELECT shown.*, c.document IS NOT NULL AS clicked FROM (
          SELECT e.query_id, e.document, e.rank FROM seen AS e JOIN searches AS s ON s.query_id = e.query_id
          UNION ALL
          SELECT query_id, document, CAST(min(rank) AS INTEGER) AS rank FROM (
            SELECT query_id, unnest(hits) AS document, generate_subscripts(hits, 1) AS rank FROM searches
            WHERE query_id NOT IN (SELECT query_id FROM seen)
          ) AS hit GROUP BY query_id, document
        ) AS shown
        LEFT JOIN (SELECT DISTINCT query_id, document FROM clicks) AS c
          ON c.query_id = shown.query_id AND c.document = shown.document
        """,
    )
    by_event = "searches WHERE query_id IN (SELECT query_id FROM seen)"
    known = count(engine, "(SELECT DISTINCT query_id FROM impressions)")
    shown = "impressions AS i ON i.query_id = c.query_id"
    return {
        "impressions": count(engine, "impressions"),
        "searches whose impressions are events": count(engine, by_event),
        "searches whose impressions are hits": known - count(engine, by_event),
        "searches without known impressions": count(engine, "searches") - known,
        UNSHOWN: count(
            engine,
            f"""clicks AS c WHERE query_id IN (SELECT query_id FROM impressions)
                AND NOT EXISTS (SELECT 1 FROM {shown.replace(" ON ", " WHERE ")} AND i.document = c.document)""",
        ),
        ELSEWHERE: count(
            engine, f"clicks AS c JOIN {shown} AND i.document = c.document WHERE i.rank <> c.rank"
        ),
    }
