"""Rankings: the latest result list of each query that explains its clicks.

The list of a search is the hits of its query record. Where no search of a query has any, it is what its impression
events say (`impressions.find_seen`). Anybody may post a list, so one is passed over if it has
less than half as many of the clicked documents as another of the query's latest lists.
"""

from wayword.engines.duck import DuckDB
from wayword.logs.ubi.parser import count

LATEST = 20
"""Lists of a query that are compared."""


def build(engine: DuckDB) -> dict[str, int]:
    """Table `rankings` (query, document, rank). Needs `searches`, `clicks` and `seen`."""
    turn = "row_number() OVER (PARTITION BY query ORDER BY time DESC NULLS LAST, place DESC) AS turn"
    engine.step(
        "answered", f"SELECT query, hits, {turn} FROM searches WHERE len(hits) > 0 QUALIFY turn <= {LATEST}"
    )
    engine.step(
        "observed",
        f"""
        SELECT query, query_id, {turn} FROM searches
        WHERE query_id IN (SELECT query_id FROM seen) AND query NOT IN (SELECT query FROM answered)
        QUALIFY turn <= {LATEST}
        """,
    )
    engine.step(
        "listed",
        """
        SELECT query, turn, document, CAST(min(rank) AS INTEGER) AS rank FROM (
          SELECT query, turn, unnest(hits) AS document, generate_subscripts(hits, 1) AS rank FROM answered
        ) AS hit GROUP BY query, turn, document
        UNION ALL
        SELECT o.query, o.turn, i.document, i.rank FROM observed AS o JOIN seen AS i ON i.query_id = o.query_id
        """,
    )
    engine.step(
        "chosen",
        """
        SELECT query, min(turn) AS turn FROM (
          SELECT l.query, l.turn, coalesce(sum(w.clicks), 0) AS explained,
                 max(coalesce(sum(w.clicks), 0)) OVER (PARTITION BY l.query) AS most
          FROM listed AS l LEFT JOIN (
            SELECT s.query, c.document, count(*) AS clicks
            FROM clicks AS c JOIN searches AS s ON s.query_id = c.query_id GROUP BY s.query, c.document
          ) AS w ON w.query = l.query AND w.document = l.document GROUP BY l.query, l.turn
        ) AS lists WHERE 2 * explained >= most GROUP BY query
        """,
    )
    engine.step(
        "rankings",
        """SELECT l.query, l.document, l.rank FROM listed AS l
           JOIN chosen AS c ON c.query = l.query AND c.turn = l.turn""",
    )
    return {
        "queries": count(engine, "(SELECT DISTINCT query FROM searches)"),
        "result lists": count(engine, "chosen"),
        "result lists known from impressions": count(engine, "(SELECT DISTINCT query FROM observed)"),
        "clicks on documents in no result list": count(
            engine, "clicks WHERE document NOT IN (SELECT document FROM rankings)"
        ),
        "clicks from queries without a result list": count(
            engine,
            """clicks AS c JOIN searches AS s ON s.query_id = c.query_id
               WHERE s.query NOT IN (SELECT query FROM rankings) AND c.document IN (SELECT document FROM rankings)""",
        ),
    }
