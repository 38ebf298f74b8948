"""Propensities estimated from impressions: check what the log can tell, fit, and say what was assumed."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.propensity import all_pairs, chain, likelihood, regression_em, strata
from wayword.propensity.power_law import FittedLaw, fitted_law
from wayword.propensity.rank_groups import RankGroups, rank_groups
from wayword.propensity.rates import Rates
from wayword.propensity.strata import Floats, Integers, Period, Rows, Strata

Method = Literal["likelihood", "chain", "all-pairs", "em"]
METHODS: tuple[Method, ...] = get_args(Method)
UNJOINED = 0.01
"""Ranks that no clicked pair joins with rank 1 are extrapolated if they have at most this share of the clicks."""
ENOUGH_SEARCHES = 50
"""A table of fewer searches may have a click in each by chance."""
DRAWS = {"chain": 100, "all-pairs": 50, "em": 20}
"""How often the comparison methods are fitted again, to queries drawn with replacement."""
REDRAWN_ROUNDS = 40


@dataclass(frozen=True)
class Options:
    """How propensities are estimated."""

    method: Method = "likelihood"
    period: Period = "week"
    monotone: bool = False
    trust_bias: bool = False
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Impressions:
    """What is estimated from: strata, the impressions in them by search, and whether times are known."""

    strata: Strata
    rows: Rows
    timed: bool

    @classmethod
    def of(cls, engine: Engine, period: Period) -> "Impressions":
        """Read the engine's table `impressions`; one that cannot tell anything is refused."""
        timed = bool(_number(engine, "SELECT count(time) AS n FROM impressions"))
        strata.build(engine, period=period if timed else "none")
        found = strata.read(engine)
        rows = strata.read_rows(engine, found)
        check(found, rows)
        return cls(found, rows, timed)


@dataclass(frozen=True)
class Estimate:
    """p of each rank with its interval; ranks above `last` are extrapolated by the law."""

    method: Method
    ranks: Integers
    p: Floats
    low: Floats
    high: Floats
    last: int
    law: FittedLaw
    notes: list[str]
    covariance: Floats

    def table(self) -> pa.Table:
        """The columns rank, p, low, high."""
        ranks = pa.array(self.ranks, pa.int32())
        return pa.table({"rank": ranks, "p": self.p, "low": self.low, "high": self.high})

    def at(self, ranks: Integers) -> pa.Table:
        """The table for any ranks; those without an estimate have the fitted power law."""
        known = np.isin(ranks, self.ranks)
        place = np.searchsorted(self.ranks, ranks[known])
        p, low, high = self.law.at(ranks)
        for column, values in ((p, self.p), (low, self.low), (high, self.high)):
            column[known] = values[place]
        return pa.table({"rank": pa.array(ranks, pa.int32()), "p": p, "low": low, "high": high})

    def as_object(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "method": self.method,
            "propensity": self.table().to_pylist(),
            "alpha": self.law.alpha,
            "extrapolated_after_rank": self.last,
            "notes": self.notes,
        }


def check(found: Strata, rows: Rows) -> None:
    """Refuse a table that says nothing about ranks, with the reason."""
    impressions, clicks = found.shown.sum(), found.clicked.sum()
    if not clicks:
        raise LogError(
            f"Found no click in {impressions:,.0f} impressions; expected some. Propensities are learned from which "
            "ranks are clicked: give impressions with their clicks."
        )
    searches = len(rows.searches) - 1
    clicked = np.add.reduceat(rows.clicked.astype(np.int64), rows.searches[:-1]) > 0
    if searches >= ENOUGH_SEARCHES and clicked.all():
        raise LogError(
            f"Found a click in each of {searches:,} searches; expected also the searches without a click. Among clicked "
            "searches alone, a result is seen more often where it was clicked, which hides how ranks differ. Export the "
            'impressions of all searches, or set [propensity] source = "power" and look at the sensitivity to alpha.'
        )
    at_rank = found.at_ranks(found.clicked)
    if np.count_nonzero(at_rank) == 1:
        only = int(found.ranks[at_rank.argmax()])
        raise LogError(
            f"Found all {clicks:,.0f} clicks at rank {only}; expected clicks at several ranks. Check that `rank` is the "
            "position at which the clicked result was shown."
        )
    if not len(found.moved().cells):
        raise LogError(
            "Found no query with a document that was shown at two ranks; expected some. Without rank changes, position "
            "and relevance cannot be told apart: `wayword propensity plan` says which ranks to swap."
        )


def joined(found: Strata, groups: RankGroups) -> Integers:
    """The ranks joined with rank 1, or an error that names the missing pairs of ranks."""
    first, apart = groups.groups[0], sum(groups.shares[1:])
    if first[0] == found.ranks[0] and apart <= UNJOINED:
        return first
    pairs = ", ".join(f"{a} and {b}" for a, b in groups.missing()[:10])
    named = "; ".join(spans(group) for group in groups.groups[:6])
    more = f" and {len(groups.groups) - 6} more" if len(groups.groups) > 6 else ""
    raise LogError(
        f"Found ranks in {len(groups.groups)} groups that no clicked result joins ({named}{more}); expected each rank to "
        f"be joined with rank {found.ranks[0]}. Missing are results that were shown, and clicked, at both ranks of: "
        f"{pairs}. `wayword propensity plan` says how long to swap them."
    )


def spans(ranks: Integers) -> str:
    """Ranks in words.

    >>> spans(np.array([1, 2, 3, 7]))
    '1–3, 7'
    """
    cuts = np.flatnonzero(np.diff(ranks) > 1) + 1
    parts = np.split(ranks, cuts)
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)


def estimate(data: Impressions, options: Options) -> Estimate:
    """Estimate p by the method of the options."""
    chosen = data.strata.informative()
    groups = rank_groups(data.strata.take(chosen))
    groups = replace(groups, clicks=_clicks(data.strata, groups))
    ranks = data.strata.ranks if options.method == "em" else joined(data.strata, groups)
    notes = _assumptions(data, options, chosen)
    if options.method == "likelihood":
        log_p, covariance = _by_likelihood(data, ranks, options)
    else:
        log_p, covariance = _by_other(data.strata.within(ranks), options)
    known = np.isfinite(log_p)
    if not known.all():
        notes.append(f"The method {options.method} says nothing about the ranks {spans(ranks[~known])}.")
        ranks, log_p, covariance = ranks[known], log_p[known], covariance[np.ix_(known, known)]
    return _with_intervals(data.strata, ranks, log_p, covariance, options, notes)


def _clicks(found: Strata, groups: RankGroups) -> list[float]:
    """The clicks of all strata at the ranks of each group."""
    clicks = found.at_ranks(found.clicked)
    return [float(clicks[np.searchsorted(found.ranks, group)].sum()) for group in groups.groups]


def _by_likelihood(data: Impressions, ranks: Integers, options: Options) -> tuple[Floats, Floats]:
    found, rows = data.strata, data.rows
    if len(ranks) < len(found.ranks):
        inside = np.isin(found.ranks[found.rank], ranks)
        kept = inside[rows.cell]
        lengths = np.diff(np.r_[0, np.cumsum(kept)][rows.searches])
        some = np.bincount(found.owner[inside], minlength=len(found.cells)) > 0
        rows = Rows(
            np.r_[0, np.cumsum(lengths)],
            (np.cumsum(some) - 1)[rows.stratum[kept]].astype(np.int32),
            (np.cumsum(inside) - 1)[rows.cell[kept]].astype(np.int32),
            rows.clicked[kept],
        )
        found = found.within(ranks)
    chosen = found.informative()
    fitted = likelihood.curve(found.take(chosen), rows.of_strata(found, chosen), monotone=options.monotone)
    return fitted.log_p, fitted.covariance


def _by_other(found: Strata, options: Options) -> tuple[Floats, Floats]:
    """A comparison method, with the covariance over queries drawn with all their searches."""
    if options.method == "em":
        point = regression_em.fit(found, trust_bias=options.trust_bias).log_p
    else:
        found = found.moved()
        point = _by_rates(options.method, found, None)
    rng = np.random.default_rng(options.seed)
    drawn = []
    for _ in range(DRAWS[options.method]):
        weight = rng.poisson(1.0, int(found.query.max()) + 1).astype(np.float64)[found.query]
        if options.method == "em":
            fitted = regression_em.fit(
                found, trust_bias=options.trust_bias, weight=weight, rounds=REDRAWN_ROUNDS
            )
            drawn.append(fitted.log_p)
        else:
            drawn.append(_by_rates(options.method, found, weight))
    covariance = np.ma.cov(np.ma.masked_invalid(np.array(drawn)), rowvar=False).filled(np.nan)
    return point, np.atleast_2d(covariance)


def _by_rates(method: Method, found: Strata, weight: Floats | None) -> Floats:
    return (chain if method == "chain" else all_pairs).fit(Rates.of(found, weight))


def _with_intervals(
    found: Strata, ranks: Integers, log_p: Floats, covariance: Floats, options: Options, notes: list[str]
) -> Estimate:
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    width = norm.ppf((1 + options.level) / 2) * error
    p, low, high = np.exp(log_p), np.exp(log_p - width), np.exp(log_p + width)
    if options.monotone:
        low = np.minimum(np.maximum.accumulate(low[::-1])[::-1], p)
        high = np.maximum(np.minimum.accumulate(high), p)
    notes += _rises(ranks, log_p, covariance)
    law = fitted_law(ranks, log_p, error, options.level)
    result = Estimate(options.method, ranks, p, low, high, int(ranks[-1]), law, notes, covariance)
    missing = np.setdiff1d(found.ranks, ranks)
    if len(missing):
        notes.append(
            f"Ranks {spans(missing)} have too few clicks to be joined with the others; they have the power law fitted "
            f"to ranks {spans(ranks[1:])}: {law.formula}."
        )
        every = result.at(found.ranks)
        columns = (every[name].to_numpy() for name in ("p", "low", "high"))
        result = Estimate(options.method, found.ranks, *columns, result.last, law, notes, covariance)
    return result


def _assumptions(data: Impressions, options: Options, chosen: Integers) -> list[str]:
    clicks, searches = data.strata.take(chosen).clicked.sum(), len(data.rows.searches) - 1
    counted = (
        f"{data.strata.shown.sum():,.0f} impressions in {searches:,} searches with {data.strata.clicked.sum():,.0f} "
        f"clicks; {clicks:,.0f} of them on {len(chosen):,} results that were shown at several ranks"
    )
    if options.method == "em":
        return [f"{counted}.", "Relevance is assumed to follow from the query and the document separately."]
    if options.period == "none" or not data.timed:
        reason = "as asked" if data.timed else "as the table has no times"
        within = f"over the whole log, {reason}"
    else:
        within = f"within a {options.period}"
    return [
        f"{counted}.",
        f"Ranks are compared {within}: it is assumed that the rank of a result does not change with its relevance there.",
    ]


def _rises(ranks: Integers, log_p: Floats, covariance: Floats) -> list[str]:
    """Say where p rises with the rank by more than chance."""
    steps = np.diff(log_p)
    variance = np.diag(covariance)[1:] + np.diag(covariance)[:-1] - 2 * np.diag(covariance, 1)
    places = np.flatnonzero(steps > 3 * np.sqrt(np.maximum(variance, 1e-30)))
    if not len(places):
        return []
    where = ", ".join(f"{ranks[i]} to {ranks[i + 1]}" for i in places[:5])
    return [
        f"p rises by more than chance from rank {where}: the layout draws attention there, or ranks change with relevance."
    ]


def _number(engine: Engine, sql: str) -> int:
    return int(engine.arrow(sql)["n"][0].as_py())
