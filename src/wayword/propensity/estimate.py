"""Propensities estimated from impressions: check what the log can tell, fit, and say what was assumed."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from wayword.errors import LogError, WaywordError
from wayword.propensity import all_pairs, chain, likelihood, regression_em
from wayword.propensity.identifiability import ASSUME, LEAST_CLICKS, check, joined
from wayword.propensity.power_law import FittedLaw, fitted_law
from wayword.propensity.rank_groups import gaps, spans
from wayword.propensity.rates import Rates
from wayword.propensity.strata import Floats, Impressions, Integers, Period, Strata

__all__ = ["METHODS", "Estimate", "Impressions", "Method", "Options", "estimate", "spans"]

Method = Literal["likelihood", "chain", "all-pairs", "em"]
METHODS: tuple[Method, ...] = get_args(Method)
DRAWS = {"chain": 100, "all-pairs": 50, "em": 10}
"""How often the comparison methods are fitted again, to queries drawn with replacement."""
REDRAWN_ROUNDS = 40
KNOWN = 0.8
"""A rank is left out if fewer than this share of those fits has an estimate for it."""


@dataclass(frozen=True)
class Options:
    """How propensities are estimated."""

    method: Method = "likelihood"
    period: Period = "week"
    monotone: bool = False
    trust_bias: bool = False
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trust_bias and self.method != "em":
            raise WaywordError(
                f"Found trust bias with the method {self.method}; only the method em models it."
            )
        if self.monotone and self.method != "likelihood":
            raise WaywordError(
                f"Found a monotone curve of the method {self.method}; only likelihood fits one."
            )


@dataclass(frozen=True)
class Estimate:
    """p of each rank that was shown, with its interval; those `by_law` have the power law fitted to the others."""

    method: Method
    ranks: Integers
    p: Floats
    low: Floats
    high: Floats
    by_law: Integers
    law: FittedLaw
    covariance: Floats = field(repr=False)
    """Of log p at the ranks that are not by the law."""
    notes: list[str]
    """Counts and assumptions, in sentences."""

    @property
    def last(self) -> int:
        """The last rank with an estimate of its own."""
        return self.law.last

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
            "extrapolated": self.by_law.tolist(),
            "notes": self.notes,
        }


def estimate(data: Impressions, options: Options, *, intervals: bool = True) -> Estimate:
    """Estimate p by the method of the options; impressions that cannot tell ranks apart are refused.

    Without `intervals` the methods that draw queries again for them do not.
    """
    check(data, options.period)
    used = joined(data, options.period)
    ranks = used.strata.ranks
    if options.method == "likelihood":
        fitted = likelihood.curve(used)
        log_p, covariance = fitted.log_p, fitted.covariance
    else:
        log_p, covariance = _compared(
            data.strata.at(ranks), options, draws=DRAWS[options.method] if intervals else 0
        )
    known = np.isfinite(log_p)
    if known.sum() < 2:
        raise LogError(
            f"Found no ratio between the first ranks by the method {options.method}; expected results that were shown, "
            f"and clicked, at ranks {ranks[0]} and {ranks[1]}: use `--method likelihood`, which compares all pairs."
        )
    ranks, log_p, covariance = ranks[known], log_p[known], covariance[np.ix_(known, known)]
    notes = [*_counted(data, used), *_assumed(data, options)]
    if not known.all():
        notes.append(
            f"The method {options.method} says nothing about the ranks {spans(used.strata.ranks[~known])}."
        )
    notes += _rises(ranks, log_p, covariance)
    monotone = likelihood.fit_monotone(used.strata, log_p) if options.monotone else None
    return _with_law(data.strata, options, ranks, log_p, covariance, notes, monotone)


def check_falls(found: Estimate) -> None:
    """Raise `LogError` if p rises from the first rank to the last by more than chance: it would turn every click's
    weight around, so it is not to be used."""
    if found.law.rises:
        raise LogError(
            "Found p that rises with the rank by more than chance, from 1 at rank 1 to "
            f"{np.exp(found.law.limit):.2g} at rank {found.last}; expected less attention further down: check that "
            f"`rank` counts from the top of the page, {ASSUME}."
        )


def _compared(strata: Strata, options: Options, *, draws: int) -> tuple[Floats, Floats]:
    """log p by a method for comparison, with the covariance over queries drawn again with all their searches."""
    rng = np.random.default_rng(options.seed)
    strata = strata.pooled() if options.method == "em" else strata.select(strata.moved())

    def fitted(weight: Floats | None) -> Floats:
        if options.method == "em":
            rounds = regression_em.ROUNDS if weight is None else REDRAWN_ROUNDS
            return regression_em.fit(
                strata, trust_bias=options.trust_bias, weight=weight, rounds=rounds
            ).log_p
        return (chain if options.method == "chain" else all_pairs).fit(Rates.of(strata, weight))

    log_p, queries = fitted(None), int(strata.query.max()) + 1
    if not draws:
        return log_p, np.zeros((len(log_p), len(log_p)))
    drawn = np.array(
        [fitted(rng.poisson(1.0, queries).astype(np.float64)[strata.query]) for _ in range(draws)]
    )
    known = np.isfinite(drawn).mean(axis=0) > KNOWN
    log_p[~known] = np.nan
    covariance = np.full((len(known), len(known)), np.nan)
    whole = drawn[:, known]
    covariance[np.ix_(known, known)] = np.cov(whole[np.isfinite(whole).all(axis=1)], rowvar=False)
    return log_p, covariance


def _with_law(
    strata: Strata,
    options: Options,
    ranks: Integers,
    log_p: Floats,
    covariance: Floats,
    notes: list[str],
    monotone: Floats | None,
) -> Estimate:
    """Intervals of the estimates, and the power law for the other ranks that were shown."""
    error = np.sqrt(np.diag(covariance))
    width = ndtri((1 + options.level) / 2) * error
    low, high = log_p - width, log_p + width
    if monotone is not None:
        log_p = monotone
        low = np.minimum(np.maximum.accumulate(low[::-1])[::-1], log_p)
        high = np.maximum(np.minimum.accumulate(high), log_p)
    law = fitted_law(ranks, log_p, error, options.level, covariance=covariance)
    own = Estimate(
        options.method, ranks, np.exp(log_p), np.exp(low), np.exp(high), ranks[:0], law, covariance, notes
    )
    others = np.setdiff1d(strata.ranks, ranks)
    if len(others):
        notes.append(
            f"By the power law fitted to the other ranks, {law.formula}: {spans(others)}. There, fewer than "
            f"{LEAST_CLICKS} clicks, or none, are on results that compare the rank with rank 1."
        )
    if never := gaps(strata.ranks):
        notes.append(
            f"Never shown: ranks {never}, though others are down to {strata.ranks[-1]}; expected all: where such a "
            "rank is needed it has the power law's p, so export its results, unless no result is ever there."
        )
    every = own.at(strata.ranks)
    p, low, high = (every[name].to_numpy() for name in ("p", "low", "high"))
    return Estimate(options.method, strata.ranks, p, low, high, others, law, covariance, notes)


def _counted(data: Impressions, used: Impressions) -> list[str]:
    clicks, strata = used.strata.clicked.sum(), data.strata
    return [
        f"{strata.shown.sum():,.0f} impressions in {len(data.rows):,} searches with {strata.clicked.sum():,.0f} "
        f"clicks; {clicks:,.0f} of these are on results that were shown at several ranks."
    ]


def _assumed(data: Impressions, options: Options) -> list[str]:
    if options.method == "em":
        return [
            "Relevance is assumed to be a sum of a part of the query and a part of the document (in log-odds)."
        ]
    within = f"within a {options.period}"
    if options.period == "none" or data.days is None:
        within = f"over the whole log, {'as it has no times' if data.days is None else 'as asked'}"
    return [
        f"Ranks are compared {within}: it is assumed that the rank of a result does not change with its relevance "
        "there, nor because it was clicked, and that a click depends on rank and relevance alone, not on "
        "other clicks (`wayword propensity compare` looks at that)."
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
        f"p rises by more than chance from rank {where}; expected less attention further down: the layout draws "
        "attention there, or ranks change with relevance (`--period day` assumes less)."
    ]
