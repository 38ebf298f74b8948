"""Counts of a workspace's log that say how much can be learned from it, and whether it fits the rankings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from wayword.check.rankings import constant_shift
from wayword.engines import Engine, tables
from wayword.evaluation.log_worth import LogWorth
from wayword.logs.times import microseconds
from wayword.store.workspace import Workspace

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OFTEN = 3
"""A query of fewer searches says little by itself."""


@dataclass(frozen=True)
class LogFacts:
    """Counts of searches, clicks (those that the rankings explain) and queries."""

    searches: int
    searches_with_click: int
    test_searches: int
    tested: int
    """Test searches with a click."""
    clicks: int
    queries: int
    """Queries that were searched."""
    documents: int
    unexplained: int
    """Clicks on documents, or from queries, without a ranking: dropped."""
    mismatched: int
    """Clicks at another rank than in the rankings."""
    shift: int | None
    """Logged rank − rank in the rankings, where more than half of the mismatched clicks have the same difference."""
    confirmed: int
    """Mismatched clicks that the impressions, if there are any, show at the logged rank."""
    not_returned: int
    """Clicks on documents that the rankings of their own query lack."""
    merged: int
    """Clicks from another spelling of their query, whose own result list was not taken."""
    at_first_rank: int
    deepest: int
    worth: LogWorth
    """What other queries can win."""
    seldom: int
    """Searches of queries with fewer than `OFTEN` searches."""
    withheld: Mapping[str, int]
    """Searches of queries that a limit of the index withholds, by the name of the limit."""
    prefixes: bool
    """The log has what was typed."""
    users: int
    """0 where the log has none."""
    times: tuple[str, str] | None
    """The first and the last day."""
    judged: bool

    @classmethod
    def read(cls, engine: Engine, workspace: Workspace) -> "LogFacts":
        """Count in the tables of the stages `log` and `rankings`."""
        at, report, logged = (
            workspace.folder("rankings"),
            workspace.report("rankings"),
            workspace.report("log"),
        )
        tables.fetch(engine, at, "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, workspace.folder("propensity"), "propensity")
        clicks, searches = _clicks(engine), _searches(engine)
        index = workspace.config.index
        mismatched = int(report["mismatched clicks"])
        confirmed = 0
        if "impressions" in workspace.manifest["stages"]:
            tables.fetch(engine, workspace.folder("impressions"), "numbered_impressions")
            confirmed = shown_so(engine)
        return cls(
            searches=int(logged["searches"]),
            searches_with_click=int(logged["searches with a click"]),
            test_searches=searches["test"],
            tested=searches["tested"],
            clicks=int(report["clicks explained by the rankings"]),
            queries=searches["queries"],
            documents=int(report["documents"]),
            unexplained=int(report["clicks on documents that no ranking contains"])
            + int(report["clicks from queries without a ranking"]),
            mismatched=mismatched,
            shift=constant_shift(engine, _PAIRS, mismatched),
            confirmed=confirmed,
            not_returned=int(report["clicks that their own query does not return in the rankings"]),
            merged=int(report["clicks from another form of their query with other results"]),
            at_first_rank=clicks["first"],
            deepest=clicks["deepest"] or 0,
            worth=LogWorth.of(engine),
            seldom=searches["seldom"],
            withheld=withheld(engine, min_searches=index.min_searches, min_users=index.min_users),
            prefixes=bool(searches["prefixes"]),
            users=searches["users"],
            times=days(engine),
            judged=clicks["ranked"] == 0,
        )


def _clicks(engine: Engine) -> Mapping[str, Any]:
    row: Mapping[str, Any] = engine.arrow(
        """SELECT count(rank) AS ranked, count(CASE WHEN rank = 1 THEN 1 END) AS first, max(rank) AS deepest
           FROM numbered_clicks"""
    ).to_pylist()[0]
    return row


def _searches(engine: Engine) -> Mapping[str, Any]:
    row: Mapping[str, Any] = engine.arrow(
        f"""SELECT count(DISTINCT s.query) AS queries, count(s.prefix) AS prefixes,
                   count(CASE WHEN s.split = 'test' THEN 1 END) AS test,
                   count(CASE WHEN s.split = 'test' AND c.search IS NOT NULL THEN 1 END) AS tested,
                   count(DISTINCT s.user_id) AS users,
                   count(CASE WHEN n.searches < {OFTEN} THEN 1 END) AS seldom
            FROM numbered_searches AS s
            LEFT JOIN (SELECT DISTINCT search FROM numbered_clicks) AS c ON c.search = s.search
            JOIN (SELECT query, count(*) AS searches FROM numbered_searches GROUP BY query) AS n ON n.query = s.query"""
    ).to_pylist()[0]
    return row


def withheld(engine: Engine, *, min_searches: int, min_users: int) -> dict[str, int]:
    """Count the searches of queries with fewer searches, and, if the log has users, with fewer users."""
    row: dict[str, int] = engine.arrow(
        f"""SELECT coalesce(sum(CASE WHEN searches < {min_searches} THEN searches END), 0) AS min_searches,
                   coalesce(sum(CASE WHEN users < {min_users} AND known > 0 THEN searches END), 0) AS min_users
            FROM (SELECT count(*) AS searches, count(DISTINCT user_id) AS users,
                         sum(count(user_id)) OVER () AS known
                  FROM numbered_searches GROUP BY query) AS queries"""
    ).to_pylist()[0]
    return {name: int(count) for name, count in row.items() if count}


def days(engine: Engine) -> tuple[str, str] | None:
    """Return the first and the last day of the searches; None where they have no times."""
    time = microseconds(engine, "numbered_searches")
    first, last = (
        engine.arrow(f"SELECT min({time}) AS first, max({time}) AS last FROM numbered_searches")
        .to_pylist()[0]
        .values()
    )
    if first is None:
        return None
    days = [(EPOCH + timedelta(microseconds=moment)).date().isoformat() for moment in (first, last)]
    return days[0], days[1]


def shown_so(engine: Engine) -> int:
    """Count the clicks at another rank than the rankings give whose rank the impressions confirm."""
    row = engine.arrow(
        """SELECT count(*) AS n FROM numbered_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
           JOIN (SELECT DISTINCT search, document, rank FROM numbered_impressions) AS i
             ON i.search = c.search AND i.document = c.document AND i.rank = c.rank
           LEFT JOIN rankings AS r ON r.query = s.query AND r.document = c.document
           WHERE r.rank IS NULL OR r.rank <> c.rank"""
    ).to_pylist()[0]
    return int(row["n"])


_PAIRS = """SELECT c.rank, r.rank AS table_rank
    FROM numbered_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
    JOIN rankings AS r ON r.query = s.query AND r.document = c.document"""
