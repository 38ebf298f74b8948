"""Events: searches, what they showed and what people did, as UBI records, from which `ubi` makes the log.

An importer fills `asked` (a row per search) and `events` (a row per result shown, or action), so that the same rules
hold for all formats (docs/ubi.md): ranks from 0 or 1, clicks that are there twice, ranks known from the list alone.
"""

from collections.abc import Mapping, Sequence

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers import bots
from wayword.logs.importers.job import Job, Outcome, refuse_if_broken, rows_of
from wayword.logs.importers.records import BROKEN
from wayword.logs.ubi import completions, parser, searches
from wayword.logs.ubi import read as ubi
from wayword.logs.ubi.clicks import CLICKS
from wayword.logs.ubi.summary import PARTS


def load(
    job: Job, table: str, fields: Mapping[str, str | None], *, wrong: str, expected: str
) -> tuple[int, list[str], int]:
    """Table of the records with some fields and their `place`; the numbers of lines and of those left out, and notes.

    Those that are no records, or satisfy the SQL condition `wrong`, are left out.
    """
    engine = job.engine
    engine.step("every_record", f"SELECT * FROM ({job.records.relation(fields, counting=True)})")
    counts = rows_of(
        engine,
        f"""SELECT part, count(*) AS n, count({BROKEN}) AS broken,
                   count(*) FILTER ({BROKEN} IS NULL AND coalesce({wrong}, false)) AS wrong
            FROM every_record GROUP BY part""",
    )
    rejected, places = job.records.rejected({row["part"]: row["n"] for row in counts})
    broken, mistaken = (sum(row[name] for row in counts) for name in ("broken", "wrong"))
    if broken or mistaken:
        shown = ", ".join(f"'{name}', {name}" for name in fields)
        places += job.records.places(
            f"""SELECT part, file, place, coalesce({BROKEN}, left(CAST(json_object({shown}) AS VARCHAR), 200)) AS text
                FROM ({job.records.relation(fields, placed=True)})
                WHERE {BROKEN} IS NOT NULL OR coalesce({wrong}, false)"""
        )
    lines = sum(row["n"] for row in counts) + rejected
    notes = refuse_if_broken(job, rejected + broken, mistaken, lines, places, expected=expected)
    engine.step(
        table,
        f"""SELECT row_number() OVER () AS place, * EXCLUDE (part, {BROKEN}) FROM every_record
            WHERE {BROKEN} IS NULL AND NOT coalesce({wrong}, false)""",
    )
    engine.step("every_record", "SELECT 1 AS done")
    return lines, notes, rejected + broken + mistaken


def prepare(engine: DuckDB) -> None:
    """Create `asked` and `events`."""
    parser.prepare(engine)


def ask(engine: DuckDB, sql: str) -> None:
    """Add searches: rows (place, query_id, query, person, time, hits, attributes)."""
    engine.append(
        "asked",
        f"""SELECT place, '' AS application, CAST(query_id AS VARCHAR) AS query_id, query, person, time,
                   CAST(hits AS VARCHAR[]) AS hits, CAST(attributes AS JSON) AS attributes FROM ({sql})""",
    )


def act(engine: DuckDB, sql: str) -> None:
    """Add what was shown and done: rows (place, query_id, person, time, action, object, ordinal)."""
    engine.append(
        "events",
        f"""SELECT place, '' AS application, CAST(query_id AS VARCHAR) AS query_id, NULL AS query, person, time, action,
                   object, CAST(ordinal AS DOUBLE) AS ordinal, NULL AS completion FROM ({sql})""",
    )


def actions_of(job: Job, *clicks: str) -> tuple[str, ...]:
    """The actions that count: clicks, and those that have a weight."""
    return tuple(dict.fromkeys([*clicks, *CLICKS, *job.weights]))


def unweighted(engine: DuckDB, sql: str) -> list[str]:
    """A note about actions (rows with `action`) that do not count since they have no weight."""
    rows = rows_of(
        engine, f"SELECT action, count(*) AS n FROM ({sql}) GROUP BY action ORDER BY n DESC, action LIMIT 10"
    )
    if not rows:
        return []
    named = ", ".join(f"{row['action']} ({row['n']:,})" for row in rows)
    return [
        f"actions without a weight are not counted: {named}. --weight {rows[0]['action']}=5 counts them, as 5 clicks"
    ]


def finish(
    job: Job,
    lines: int,
    left_out: int,
    actions: Sequence[str],
    notes: Sequence[str],
    *,
    dropped: Mapping[str, int],
) -> Outcome:
    """Make the log from `asked` and `events`, and write it."""
    engine = job.engine
    bot_rows, about_bots = bots.leave_out(engine, job.bots)
    report = {"query records": parser.count(engine, "asked"), "events": parser.count(engine, "events")}
    report |= completions.build(engine) | searches.build(engine)
    if not report["searches"]:
        raise LogError(
            f"{job.source}: found {lines:,} records, but no search with a text. Expected "
            "records of searches, and of what people clicked. Is it the right format? --format names it."
        )
    built = ubi.log_of(engine, report, actions, job.weights, job.first_rank, None)
    if not built.report["clicks"]:
        notes = [*notes, "no click can be used: `wayword run` learns nothing from this log"]
    ubi.write(engine, job.out, built.context, job.weights, lists=False)
    said = [f"positions begin at {first}" for first in built.first_ordinals.values() if first == 0]
    if built.context:
        said.append(f"context columns: {', '.join(built.context)}")
    return Outcome(
        {
            "records": lines,
            "searches and pages of them": report["query records"],
            "results shown and actions": report["events"],
        },
        _named(built.report, "kept"),
        {"broken lines and values of the wrong type": left_out}
        | dict(dropped)
        | ({bots.DROPPED: bot_rows} if bot_rows else {})
        | _named(built.report, "left out"),
        said,
        [*notes, *about_bots, *built.notes],
    )


def _named(report: Mapping[str, int], part: str) -> dict[str, int]:
    return {name: report[name] for name in PARTS[part] if report.get(name)}
