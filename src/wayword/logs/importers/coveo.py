"""Coveo: searches and clicks of its usage analytics, as exported tables or as the events of its API.

A row with the rank of a click is a click, another with a query is a search; `searchId`, in the API `searchQueryUid`,
joins them. Names of columns count without case, spaces and signs: `Search Id`, `search_id` and `searchId` are one.
Events of the API may have `results`, what the search showed.
"""

from collections.abc import Collection, Sequence

from wayword.errors import LogError
from wayword.logs.importers import events, times
from wayword.logs.importers.job import Format, Job, Outcome
from wayword.logs.importers.names import simple

NAMES = {
    "search_id": ("searchid", "searchqueryuid", "searchuid", "searchrequestid"),
    "query": ("queryexpression", "querytext", "userquery", "query"),
    "rank": ("clickrank", "documentposition", "clickedrank", "rank"),
    "document": (
        "contentidvalue",
        "permanentid",
        "documenturi",
        "documenturl",
        "clickuri",
        "clickurl",
        "documenturihash",
        "urihash",
        "documentid",
    ),
    "time": ("datetime", "timestamp", "clickdatetime", "searchdatetime", "eventdatetime", "time"),
    "user": ("visitorid", "clientid", "visitid", "username", "userid"),
    "results": ("results",),
    "device": ("devicecategory", "device"),
    "language": ("language", "userlanguage"),
    "country": ("country", "region"),
}
"""The columns by what they are, the best first."""
_RESULTS = '[{"documentUri":"VARCHAR","documentUriHash":"VARCHAR","permanentid":"VARCHAR"}]'
_RESULT = {"documenturihash": "documentUriHash", "urihash": "documentUriHash", "permanentid": "permanentid"}
_WRONG = f"""(rank IS NOT NULL AND TRY_CAST(rank AS DOUBLE) IS NULL)
    OR (results IS NOT NULL AND TRY(from_json(results, '{_RESULTS}')) IS NULL)"""


def recognises(names: Collection[str]) -> bool:
    """An id of searches as Coveo names it, beside its names of the query or the rank."""
    found = {simple(name) for name in names}
    return "searchqueryuid" in found or (
        "searchid" in found and bool({"queryexpression", "clickrank"} & found)
    )


def read(job: Job) -> Outcome:
    """Read searches and clicks."""
    engine = job.engine
    fields = {
        role: job.mapping.get(role) or _named(job.records.names, known) for role, known in NAMES.items()
    }
    _check(job, fields)
    expected = "rows of searches and clicks, with a number as the rank of a click"
    lines, notes, left_out = events.load(job, "coveo", fields, wrong=_WRONG, expected=expected)
    time = times.find(engine, "FROM coveo", "time").sql if fields["time"] else "NULL::TIMESTAMPTZ"
    document = _RESULT.get(simple(fields["document"] or ""), "documentUri")
    events.prepare(engine)
    events.ask(
        engine,
        f"""SELECT place, search_id AS query_id, query, "user" AS person, {time} AS time,
                   list_transform(from_json(results, '{_RESULTS}'), lambda r: r.{document}) AS hits,
                   CAST(json_object('device', device, 'language', language, 'country', country) AS VARCHAR)
                   AS attributes
            FROM coveo WHERE query IS NOT NULL ORDER BY rank IS NOT NULL, place""",
    )
    events.act(
        engine,
        f"""SELECT place, search_id AS query_id, "user" AS person, {time} AS time, 'click' AS action,
                   document AS object, rank AS ordinal FROM coveo WHERE rank IS NOT NULL ORDER BY place""",
    )
    said = ", ".join(f"{role}={name}" for role, name in fields.items() if name)
    outcome = events.finish(job, lines, left_out, events.actions_of(job), notes, dropped={})
    return Outcome(
        outcome.read, outcome.kept, outcome.dropped, [f"columns: {said}", *outcome.taken_as], outcome.notes
    )


def _named(names: Sequence[str], known: Sequence[str]) -> str | None:
    found = {simple(name): name for name in reversed(names) if "results." not in name}
    return next((found[name] for name in known if name in found), None)


def _check(job: Job, fields: dict[str, str | None]) -> None:
    if missing := [role for role in ("search_id", "query", "rank", "document") if not fields[role]]:
        raise LogError(
            f"{job.source}: found no column for {', '.join(missing)} among {', '.join(job.records.names)}. Expected "
            "the exported searches and the exported clicks: give both files, or name the columns: "
            + " ".join(f"--map {role}=COLUMN" for role in missing)
        )


FORMAT = Format("coveo", "Coveo usage analytics: searches and clicks", recognises, read, (*NAMES,))
