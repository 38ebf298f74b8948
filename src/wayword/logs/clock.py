"""The time of a row as a number, and the recency of a search: how much its clicks and its counts weigh.

    recency = 2^(−age / half-life),  age = time of the newest search − time of this one

The recency of all searches is 1 without a half-life. Age counts at most `OLDEST` half-lives, so that no weight is 0.
"""

from dataclasses import dataclass

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs.checks import EXAMPLES, describe

OLDEST = 100
"""Half-lives of the greatest age that is distinguished."""
_PER_DAY = 86_400
_UNITS = {"seconds": 1e8, "milliseconds": 1e11, "microseconds": 1e14, "nanoseconds": 1e17}
"""Units of Unix times, and the least number of a time since 1973 (before 5138 for seconds, and so on)."""


@dataclass(frozen=True)
class Clock:
    """The times of a log; `sql` is the time of a row of `typed` as a number, or empty if they cannot be used, and then
    the log has the `reason`."""

    sql: str
    numbers: bool = False
    reason: str = ""


def read(engine: Engine, *, timed: bool) -> Clock:
    """Find how to read the times of `typed`: as numbers in every row, or as ISO timestamps in every row."""
    if not timed:
        return Clock("", reason="no column `time`")
    number = "TRY_CAST(time_text AS DOUBLE)"
    infinity = "CAST('inf' AS DOUBLE)"
    clocks = (f"CASE WHEN abs({number}) < {infinity} THEN {number} END", engine.instant("time_text"))
    unread = {clock: f"FROM typed WHERE {clock} IS NULL" for clock in clocks}
    counts = {c: engine.arrow(f"SELECT count(*) AS n {bad}")["n"][0].as_py() for c, bad in unread.items()}
    best = min(clocks, key=lambda clock: counts[clock])
    if not counts[best]:
        return Clock(best, best == clocks[0])
    rows = engine.arrow(
        f"""SELECT input_row, search_id, coalesce(time_text, '') AS time {unread[best]}
            ORDER BY input_row LIMIT {EXAMPLES}"""
    )
    examples = "\n".join(f"    {describe(row)}" for row in rows.to_pylist())
    return Clock(
        "",
        reason=f"{counts[best]:,} times that cannot be read; expected numbers in every row, or ISO timestamps in every "
        f"row. For example:\n{examples}",
    )


def date(engine: Engine, clock: Clock) -> None:
    """Step `dated`: the searches of `unsplit` with the time of their first row, `clock`; null without times."""
    first = (
        f"SELECT search_id, min({clock.sql or 'CAST(NULL AS DOUBLE)'}) AS clock FROM typed GROUP BY search_id"
    )
    engine.step(
        "dated",
        f"SELECT s.*, first.clock FROM unsplit AS s JOIN ({first}) AS first ON first.search_id = s.search_id",
    )


def weigh(engine: Engine, clock: Clock, half_life_days: float, *, source: str) -> None:
    """Step `weighed`: the searches of `dated` with their `recency`."""
    if not half_life_days:
        engine.step("weighed", "SELECT *, CAST(1 AS DOUBLE) AS recency FROM dated")
        return
    if not clock.sql:
        raise LogError(
            f"{source} has {clock.reason}\n[log] half_life_days needs the time of every row; 0 does without."
        )
    newest = float(engine.arrow("SELECT max(clock) AS newest FROM dated")["newest"][0].as_py())
    unit = _unit(newest, source) if clock.numbers else "microseconds"
    day = _PER_DAY * _UNITS[unit] / _UNITS["seconds"]
    engine.step(
        "weighed",
        f"""SELECT *, pow(CAST(2 AS DOUBLE), -least((:newest - clock) / :day / :half, {OLDEST})) AS recency
            FROM dated""",
        newest=newest,
        day=day,
        half=half_life_days,
    )


def _unit(newest: float, source: str) -> str:
    """The unit of Unix times, by the newest one.

    >>> _unit(1_767_225_600, "log"), _unit(1_767_225_600_000, "log")
    ('seconds', 'milliseconds')
    """
    units = [unit for unit, least in _UNITS.items() if newest >= least]
    if not units:
        raise LogError(
            f"{source}: the newest time is {newest:g}; with [log] half_life_days, a number is expected to be a Unix "
            "time (seconds, milliseconds, microseconds or nanoseconds since 1970). Write ISO timestamps instead, or "
            "set half_life_days = 0."
        )
    return units[-1]
