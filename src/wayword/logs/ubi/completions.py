"""Completions: the events of lists that users were shown and of queries that they picked."""

from wayword.engines.duck import DuckDB
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import COMPLETION_ACTIONS, PICKED


def build(engine: DuckDB) -> dict[str, int]:
    """Table `completions`: one row per event, `action` shown or picked; an event that is there twice is one."""
    engine.step(
        "completions",
        f"""
        SELECT place, application, nullif(completion.typing_session, '') AS typing_session, query_id, person, time,
               CASE action WHEN '{PICKED}' THEN 'picked' ELSE 'shown' END AS action, completion.prefix AS prefix,
               CASE action WHEN '{PICKED}' THEN object END AS picked,
               CASE action WHEN '{PICKED}' THEN ordinal END AS ordinal, completion.shown AS shown,
               completion.mode AS mode, completion.policy AS policy, completion.index AS index, completion.arm AS arm
        FROM events WHERE action IN {COMPLETION_ACTIONS}
        QUALIFY row_number() OVER (PARTITION BY query_id, person, time, action, object, completion ORDER BY place) = 1
        """,
    )
    rows = engine.arrow("SELECT action, count(*) AS n FROM completions GROUP BY action").to_pylist()
    counts = {row["action"]: row["n"] for row in rows}
    return {
        "lists of completions shown": counts.get("shown", 0),
        "completions picked": counts.get("picked", 0),
        "events of completions that are there twice": count(
            engine, f"events WHERE action IN {COMPLETION_ACTIONS}"
        )
        - sum(counts.values()),
    }
