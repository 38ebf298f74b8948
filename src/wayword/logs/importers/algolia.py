"""Algolia: events of the Insights API, joined with the texts of the queries by `queryID`.

The text is in a table of searches (`queryID`, `query`), in responses of searches (`queryID`, `query`, `hits`, `page`,
`hitsPerPage`), which also say what was shown, or in the events themselves (`query`). Positions count from 1.
Conversions have no position; theirs is that of the click, or of what was shown.
"""

from collections.abc import Collection

from wayword.logs.importers import events, times
from wayword.logs.importers.job import Format, Job, Outcome, rows_of

FIELDS = (
    "eventType",
    "eventSubtype",
    "eventName",
    "queryID",
    "objectIDs",
    "positions",
    "userToken",
    "timestamp",
    "query",
    "hits",
    "page",
    "hitsPerPage",
)
_HITS = '[{"objectID":"VARCHAR"}]'
_LIST = "CASE WHEN starts_with({0}, '[') THEN from_json({0}, '[\"VARCHAR\"]') WHEN {0} <> '' THEN [{0}] END"
_WRONG = f"""(objectIDs LIKE '[%' AND TRY(from_json(objectIDs, '["VARCHAR"]')) IS NULL) OR objectIDs LIKE '{{%'
    OR (positions IS NOT NULL AND TRY(CAST({_LIST.format("positions")} AS INTEGER[])) IS NULL)
    OR (hits IS NOT NULL AND TRY(from_json(hits, '{_HITS}')) IS NULL)"""


def recognises(names: Collection[str]) -> bool:
    """Events of the Insights API."""
    return "eventType" in names and bool({"queryID", "objectIDs"} & {*names})


def read(job: Job) -> Outcome:
    """Read events and searches."""
    engine = job.engine
    fields = {name: job.mapping.get(name, name) for name in FIELDS}
    expected = "events with lists objectIDs and positions, and searches with queryID and query"
    lines, notes, left_out = events.load(job, "algolia", fields, wrong=_WRONG, expected=expected)
    time = times.find(engine, "FROM algolia", "timestamp").sql
    engine.step("algolia_timed", f"SELECT *, {time} AS time FROM algolia")
    _unnest(job)
    events.prepare(engine)
    events.ask(
        engine,
        f"""SELECT place, queryID AS query_id, query, userToken AS person, time,
                   CASE WHEN coalesce(TRY_CAST(page AS INTEGER), 0) = 0
                        THEN list_transform(from_json(hits, '{_HITS}'), lambda h: h.objectID) END AS hits,
                   NULL AS attributes
            FROM algolia_timed WHERE queryID IS NOT NULL AND query IS NOT NULL ORDER BY eventType IS NOT NULL, place""",
    )
    events.act(
        engine,
        "SELECT place, query_id, person, time, action, object, ordinal FROM algolia_actions ORDER BY place, turn",
    )
    counts = rows_of(
        engine,
        """SELECT count(*) FILTER (eventType IS NOT NULL AND queryID IS NULL) AS apart,
                  count(*) FILTER (eventType = 'view' AND queryID IS NOT NULL) AS viewed FROM algolia_timed""",
    )[0]
    actions = events.actions_of(job)
    known = ", ".join("'" + name.replace("'", "''") + "'" for name in ("impression", *actions))
    notes += events.unweighted(engine, f"SELECT action FROM algolia_actions WHERE action NOT IN ({known})")
    return events.finish(
        job, lines, left_out, actions, notes, dropped={"events without a queryID": counts["apart"]}
    )


def _unnest(job: Job) -> None:
    """Table `algolia_actions`: a row per object of an event, with its position, or that of its click in the search.

    Further pages of a search are impressions at the positions after those of the pages before.
    """
    offset = "TRY_CAST(page AS INTEGER) * TRY_CAST(hitsPerPage AS INTEGER)"
    job.engine.step(
        "algolia_actions",
        f"""
        SELECT * REPLACE (coalesce(ordinal, min(ordinal) OVER (PARTITION BY query_id, object)) AS ordinal) FROM (
          SELECT place, turn, queryID AS query_id, userToken AS person, time, object,
                 CASE eventType WHEN 'view' THEN 'impression' WHEN 'click' THEN 'click'
                      ELSE coalesce(eventSubtype, eventType) END AS action,
                 CAST(CAST(places AS INTEGER[])[turn] AS DOUBLE) AS ordinal
          FROM (SELECT *, unnest({_LIST.format("objectIDs")}) AS object,
                       generate_subscripts({_LIST.format("objectIDs")}, 1) AS turn,
                       {_LIST.format("positions")} AS places
                FROM algolia_timed WHERE eventType IS NOT NULL AND queryID IS NOT NULL)
          UNION ALL
          SELECT place, turn, queryID, userToken, time, hit.objectID, 'impression', CAST(turn + {offset} AS DOUBLE)
          FROM (SELECT *, unnest(from_json(hits, '{_HITS}')) AS hit,
                       generate_subscripts(from_json(hits, '{_HITS}'), 1) AS turn
                FROM algolia_timed WHERE eventType IS NULL AND queryID IN (
                  SELECT queryID FROM algolia_timed WHERE TRY_CAST(page AS INTEGER) > 0))
          WHERE {offset} IS NOT NULL
        )
        """,
    )


FORMAT = Format("algolia", "Algolia Insights events, with a table of searches", recognises, read, FIELDS)
