"""Searches: one per query_id, with the prefix that was typed before a completion was picked, and who searched when.

A search is a query record. A query_id may have several (a page, the facets, a text corrected): the first that has a
text and hits stands for it, else the first that has a text. A query_id without any is a search if an event names its
`user_query`; the first that does so.
"""

from wayword.engines.duck import DuckDB
from wayword.logs.log import forms
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import COMPLETION_ACTIONS

_PLAIN = "regexp_matches(query, '[\\pL\\pN]')"
_VISIBLE = f"({_PLAIN} OR query IN (SELECT raw FROM odd_forms WHERE text <> ''))"


def build(engine: DuckDB) -> dict[str, int]:
    """Table `searches` (place, query_id, query, person, time, hits, attributes, prefix). Needs `asked`, `events` and
    `completions`.
    """
    forms(
        engine,
        "odd_forms",
        f"""SELECT DISTINCT query FROM (SELECT query FROM asked UNION ALL SELECT query FROM events) AS texts
            WHERE NOT {_PLAIN}""",
    )
    engine.step(
        "recorded",
        f"""
        SELECT * FROM asked WHERE place IN (
          SELECT place FROM asked WHERE query_id IS NOT NULL AND {_VISIBLE}
          QUALIFY row_number() OVER (PARTITION BY query_id
            ORDER BY coalesce(len(hits), 0) > 0 DESC, time NULLS LAST, place) = 1)
        """,
    )
    engine.step(
        "mentioned",
        f"""
        SELECT place, query_id, query, person, time FROM events
        WHERE query_id IS NOT NULL AND {_VISIBLE} AND action NOT IN {COMPLETION_ACTIONS}
          AND query_id NOT IN (SELECT query_id FROM recorded)
        QUALIFY row_number() OVER (PARTITION BY query_id ORDER BY time NULLS LAST, place) = 1
        """,
    )
    engine.step(
        "found",
        """
        SELECT place, query_id, query, person, time, hits, attributes FROM recorded
        UNION ALL SELECT place, query_id, query, person, time, NULL, NULL FROM mentioned
        """,
    )
    _begin(engine)
    engine.step(
        "searches",
        """
        SELECT f.* REPLACE (coalesce(f.person, p.person) AS person), b.prefix
        FROM found AS f LEFT JOIN began AS b ON b.query_id = f.query_id
        LEFT JOIN (SELECT query_id, arg_min(person, place) AS person FROM events GROUP BY query_id) AS p
          ON p.query_id = f.query_id
        """,
    )
    return _report(engine)


def _begin(engine: DuckDB) -> None:
    """Table `began`: the last completion that was picked before each search."""
    engine.step(
        "began",
        """
        SELECT c.query_id, c.prefix, c.arm, c.policy, c.person
        FROM completions AS c JOIN found AS f ON f.query_id = c.query_id
        WHERE c.action = 'picked' AND coalesce(c.time <= f.time, true)
        QUALIFY row_number() OVER (PARTITION BY c.query_id ORDER BY c.time DESC NULLS LAST, c.place DESC) = 1
        """,
    )


def _report(engine: DuckDB) -> dict[str, int]:
    return {
        "searches": count(engine, "searches"),
        "searches known from events alone": count(engine, "mentioned"),
        "searches that began with a completion": count(engine, "began"),
        "query records without a text": count(engine, f"asked WHERE NOT coalesce({_VISIBLE}, false)"),
        "query records without a query_id": count(engine, f"asked WHERE query_id IS NULL AND {_VISIBLE}"),
        "further query records of a query_id": count(
            engine, f"asked WHERE query_id IS NOT NULL AND {_VISIBLE}"
        )
        - count(engine, "recorded"),
    }
