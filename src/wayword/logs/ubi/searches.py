"""Searches: one per query_id, with the prefix that was typed before a completion was picked, and who searched when.

A search is a query record. A query_id may have several (a page, the facets, a text corrected): the first that has a
text and hits stands for it, else the first that has a text. A query_id without any is a search if an event names its
`user_query`; the first that does so.
"""

from wayword.engines.duck import DuckDB
from wayword.logs.log import forms
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import COMPLETION_ACTIONS, TYPING_SESSION

_PLAIN = "regexp_matches(query, '[\\pL\\pN]')"
_VISIBLE = f"({_PLAIN} OR query IN (SELECT raw FROM odd_forms WHERE text <> ''))"


def build(engine: DuckDB) -> dict[str, int]:
    """Table `searches` (place, query_id, query, person, time, hits, attributes, typing_session, prefix). Needs `asked`,
    `events` and `completions`. `prefix` is known if and only if the query was picked from a list.
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
        f"""
        SELECT place, query_id, query, person, time, hits, attributes,
               CASE WHEN json_type(attributes, '$.{TYPING_SESSION}') NOT IN ('OBJECT', 'ARRAY', 'NULL')
                    THEN nullif(attributes ->> '$.{TYPING_SESSION}', '') END AS typing_session
        FROM recorded
        UNION ALL SELECT place, query_id, query, person, time, NULL, NULL, NULL FROM mentioned
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
    """Table `began`: the last completion with the text of the search that was picked on the way to it.

    A pick has the search's query_id, or its typing session; the clocks of a browser and of a server may differ, so the
    latter says nothing about time.
    """
    engine.step(
        "led",
        """
        SELECT c.*, f.query, f.query_id AS search FROM completions AS c JOIN found AS f ON f.query_id = c.query_id
        WHERE c.action = 'picked' AND coalesce(c.time <= f.time, true)
        UNION
        SELECT c.*, f.query, f.query_id AS search
        FROM completions AS c JOIN found AS f ON f.typing_session = c.typing_session WHERE c.action = 'picked'
        """,
    )
    engine.step(
        "began",
        """
        SELECT search AS query_id, prefix, arm, policy, person FROM led WHERE lower(trim(picked)) = lower(trim(query))
        QUALIFY row_number() OVER (PARTITION BY search ORDER BY time DESC NULLS LAST, place DESC) = 1
        """,
    )


def _report(engine: DuckDB) -> dict[str, int]:
    return {
        "searches": count(engine, "searches"),
        "searches known from events alone": count(engine, "mentioned"),
        "searches that began with a completion": count(engine, "began"),
        "searches of another query than the one picked": count(
            engine, "(SELECT DISTINCT search FROM led WHERE search NOT IN (SELECT query_id FROM began))"
        ),
        "query records without a text": count(engine, f"asked WHERE NOT coalesce({_VISIBLE}, false)"),
        "query records without a query_id": count(engine, f"asked WHERE query_id IS NULL AND {_VISIBLE}"),
        "further query records of a query_id": count(
            engine, f"asked WHERE query_id IS NOT NULL AND {_VISIBLE}"
        )
        - count(engine, "recorded"),
    }
