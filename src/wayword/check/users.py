"""Checks of users: bots and shared ids, by rates that no person reaches and by shares of the searches."""

from collections.abc import Iterator

from wayword.check.finding import Finding, counted, percent, share
from wayword.check.table import Tables
from wayword.logs.times import SECOND

UNITS = {"minute": 60 * SECOND, "hour": 3600 * SECOND, "day": 24 * 3600 * SECOND}
LEAVE_OUT = (
    "Leave these users out. If the id is that of all guests or of a terminal, leave `user` empty there."
)
MANY, TIMES = 100, 10
"""One user is out of the ordinary with so many searches, and so many times those of an average other user."""


def rates(log: Tables) -> Iterator[Finding]:
    """Users with more searches in a minute, an hour or a day than a person makes."""
    if log.columns.judged or not log.has("user", "time"):
        return
    search = "search_id" if log.has("search_id") else "input_row"
    log.engine.step(
        "user_searches",
        f"""SELECT user_id, {search} AS search, min(moment) AS moment FROM timed
            WHERE user_id IS NOT NULL AND moment IS NOT NULL GROUP BY user_id, {search}""",
    )
    most = {unit: int(getattr(log.limits, f"searches_per_{unit}")) for unit in UNITS}
    used = [unit for unit in UNITS if most[unit] and _resolved(log, unit)]
    if not used:
        return
    log.engine.step(
        "fast_users",
        " UNION ALL ".join(
            f"""SELECT user_id, '{unit}' AS unit, {place} AS place, max(n) AS searches FROM (
                  SELECT user_id, count(*) AS n FROM user_searches GROUP BY user_id, floor(moment / {UNITS[unit]})
                ) AS t WHERE n > {most[unit]} GROUP BY user_id"""
            for place, unit in enumerate(used)
        ),
    )
    fast = log.row(
        """SELECT count(DISTINCT f.user_id) AS users, count(DISTINCT s.search) AS searches FROM fast_users AS f
           JOIN user_searches AS s ON s.user_id = f.user_id"""
    )
    named = ", ".join(f"{most[unit]} in a {unit}".replace("a hour", "an hour") for unit in used)
    if not fast["users"]:
        yield Finding("bots", "PASS", f"No user has more searches than a person makes ({named}).")
        return
    all_searches = log.count("user_searches")
    yield Finding(
        "bots",
        "WARN",
        f"{counted(fast['users'], 'user')} with {counted(fast['searches'], 'search', 'searches')} "
        f"({percent(share(fast['searches'], all_searches))} of those with user and time) searched faster than a person "
        f"({named}).",
        "Bots and monitoring click what people do not, and make their queries look popular.",
        LEAVE_OUT,
        fast["searches"],
        _fast_examples(log),
    )


def _resolved(log: Tables, unit: str) -> bool:
    """Whether the times are fine enough for a unit: not all of them are whole hours or whole days."""
    coarser = {"minute": UNITS["hour"], "hour": UNITS["day"]}.get(unit)
    return coarser is None or bool(log.count(f"user_searches WHERE moment % {coarser} <> 0"))


def _fast_examples(log: Tables) -> tuple[str, ...]:
    rows = log.engine.arrow(
        """SELECT f.user_id, f.unit, f.searches, count(*) AS all_searches FROM (
             SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY place) AS first FROM fast_users) AS f
           JOIN user_searches AS s ON s.user_id = f.user_id WHERE f.first = 1
           GROUP BY f.user_id, f.unit, f.searches ORDER BY count(*) DESC, f.user_id LIMIT 5"""
    ).to_pylist()
    return tuple(
        f"user={row['user_id']!r}: {row['searches']:,} searches in one {row['unit']}, {row['all_searches']:,} in all"
        for row in rows
    )


def shares(log: Tables) -> Iterator[Finding]:
    """One user with a large share of the searches."""
    if log.columns.judged or not log.has("user"):
        return
    users = log.row(
        """SELECT count(DISTINCT user_id) AS users, count(*) AS searches, count(user_id) AS known FROM searches"""
    )
    searches, known = users["searches"], users["known"]
    least, others = max(MANY, log.limits.user_share * searches), max(users["users"] - 1, 1)
    large = log.engine.arrow(
        f"""SELECT user_id, count(*) AS n FROM searches WHERE user_id IS NOT NULL GROUP BY user_id
            HAVING count(*) > {least} AND count(*) > {TIMES} * ({known} - count(*)) / {others}
            ORDER BY count(*) DESC, user_id"""
    ).to_pylist()
    if not users["users"]:
        return
    if not large:
        yield Finding(
            "user_share",
            "PASS",
            f"No one of {counted(users['users'], 'user')} has a large share of the searches.",
        )
        return
    total = sum(row["n"] for row in large)
    yield Finding(
        "user_share",
        "WARN",
        f"{counted(len(large), 'user')} of {users['users']:,} {'has' if len(large) == 1 else 'have'} "
        f"{percent(share(total, searches))} of the searches ({total:,}).",
        "A bot, a monitor or one customer decides what is suggested to all.",
        LEAVE_OUT,
        total,
        tuple(f"user={row['user_id']!r}: {row['n']:,} searches" for row in large[:5]),
    )
