"""Clicks: the document, search and rank of each. Unusable clicks are left out and counted by reason.

The rank is the event's ordinal, counted from 1. Some applications count ordinals from 0: those whose impressions and
clicks have the ordinal 0, at least a tenth as often as 1, so that a stray one changes nothing. Without a usable
ordinal, the rank is that of the document in what the search showed.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from wayword.engines.duck import DuckDB
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import DEEPEST_RANK

_STRAY = "(o.zeros * 10 < o.ones)"
CLICKS = ("click", "click_through", "item_click")
IMPRESSION = "impression"
NO_SEARCH, NO_DOCUMENT, ANOTHER, TWICE, NO_RANK, MOVED = REASONS = (
    "clicks of no known search",
    "clicks without an object_id",
    "clicks of another query under the same query_id",
    "clicks that are there twice",
    "clicks without a rank",
    "clicks on a document that an earlier click found at another rank",
)


def find_first_ordinals(engine: DuckDB, actions: Sequence[str], given: int | None) -> dict[str, int]:
    """Table `placed` (the events of clicks and impressions, with their rank), and each application's first ordinal."""
    engine.load("click_actions", pa.table({"action": pa.array(actions, pa.string())}))
    engine.step(
        "ordinals",
        f"""
        SELECT application, count(*) FILTER (ordinal = 0) AS zeros, count(*) FILTER (ordinal = 1) AS ones
        FROM events WHERE ordinal >= 0 AND (action = '{IMPRESSION}' OR action IN (SELECT action FROM click_actions))
        GROUP BY application
        """,
    )
    first = f"CASE WHEN o.zeros > 0 AND NOT {_STRAY} THEN 0 ELSE 1 END" if given is None else str(given)
    rank = f"(e.ordinal - ({first}) + 1)"
    engine.step(
        "placed",
        f"""
        SELECT e.place, e.query_id, e.query, e.time, e.action, e.object AS document,
               CASE WHEN {rank} >= 1 AND {rank} <= {DEEPEST_RANK} AND {rank} = floor({rank})
                    THEN CAST({rank} AS INTEGER) END AS rank
        FROM events AS e LEFT JOIN ordinals AS o ON o.application = e.application
        WHERE e.action = '{IMPRESSION}' OR e.action IN (SELECT action FROM click_actions)
        """,
    )
    rows = engine.arrow(f"SELECT o.application, {first} AS first FROM ordinals AS o ORDER BY 1").to_pylist()
    return {row["application"]: row["first"] for row in rows}


def doubtful(engine: DuckDB) -> Mapping[str, tuple[int, int]]:
    """Applications with few ordinals 0: the numbers of ordinals 0 and 1."""
    rows = engine.arrow(f"SELECT * FROM ordinals AS o WHERE zeros > 0 AND {_STRAY} ORDER BY application")
    return {row["application"]: (row["zeros"], row["ones"]) for row in rows.to_pylist()}


def build(engine: DuckDB) -> dict[str, int]:
    """Table `clicks` (place, query_id, document, rank, time, action): one row per click.

    Needs `searches`, `placed` and `seen`.
    """
    engine.step(
        "sorted_clicks",
        f"""
        SELECT p.place, p.query_id, p.document, p.time, p.action, p.rank IS NULL AS unplaced, len(s.hits) AS listed,
               coalesce(p.rank, list_position(s.hits, p.document), i.rank) AS rank,
               CASE WHEN s.query_id IS NULL THEN '{NO_SEARCH}'
                    WHEN p.document IS NULL THEN '{NO_DOCUMENT}'
                    WHEN trim(p.query) <> '' AND lower(trim(p.query)) <> lower(trim(s.query)) THEN '{ANOTHER}'
                    WHEN row_number() OVER (PARTITION BY p.query_id, p.document, p.time, p.action
                                            ORDER BY p.rank NULLS LAST, p.place) > 1 THEN '{TWICE}'
                    WHEN coalesce(p.rank, list_position(s.hits, p.document), i.rank) IS NULL THEN '{NO_RANK}'
               END AS reason
        FROM placed AS p LEFT JOIN searches AS s ON s.query_id = p.query_id
        LEFT JOIN seen AS i ON i.query_id = p.query_id AND i.document = p.document
        WHERE p.action IN (SELECT action FROM click_actions)
        """,
    )
    engine.step(
        "judged_clicks",
        f"""
        SELECT * REPLACE (CASE WHEN reason IS NULL AND rank <> first_value(rank) OVER (
                 PARTITION BY query_id, document, reason ORDER BY time NULLS LAST, place) THEN '{MOVED}'
               ELSE reason END AS reason)
        FROM sorted_clicks
        """,
    )
    engine.step(
        "clicks",
        "SELECT place, query_id, document, rank, time, action FROM judged_clicks WHERE reason IS NULL",
    )
    rows = engine.arrow("SELECT reason, count(*) AS n FROM judged_clicks GROUP BY reason").to_pylist()
    reasons = {row["reason"]: row["n"] for row in rows}
    return {
        "clicks": reasons.get(None, 0),
        "clicks whose rank is that of the list": count(
            engine, "judged_clicks WHERE reason IS NULL AND unplaced"
        ),
        "clicks deeper than the list of their search": count(
            engine, "judged_clicks WHERE reason IS NULL AND listed > 0 AND rank > listed"
        ),
        **{reason: reasons.get(reason, 0) for reason in REASONS},
    }
