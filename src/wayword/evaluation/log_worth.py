"""Worth of a log: what can be learned from it at most, counted before anything is trained.

A query can help somebody only if its results show what they want at a better rank than those of their own query. For
each click (a, r̄, w) on a document, p* is the largest propensity that any query of the rankings gives it:

    bound = Σ w · p*[a] / p[r̄]  /  Σ w · p[rank_q̄(a)] / p[r̄]

is what people would find if the best query for each click were known beforehand, relative to their own query. Nothing
reaches it, as nobody knows the document beforehand; but nothing exceeds it either.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wayword.engines import Engine, totals
from wayword.engines.tables import fetch, tables_in
from wayword.store.stage import Folders, Report

OFTEN = 10
"""Searches of a query that say something about it by themselves."""
LEAST_GAIN = 1.02
"""A bound below this leaves nothing to win."""
LEAST_CLICKS = 1.0
"""Clicks per searched query below which little is learned (docs/benchmarks.md)."""


@dataclass(frozen=True)
class LogWorth:
    """Counts of a log: searches, clicks that the rankings explain, and queries that were searched."""

    searches: int
    clicks: int
    queries: int
    elsewhere: float
    """Share of the clicks whose document another query returns too."""
    better_elsewhere: float
    """Share of the clicks whose document another query returns at a better rank than the query that was searched."""
    bound: float | None
    """See the top of the file; None without a click."""
    often: float
    """Share of the searches whose query was searched at least `OFTEN` times."""

    @property
    def clicks_per_query(self) -> float:
        """Clicks per query that was searched."""
        return self.clicks / max(self.queries, 1)

    @property
    def verdict(self) -> str:
        """ "worth it", "too small" or "nothing to win"."""
        if self.bound is None or (self.bound >= LEAST_GAIN and self.clicks_per_query < LEAST_CLICKS):
            return "too small"
        return "worth it" if self.bound >= LEAST_GAIN else "nothing to win"

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers that it rests on."""
        if self.bound is None:
            return "Too small: the log has no click that the rankings explain, so nothing can be learned."
        searches_per_query = self.searches / max(self.queries, 1)
        density = (
            f"{self.clicks:,} clicks in {self.searches:,} searches of {self.queries:,} queries "
            f"({_rate(self.clicks_per_query)} clicks and {_rate(searches_per_query)} searches per query)"
        )
        better = (
            f"for {self.elsewhere:.0%} of the clicks another query shows the document too, for "
            f"{self.better_elsewhere:.0%} at a better rank"
        )
        bound = f"at most {self.bound:.2f} times as much could be found"
        return {
            "worth it": f"Worth it: {better}, and {bound} (an upper bound); {density}.",
            "too small": f"Probably too small: {density}; expected at least {LEAST_CLICKS:g} per query. But {better}.",
            "nothing to win": f"Nothing to win: {better}, so {bound}. Only typing can be saved; {density}.",
        }[self.verdict]

    def as_object(self) -> dict[str, Any]:
        """Plain values, with the verdict and its sentence."""
        return {
            **asdict(self),
            "clicks_per_query": self.clicks_per_query,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }

    @classmethod
    def of(cls, engine: Engine) -> "LogWorth":
        """Count. Needs the numbered log, `rankings` and `propensity`."""
        engine.step(
            "best_of_documents",
            """SELECT r.document, max(p.p) AS p, min(r.rank) AS rank, count(*) AS queries
               FROM rankings AS r JOIN propensity AS p ON p.rank = r.rank GROUP BY r.document""",
        )
        engine.step(
            "click_worth",
            """SELECT c.search, c.document, c.rank, b.rank AS best, own.rank AS own, b.queries,
                      c.weight * b.p / logged.p AS most, c.weight * coalesce(looked.p, 0) / logged.p AS found
               FROM numbered_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
               JOIN best_of_documents AS b ON b.document = c.document JOIN propensity AS logged ON logged.rank = c.rank
               LEFT JOIN rankings AS own ON own.query = s.query AND own.document = c.document
               LEFT JOIN propensity AS looked ON looked.rank = own.rank""",
        )
        worth = totals(engine, "click_worth", "search, document, rank", most="most", found="found")
        row = engine.arrow(
            """SELECT count(*) AS clicks, count(CASE WHEN own IS NULL OR queries > 1 THEN 1 END) AS elsewhere,
                       count(CASE WHEN own IS NULL OR best < own THEN 1 END) AS better FROM click_worth"""
        ).to_pylist()[0]
        searched = engine.arrow(
            f"""SELECT count(*) AS queries, sum(n) AS searches, sum(CASE WHEN n >= {OFTEN} THEN n ELSE 0 END) AS often
                FROM (SELECT query, count(*) AS n FROM numbered_searches GROUP BY query) AS q"""
        ).to_pylist()[0]
        clicks, most, searches = row["clicks"], worth["most"] or 0.0, int(searched["searches"] or 0)
        found = worth["found"] or 0.0
        return cls(
            searches,
            clicks,
            searched["queries"],
            row["elsewhere"] / max(clicks, 1),
            row["better"] / max(clicks, 1),
            float(most / found) if found > 0 else None,
            float(searched["often"] or 0) / max(searches, 1),
        )


def _rate(value: float) -> str:
    """A rate with two digits, or all digits before the point.

    >>> _rate(0.333), _rate(105.2)
    ('0.33', '105')
    """
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def write(out: Path, at: Folders, *, judged: bool) -> Report:
    """Report the worth of the log; graded judgments have no clicks, and an empty report."""
    if judged:
        return {}
    with tables_in(out) as engine:
        fetch(engine, at["rankings"], "rankings", "numbered_searches", "numbered_clicks")
        fetch(engine, at["propensity"], "propensity")
        return LogWorth.of(engine).as_object()
