"""Metarank: its events, as JSON Lines. A `ranking` with a query is a search and what it showed, in order; an
`interaction` is an action on one of its items. Events about items and users are left out."""

from collections.abc import Collection

from wayword.logs.importers import events, times
from wayword.logs.importers.job import Format, Job, Outcome, rows_of

FIELDS = ("event", "id", "timestamp", "user", "session", "fields", "items", "item", "ranking", "type")
QUERY = ("query", "q", "search", "search_query", "search_term")
"""Fields of a ranking that hold the query; `--map query=NAME` names another."""
_FIELDS = '[{"name":"VARCHAR","value":"VARCHAR"}]'
_ITEMS = '[{"id":"VARCHAR"}]'
_WRONG = f"""(event = 'ranking' AND (id IS NULL OR items IS NULL OR TRY(from_json(items, '{_ITEMS}')) IS NULL))
    OR (event = 'interaction' AND (item IS NULL OR type IS NULL))
    OR (event = 'ranking' AND fields IS NOT NULL AND TRY(from_json(fields, '{_FIELDS}')) IS NULL)"""


def recognises(names: Collection[str]) -> bool:
    """Rankings or interactions."""
    return {"event", "id", "timestamp"} <= {*names} and bool({"items", "item", "ranking"} & {*names})


def read(job: Job) -> Outcome:
    """Read the events."""
    engine = job.engine
    expected = "Metarank events: a ranking has id and items, an interaction has type and item"
    lines, notes, left_out = events.load(
        job, "metarank", {n: n for n in FIELDS}, wrong=_WRONG, expected=expected
    )
    time = times.find(engine, "FROM metarank", "timestamp").sql
    engine.step(
        "metarank_rankings",
        f"""
        SELECT place, id AS query_id, coalesce("user", session) AS person, {time} AS time,
               trim(list_filter(pairs, lambda f: list_contains(:names, lower(f.name)))[1].value) AS query,
               list_transform(from_json(items, '{_ITEMS}'), lambda i: i.id) AS hits,
               TRY(CAST(to_json(map_from_entries(list_transform(
                 list_filter(pairs, lambda f: NOT list_contains(:names, lower(f.name))),
                 lambda f: struct_pack(k := f.name, v := f.value)))) AS VARCHAR)) AS attributes
        FROM (SELECT *, from_json(fields, '{_FIELDS}') AS pairs FROM metarank WHERE event = 'ranking')
        """,
        names=[job.mapping["query"].lower()] if "query" in job.mapping else list(QUERY),
    )
    events.prepare(engine)
    events.ask(engine, "SELECT * FROM metarank_rankings WHERE query <> '' ORDER BY place")
    events.act(
        engine,
        f"""SELECT place, ranking AS query_id, coalesce("user", session) AS person, {time} AS time, type AS action,
                   item AS object, NULL AS ordinal FROM metarank WHERE event = 'interaction' ORDER BY place""",
    )
    counts = rows_of(
        engine,
        """SELECT count(*) FILTER (event NOT IN ('ranking', 'interaction') OR event IS NULL) AS other,
                  (SELECT count(*) FROM metarank_rankings WHERE coalesce(query, '') = '') AS blank FROM metarank""",
    )[0]
    actions = events.actions_of(job)
    known = ", ".join("'" + name.replace("'", "''") + "'" for name in actions)
    notes += events.unweighted(
        engine, f"SELECT type AS action FROM metarank WHERE event = 'interaction' AND type NOT IN ({known})"
    )
    dropped = {"rankings without a query": counts["blank"], "events about items and users": counts["other"]}
    return events.finish(job, lines, left_out, actions, notes, dropped=dropped)


FORMAT = Format("metarank", "Metarank events (rankings and interactions)", recognises, read, ("query",))
