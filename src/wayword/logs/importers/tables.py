"""Tables: CSV, JSON Lines and Parquet under any names of columns. A row is a click, a result shown, or an action.

With a column `results`, a row is a search, or a click, with the list of the documents that the search returned. With a
column `clicked`, each row is a result that was shown. With a column `action`, it says what a row is: a search, a
result shown, a click, or another action, which counts if it has a weight; one without a query belongs to the latest
query before it in its session, and one without a rank has that of its document in the search. Otherwise each row is a
click, or a search without one.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from wayword.errors import LogError
from wayword.logs.columns import CONTEXT
from wayword.logs.importers import click_rows, columns, events, proposal, result_lists, times, values
from wayword.logs.importers.columns import Mapped
from wayword.logs.importers.job import Format, Job, Outcome, rows_of
from wayword.logs.importers.literals import quote, text
from wayword.logs.importers.names import ROLES, simple
from wayword.logs.importers.nested_lists import flattened

SEARCHES = (
    "search",
    "searched",
    "query",
    "submit",
    "search_submitted",
    "view_search_results",
    "suche",
    "suchanfrage",
    "recherche",
    "búsqueda",
    "zoeken",
    "ricerca",
)
SHOWN = (
    "impression",
    "impressions",
    "view",
    "viewed",
    "shown",
    "show",
    "display",
    "displayed",
    "view_item_list",
    "anzeige",
    "angezeigt",
    "treffer",
    "affichage",
)
CLICKED = (
    "click",
    "clicked",
    "clickthrough",
    "click_through",
    "select",
    "selected",
    "select_item",
    "result_click",
    "product_click",
    "item_click",
    "search_click",
    "click_result",
    "klick",
    "klicken",
    "angeklickt",
    "geklickt",
    "clic",
    "klik",
)
YES = (
    "1",
    "true",
    "yes",
    "y",
    "t",
    "1.0",
    "ja",
    "j",
    "oui",
    "o",
    "si",
    "sí",
    "s",
    "sim",
    "tak",
    "x",
    "wahr",
    "vrai",
)
NO = (
    "0",
    "false",
    "no",
    "n",
    "f",
    "0.0",
    "nein",
    "non",
    "nee",
    "não",
    "nie",
    "falsch",
    "faux",
    "-",
    "null",
    "none",
)
_SAMPLED = 200
_CLOCK = re.compile(r"\d{1,2}([:h]\d{2}(:\d{2}([.,]\d+)?)?|\.\d{2})( ?[AaPp]\.?[Mm]\.?)?( ?Uhr)?")
_CLOCKS = frozenset(
    " ".join((*ROLES["clock"], "time zeit heure hora ora tijd tid klockslag cas 時刻 время")).split()
)
"""Usual names of a time of day beside a date."""
_DAYS = "date datum day tag fecha data dato dag dia giorno dzien jour created дата 日付 日期"
_DATES = frozenset(_DAYS.split())
_EXPECTED = (
    "a query and a document that are texts, a rank that is a number, 0 or 1 where a row was clicked, and as results a "
    "list of documents such as d1;d2"
)


def read(job: Job) -> Outcome:
    """Read tables whose columns are found by their names, or given."""
    job, lists = flattened(job)
    names = job.records.names
    leaves = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
    mapped = columns.find(
        leaves,
        job.mapping,
        source=job.source,
        ranked=job.rankings is None,
        proposal=lambda missing: proposal.proposed(job, leaves, missing),
    )
    mapped = _with_clock(job, mapped)
    job.records.replaced = _replaced(job, mapped)
    said = [*lists, *_propose(job, mapped)]
    grouped = {"clicked", "action", "results"} & mapped.roles.keys()
    if job.weights and "action" not in mapped.roles:
        raise LogError(
            f"{job.source} has no column that says what was done, so --weight has nothing to weigh.\n  found: "
            f"{', '.join(job.records.names)}\nGive it with --map action=COLUMN, or leave --weight out."
        )
    outcome = _grouped(job, mapped) if grouped else click_rows.read(job, mapped)
    unused = [f"columns that are not used: {', '.join(mapped.unused)}"] if mapped.unused else []
    return Outcome(
        outcome.read,
        outcome.kept,
        outcome.dropped,
        [*said, *outcome.taken_as],
        [*mapped.notes, *unused, *outcome.notes],
    )


def _sampled(job: Job, column: str) -> list[str]:
    """The first values of a column."""
    rows = rows_of(
        job.engine,
        f"SELECT value FROM ({job.records.relation({'value': column})}) WHERE trim(value) <> '' LIMIT {_SAMPLED}",
    )
    return [str(row["value"]).strip() for row in rows]


def _with_clock(job: Job, mapped: Mapped) -> Mapped:
    """The columns, where the date and the time of day are two: `time` is then the date."""
    if (
        "time" not in mapped.roles
        or "time" in mapped.roles.keys() - mapped.guessed.keys()
        or "clock" in mapped.roles
    ):
        return mapped
    own = mapped.roles["time"]
    if not (first := _sampled(job, own)):
        return mapped
    if all(_CLOCK.fullmatch(value) for value in first):
        dates, clock = [name for name in mapped.unused if simple(name) in _DATES], own
        if not dates:
            return mapped
        time = dates[0]
    else:
        clocks = [name for name in mapped.unused if simple(name) in _CLOCKS]
        clocks = [name for name in clocks if all(_CLOCK.fullmatch(value) for value in _sampled(job, name))]
        if not clocks:
            return mapped
        time, clock = own, clocks[0]
    found = {"time": time, "clock": clock}
    unused = [name for name in mapped.unused if name not in found.values()]
    notes = [note for note in mapped.notes if not note.startswith("time is taken from")]
    return replace(
        mapped,
        roles={**mapped.roles, **found},
        guessed={**mapped.guessed, **found},
        unused=unused,
        notes=notes,
    )


def _replaced(job: Job, mapped: Mapped) -> dict[str, str]:
    """SQL for the texts of columns as they are meant; see `values`."""
    found = {"rank": values.rank("rank"), "document": values.present("document")}
    if "clock" in mapped.roles:
        day = r"regexp_replace(trim(time), '[ T]00:00(:00)?(\.0+)?$', '')"
        found["time"] = f"concat_ws(' ', {day}, trim(clock))"
    texts = _sampled(job, mapped.roles["query"])
    if texts and sum("?" in value and "=" in value for value in texts) > len(texts) / 2:
        found["query"] = values.searched("query")
    if "rank" not in mapped.roles and job.rankings is not None:
        key = "lower(trim(regexp_replace({}, '\\s+', ' ', 'g')))"
        job.engine.step(
            "known_ranks",
            f"""SELECT {key.format("query")} AS query, document, CAST(min(rank) AS VARCHAR) AS rank
                FROM read_parquet({text(str(job.rankings))}) GROUP BY ALL""",
        )
        found["rank"] = (
            f"(SELECT k.rank FROM known_ranks AS k WHERE k.query = {key.format('records.query')} "
            "AND k.document = trim(records.document))"
        )
    return found


def _propose(job: Job, mapped: Mapped) -> list[str]:
    """Say which columns are taken; ask if somebody is there."""
    if (
        mapped.guessed
        and job.confirm
        and not job.confirm(f"Columns by their names: {mapped.option}. Are these right?")
    ):
        raise LogError(
            f"Nothing was imported. Give the right columns; these were proposed:\n  {mapped.option}"
        )
    return [f"columns: {mapped.option}"]


def _grouped(job: Job, mapped: Mapped) -> Outcome:
    """Rows that are results shown, or actions of several kinds, as searches and events."""
    if not {"search_id", "session", "user", "results"} & mapped.roles.keys():
        raise LogError(
            f"{job.source} has rows of several kinds ({mapped.option}), but no column that says which belong to one "
            f"search.\n  found: {', '.join(job.records.names)}\nGive --map search_id=COLUMN (or session, user)."
        )
    fields = {role: mapped.roles.get(role) for role in ROLES}
    fields |= {CONTEXT + name: column for name, column in mapped.contexts.items()}
    wrong = f"""(rank IS NOT NULL AND TRY_CAST(rank AS DOUBLE) IS NULL)
        OR (clicked IS NOT NULL AND lower(clicked) NOT IN {(*YES, *NO)}) OR {job.records.nested("query", "document")}
        OR {result_lists.WRONG}"""
    lines, notes, left_out = events.load(job, "table_rows", fields, wrong=wrong, expected=_EXPECTED)
    engine = job.engine
    time = (
        times.find(engine, "FROM table_rows", "time").sql if "time" in mapped.roles else "NULL::TIMESTAMPTZ"
    )
    kinds = f"""CASE WHEN lower(action) IN {SEARCHES} THEN 'search' WHEN lower(action) IN {SHOWN} THEN 'impression'
                     WHEN lower(action) IN {CLICKED} THEN 'click' ELSE action END"""
    clicked = f"lower(clicked) IN {YES}"
    if "action" in mapped.roles:
        kind = kinds
    elif "clicked" in mapped.roles:
        kind = f"CASE WHEN {clicked} THEN 'click' ELSE 'impression' END"
    else:
        kind = "CASE WHEN nullif(trim(document), '') IS NULL THEN 'search' ELSE 'click' END"
    lists = result_lists.find(_sampled(job, mapped.roles["results"]) if "results" in mapped.roles else [])
    whose = "session" if "session" in mapped.roles else '"user"'
    engine.step(
        "timed_rows", f"SELECT * REPLACE (nullif(trim(query), '') AS query), {time} AS moment FROM table_rows"
    )
    before = f"last_value(query IGNORE NULLS) OVER (PARTITION BY {whose} ORDER BY moment NULLS FIRST, place)"
    latest = (
        f"CASE WHEN {whose} IS NOT NULL THEN {before} END" if "search_id" not in mapped.roles else "query"
    )
    engine.step("searched_rows", f"SELECT * REPLACE (coalesce(query, {latest}) AS query) FROM timed_rows")
    engine.step(
        "identified_rows",
        f"""
        SELECT place, {_search(mapped)} AS query_id, query, coalesce("user", session) AS person, moment AS time,
               {kind} AS action, {lists.sql} AS hits, nullif(trim(document), '') AS object,
               TRY_CAST(rank AS DOUBLE) AS ordinal,
               {_attributes(mapped)} AS attributes FROM searched_rows
        """,
    )
    own = "coalesce(ordinal, min(ordinal) OVER (PARTITION BY query_id, object)) AS ordinal"
    engine.step("kinds_of_rows", f"SELECT * REPLACE ({own}) FROM identified_rows")
    outcome = _finish(job, mapped, lines, left_out, notes)
    return replace(outcome, taken_as=[*lists.said, *outcome.taken_as])


def _finish(job: Job, mapped: Mapped, lines: int, left_out: int, notes: list[str]) -> Outcome:
    engine = job.engine
    events.prepare(engine)
    events.ask(
        engine,
        """SELECT min(place) AS place, query_id, arg_min(query, place) AS query, arg_min(person, place) AS person,
                  min(time) AS time, arg_min(hits, place) AS hits, arg_min(attributes, place) AS attributes
           FROM kinds_of_rows WHERE query_id IS NOT NULL AND query IS NOT NULL GROUP BY query_id ORDER BY 1""",
    )
    events.act(
        engine,
        """SELECT place, query_id, person, time, action, object, ordinal FROM kinds_of_rows
           WHERE action NOT IN ('search') AND object IS NOT NULL ORDER BY place""",
    )
    if "clicked" in mapped.roles and "action" not in mapped.roles:  # a result that was clicked was shown
        events.act(
            engine,
            """SELECT place, query_id, person, time, 'impression' AS action, object, ordinal FROM kinds_of_rows
               WHERE action = 'click' AND object IS NOT NULL ORDER BY place""",
        )
    actions = events.actions_of(job, "click")
    known = ", ".join(text(name) for name in ("search", "impression", *actions))
    notes += events.unweighted(engine, f"SELECT action FROM kinds_of_rows WHERE action NOT IN ({known})")
    blank = engine.arrow("SELECT count(*) AS n FROM kinds_of_rows WHERE query IS NULL AND action <> 'click'")[
        "n"
    ][0].as_py()
    return events.finish(job, lines, left_out, actions, notes, dropped={"rows without a query": blank})


def _search(mapped: Mapped) -> str:
    """SQL for what tells a search: its id, else the query in a session, or of a user (at a time, of results shown)."""
    if "search_id" in mapped.roles:
        return "nullif(trim(search_id), '')"
    if not {"session", "user"} & mapped.roles.keys():
        return "CAST(place AS VARCHAR)"
    whose = "session" if "session" in mapped.roles else '"user"'
    shown = {"clicked", "results"} & mapped.roles.keys()
    when = " || coalesce(time, '')" if shown and "session" not in mapped.roles else ""
    return f"nullif(trim({whose}), '') || '/' || left(md5(lower(trim(query)){when}), 12)"


def _attributes(mapped: Mapped) -> str:
    pairs = ", ".join(f"{text(name)}, {quote(CONTEXT + name)}" for name in mapped.contexts)
    return f"CAST(json_object({pairs}) AS VARCHAR)" if pairs else "NULL"


def recognises(names: Collection[str]) -> bool:
    """Any table may be one."""
    return bool(names)


FORMAT = Format(
    "tables",
    "CSV (any separator), JSON Lines or Parquet with a row per click, per result shown or per action",
    recognises,
    read,
    (*ROLES,),
)
