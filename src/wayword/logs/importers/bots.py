"""Bots: users who search faster than a person can, left out of a log unless they may be an id that many share."""

from wayword.config import CheckConfig
from wayword.engines.duck import DuckDB
from wayword.errors import WaywordError
from wayword.logs.importers.job import rows_of
from wayword.logs.ubi import parser

AUTO, DROP, KEEP = WAYS = ("auto", "drop", "keep")
SHARED = 0.1
"""With more of the searches, fast users may be an id that many people share, such as that of all guests."""
DROPPED = "rows of bots (users who search faster than people)"
_LIMITS = CheckConfig()
_UNITS = {
    "minute": (60, _LIMITS.searches_per_minute),
    "hour": (3600, _LIMITS.searches_per_hour),
    "day": (86_400, _LIMITS.searches_per_day),
}


def check(way: str) -> None:
    """Refuse an unknown way."""
    if way not in WAYS:
        raise WaywordError(f"Found --bots {way}; expected one of {', '.join(WAYS)}.")


def find(engine: DuckDB, rows: str, way: str) -> tuple[bool, list[str]]:
    """Table `bots` (who) of rows (who, moment, search); whether to leave these out, and a note about them."""
    engine.step(
        "busy_users",
        f"SELECT who FROM ({rows}) WHERE who IS NOT NULL GROUP BY who HAVING count(*) > {_UNITS['minute'][1]}",
    )
    engine.step(
        "busy_rows",
        f"""SELECT who, epoch(moment) AS second, search FROM ({rows}) SEMI JOIN busy_users USING (who)
            WHERE moment IS NOT NULL""",
    )
    rates = " UNION ALL ".join(
        f"""SELECT who, max(n) AS searches, '{unit}' AS unit, {place} AS place FROM (
              SELECT who, count(DISTINCT search) AS n FROM busy_rows GROUP BY who, floor(second / {seconds}))
            WHERE n > {most} GROUP BY who"""
        for place, (unit, (seconds, most)) in enumerate(_UNITS.items())
        if _resolved(engine, unit)
    )
    engine.step(
        "fast_users", rates or "SELECT NULL AS who, 0 AS searches, '' AS unit, 0 AS place WHERE false"
    )
    engine.step("bots", "SELECT DISTINCT who FROM fast_users")
    found = rows_of(
        engine,
        """SELECT who, arg_min(searches, place) AS searches, arg_min(unit, place) AS unit FROM fast_users
           GROUP BY who ORDER BY searches DESC, who""",
    )
    if not found:
        return False, []
    counts = rows_of(
        engine,
        f"SELECT count(DISTINCT search) FILTER (who IN (FROM bots)) AS own, count(DISTINCT search) AS n FROM ({rows})",
    )[0]
    share = counts["own"] / counts["n"]
    shown = "; ".join(f"{one['who']}: {one['searches']:,} searches in one {one['unit']}" for one in found[:3])
    who = f"{len(found):,} user{'s' * (len(found) > 1)} with {counts['own']:,} searches ({share:.1%})"
    many = f"{who} searched faster than people do ({shown})"
    if way == DROP or (way == AUTO and share <= SHARED):
        return True, [f"{many}: left out as bots. --bots keep takes them, too"]
    doubt = "they may be one id that many people share, and are kept" if way == AUTO else "kept"
    return False, [f"{many}: {doubt}. --bots drop leaves them out"]


def leave_out(engine: DuckDB, way: str) -> tuple[int, list[str]]:
    """Remove bots from `asked` and `events`; how many searches and actions that were, and notes."""
    if way == KEEP:
        return 0, []
    left_out, notes = find(engine, "SELECT person AS who, time AS moment, query_id AS search FROM asked", way)
    if not left_out:
        return 0, notes
    before = sum(parser.count(engine, table) for table in ("asked", "events"))
    engine.step("bot_searches", "SELECT DISTINCT query_id FROM asked WHERE person IN (FROM bots)")
    for table in ("asked", "events"):
        engine.step(
            table,
            f"""SELECT * FROM {table} ANTI JOIN bot_searches USING (query_id)
                WHERE NOT coalesce(person IN (FROM bots), false)""",
        )
    return before - sum(parser.count(engine, table) for table in ("asked", "events")), notes


def _resolved(engine: DuckDB, unit: str) -> bool:
    """Whether the times are fine enough: not all of them are whole hours or whole days."""
    coarser = {"minute": 3600, "hour": 86_400}.get(unit)
    return coarser is None or bool(
        rows_of(engine, f"SELECT count(*) AS n FROM busy_rows WHERE second % {coarser} <> 0")[0]["n"]
    )
