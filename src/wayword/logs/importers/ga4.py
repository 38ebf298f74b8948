"""GA4: the events that Google Analytics 4 exports to BigQuery (tables `events_*`, as JSON Lines or Parquet).

A search is an event `view_search_results` or `search` with the parameter `search_term`; the same term again in the
same session, with no other between, is a further page of it. Lists (`view_item_list`) and actions (`select_item`,
`add_to_cart`, `purchase`, …) belong to the latest search before them in their session (`user_pseudo_id` and
`ga_session_id`); an action other than `select_item`, to the latest search that showed the item or led to it.
"""

from collections.abc import Collection

from wayword.engines.duck import DuckDB
from wayword.logs.importers import events
from wayword.logs.importers.job import Format, Job, Outcome, rows_of

SEARCHES = ("view_search_results", "search")
LISTS, SELECTED = "view_item_list", "select_item"
FIELDS = (
    "event_name",
    "event_timestamp",
    "user_pseudo_id",
    "user_id",
    "event_params",
    "items",
    "device",
    "geo",
    "platform",
)
_PARAMS = '[{"key":"VARCHAR","value":{"string_value":"VARCHAR","int_value":"VARCHAR"}}]'
_ITEMS = (
    '[{"item_id":"VARCHAR","item_name":"VARCHAR","item_list_index":"VARCHAR","index":"VARCHAR",'
    '"item_list_name":"VARCHAR","item_list_id":"VARCHAR"}]'
)
_WRONG = f"""(event_params IS NOT NULL AND TRY(from_json(event_params, '{_PARAMS}')) IS NULL)
    OR (items IS NOT NULL AND TRY(from_json(items, '{_ITEMS}')) IS NULL)
    OR (event_name IS NOT NULL AND TRY_CAST(event_timestamp AS BIGINT) IS NULL)"""
NOT_SEARCH = "results in lists that are no search results"


def recognises(names: Collection[str]) -> bool:
    """Events with parameters."""
    return {"event_name", "event_params", "event_timestamp"} <= {*names}


def read(job: Job) -> Outcome:
    """Read the events."""
    engine = job.engine
    expected = (
        "events of the BigQuery export: event_timestamp in microseconds, event_params and items as lists"
    )
    lines, notes, left_out = events.load(
        job, "ga4_events", {n: n for n in FIELDS}, wrong=_WRONG, expected=expected
    )
    _parse(engine)
    _find_searches(engine)
    other, more = _find_results(job)
    events.prepare(engine)
    events.ask(
        engine,
        """SELECT place, query_id, term AS query, person, make_timestamptz(micros) AS time, NULL AS hits,
                  CAST(json_object('device', device, 'country', country, 'platform', platform) AS VARCHAR) AS attributes
           FROM ga4_searches ORDER BY place""",
    )
    events.act(
        engine,
        "SELECT place, query_id, person, time, action, object, ordinal FROM ga4_actions ORDER BY place, turn",
    )
    dropped = {NOT_SEARCH: other}
    return events.finish(
        job, lines, left_out, events.actions_of(job, "click"), [*notes, *more], dropped=dropped
    )


def _parse(engine: DuckDB) -> None:
    """Table `ga4`: the events with their session."""
    engine.step(
        "ga4",
        f"""
        SELECT place, event_name AS name, CAST(event_timestamp AS BIGINT) AS micros,
               coalesce(nullif(user_id, ''), user_pseudo_id) AS person, from_json(items, '{_ITEMS}') AS items,
               user_pseudo_id || '/' || list_filter(params, lambda p: p.key = 'ga_session_id')[1].value.int_value
               AS session,
               trim(list_filter(params, lambda p: p.key = 'search_term')[1].value.string_value) AS term,
               lower(list_filter(params, lambda p: p.key = 'item_list_name')[1].value.string_value) AS list,
               device ->> '$.category' AS device, geo ->> '$.country' AS country, platform
        FROM (SELECT *, from_json(event_params, '{_PARAMS}') AS params FROM ga4_events)
        """,
    )


def _find_searches(engine: DuckDB) -> None:
    """Table `ga4_searches`: an event of the same term right after is the same search."""
    engine.step(
        "ga4_searches",
        f"""
        SELECT *, session || '/' || row_number() OVER (PARTITION BY session ORDER BY micros, place) AS query_id FROM (
          SELECT place, session, micros, person, term, device, country, platform FROM ga4
          WHERE name IN {SEARCHES} AND session IS NOT NULL AND term <> ''
          QUALIFY term IS DISTINCT FROM lag(term) OVER (PARTITION BY session ORDER BY micros, place)
        )
        """,
    )


def _find_results(job: Job) -> tuple[int, list[str]]:
    """Table `ga4_actions`: the items of lists and actions, each with its search; and the items of other lists."""
    engine = job.engine
    engine.step(
        "ga4_items",
        f"""
        SELECT place, turn, name, session, micros, person,
               coalesce(nullif(item.item_id, '(not set)'), item.item_name) AS object,
               TRY_CAST(coalesce(item.item_list_index, item.index) AS DOUBLE) AS index,
               lower(coalesce(nullif(item.item_list_name, '(not set)'), nullif(item.item_list_id, '(not set)'), list))
               AS list
        FROM (SELECT * EXCLUDE (items), unnest(items) AS item, generate_subscripts(items, 1) AS turn FROM ga4
              WHERE name NOT IN {SEARCHES} AND session IS NOT NULL)
        """,
    )
    listed = f"name IN ('{LISTS}', '{SELECTED}')"
    facts = rows_of(
        engine,
        f"""SELECT coalesce(bool_or(list LIKE '%search%'), false) AS named,
                   coalesce(bool_or(index IS NOT NULL AND name = '{LISTS}'), false) AS placed,
                   count(*) FILTER ({listed} AND list NOT LIKE '%search%') AS other FROM ga4_items""",
    )[0]
    kept = f"NOT ({listed} AND coalesce(list NOT LIKE '%search%', false))" if facts["named"] else "true"
    place = "index" if facts["placed"] else f"CASE name WHEN '{LISTS}' THEN turn ELSE index END"
    engine.step(
        "ga4_found",
        f"""
        SELECT i.place, i.turn, i.name, i.session, i.micros, i.person, i.object, {place} AS ordinal, s.query_id
        FROM (SELECT * FROM ga4_items WHERE {listed} AND {kept} AND object IS NOT NULL) AS i
        ASOF LEFT JOIN ga4_searches AS s ON s.session = i.session AND s.micros <= i.micros
        """,
    )
    engine.step(
        "ga4_actions",
        f"""
        SELECT place, turn, query_id, person, make_timestamptz(micros) AS time, object, ordinal,
               CASE name WHEN '{LISTS}' THEN 'impression' ELSE 'click' END AS action FROM ga4_found
        UNION ALL
        SELECT a.place, a.turn, f.query_id, a.person, make_timestamptz(a.micros), a.object, f.ordinal, a.name
        FROM (SELECT * FROM ga4_items WHERE NOT {listed} AND list_contains(:weighed, name)) AS a
        ASOF LEFT JOIN (SELECT * FROM ga4_found WHERE query_id IS NOT NULL) AS f
          ON f.session = a.session AND f.object = a.object AND f.micros <= a.micros
        """,
        weighed=[*job.weights],
    )
    weighed = ", ".join("'" + name.replace("'", "''") + "'" for name in ("", *job.weights))
    unweighed = events.unweighted(
        engine, f"SELECT name AS action FROM ga4_items WHERE NOT {listed} AND name NOT IN ({weighed})"
    )
    return (facts["other"] if facts["named"] else 0), unweighed


FORMAT = Format(
    "ga4", "Google Analytics 4 events exported from BigQuery (JSON Lines or Parquet)", recognises, read
)
