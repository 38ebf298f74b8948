"""Rankings: the latest result list of each query.

The list of a search is the hits of its query record. Where no search of a query has any, it is what the impressions of
its latest search say: the first document that was seen at each rank.
"""

from wayword.engines.duck import DuckDB
from wayword.logs.ubi.clicks import IMPRESSION
from wayword.logs.ubi.parser import count


def find_impressions(engine: DuckDB) -> None:
    """Table `impressions` (query_id, document, rank): one rank per document, one document per rank. Needs `placed`."""
    engine.step(
        "impressions",
        f"""
        SELECT query_id, document, rank FROM (
          SELECT query_id, document, rank, time, place FROM placed
          WHERE action = '{IMPRESSION}' AND query_id IS NOT NULL AND document IS NOT NULL AND rank IS NOT NULL
          QUALIFY row_number() OVER (PARTITION BY query_id, document ORDER BY time NULLS LAST, place) = 1
        ) AS seen QUALIFY row_number() OVER (PARTITION BY query_id, rank ORDER BY time NULLS LAST, place) = 1
        """,
    )


def build(engine: DuckDB) -> dict[str, int]:
    """Table `rankings` (query, document, rank). Needs `searches`, `clicks` and `impressions`."""
    latest = "QUALIFY row_number() OVER (PARTITION BY query ORDER BY time DESC NULLS LAST, place DESC) = 1"
    engine.step("answered", f"SELECT query, hits FROM searches WHERE len(hits) > 0 {latest}")
    engine.step(
        "observed",
        f"""
        SELECT query, query_id FROM searches
        WHERE query_id IN (SELECT query_id FROM impressions) AND query NOT IN (SELECT query FROM answered) {latest}
        """,
    )
    engine.step(
        "rankings",
        """
        SELECT query, document, CAST(min(rank) AS INTEGER) AS rank FROM (
          SELECT query, unnest(hits) AS document, generate_subscripts(hits, 1) AS rank FROM answered
        ) AS hit GROUP BY query, document
        UNION ALL
        SELECT o.query, i.document, i.rank FROM observed AS o JOIN impressions AS i ON i.query_id = o.query_id
        """,
    )
    return {
        "queries": count(engine, "(SELECT DISTINCT query FROM searches)"),
        "result lists": count(engine, "answered") + count(engine, "observed"),
        "result lists known from impressions": count(engine, "observed"),
        "clicks on documents in no result list": count(
            engine, "clicks WHERE document NOT IN (SELECT document FROM rankings)"
        ),
        "clicks from queries without a result list": count(
            engine,
            """clicks AS c JOIN searches AS s ON s.query_id = c.query_id
               WHERE s.query NOT IN (SELECT query FROM rankings) AND c.document IN (SELECT document FROM rankings)""",
        ),
    }
