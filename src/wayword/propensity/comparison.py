"""All methods on one log: their curves, how well they predict clicks of searches held out, and which to use."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayword.errors import LogError
from wayword.propensity.click_dependence import Dependence, dependence
from wayword.propensity.estimate import Estimate, Options, estimate
from wayword.propensity.likelihood import probabilities
from wayword.propensity.strata import Floats, Impressions, Integers, Period

LIKELIHOOD, MONOTONE, EM, TRUST, LAW = (
    "likelihood",
    "likelihood, monotone",
    "em",
    "em, trust bias",
    "power law",
)
FOLDS = 2
SIGNIFICANT = 3.0
"""Standard errors of a difference of log-likelihoods: in small logs they are uncertain themselves."""


@dataclass(frozen=True)
class Score:
    """Mean log-likelihood of the rank of a held-out click, above that of p = 1 at all ranks."""

    gain: float
    behind: float
    """How much less it is than that of the best method."""
    error: float
    """The standard error of `behind`."""


@dataclass(frozen=True)
class Comparison:
    """Estimates by method, their scores on searches held out, and the recommended method with reasons."""

    estimates: Mapping[str, Estimate]
    scores: Mapping[str, Score]
    dependence: Dependence
    recommended: str
    reasons: list[str]

    def as_object(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "recommended": self.recommended,
            "reasons": self.reasons,
            "cascade": self.dependence.cascade,
            "held_out": {name: vars(score) for name, score in self.scores.items()},
            "methods": {name: found.as_object() for name, found in self.estimates.items()},
        }


def choices(period: Period) -> dict[str, Options]:
    """The options of each method that is compared."""
    return {
        LIKELIHOOD: Options("likelihood", period),
        MONOTONE: Options("likelihood", period, monotone=True),
        "chain": Options("chain", period),
        "all-pairs": Options("all-pairs", period),
        EM: Options("em", period),
        TRUST: Options("em", period, trust_bias=True),
    }


def compare(data: Impressions, period: Period = "week", *, seed: int = 0) -> Comparison:
    """Fit all methods that say something, and score them on searches held out if each half says enough."""
    main = estimate(data, choices(period)[LIKELIHOOD])
    estimates = {LIKELIHOOD: main}
    for name, options in choices(period).items():
        if name != LIKELIHOOD:
            with suppress(LogError):
                estimates[name] = estimate(data, options)
    ranks = np.setdiff1d(main.ranks, main.by_law)
    scores: dict[str, Score] = {}
    with suppress(LogError):
        scores = _scores(data, ranks, {name: choices(period)[name] for name in estimates}, seed)
    depends = dependence(data, ranks, main.p)
    recommended, reasons = _recommended(estimates, scores, depends)
    return Comparison(estimates, scores, depends, recommended, reasons)


def _scores(
    data: Impressions, ranks: Integers, methods: Mapping[str, Options], seed: int
) -> dict[str, Score]:
    """Score the methods, and the power law that is fitted to the likelihood's estimates."""
    fold = np.random.default_rng(seed).permutation(len(data.rows)) % FOLDS
    gains: dict[str, list[Floats]] = {}
    for held_out in range(FOLDS):
        learned = data.of_searches(fold != held_out)
        test = data.of_searches(fold == held_out).at(ranks).informative()
        for name, options in methods.items():
            found = estimate(learned, options, intervals=False)
            gains.setdefault(name, []).append(_gain(test, found.at(ranks)["p"].to_numpy()))
            if name == LIKELIHOOD:
                gains.setdefault(LAW, []).append(_gain(test, np.r_[1.0, found.law.at(ranks[1:])[0]]))
    by_search = {name: np.concatenate(each) for name, each in gains.items()}
    clicks = sum(
        data.of_searches(fold == f).at(ranks).informative().strata.clicked.sum() for f in range(FOLDS)
    )
    best = by_search[max(by_search, key=lambda name: float(by_search[name].sum()))]
    return {
        name: Score(
            float(each.sum() / clicks),
            float((best - each).sum() / clicks),
            float(np.sqrt(((best - each) ** 2).sum()) / clicks),
        )
        for name, each in by_search.items()
    }


def _gain(test: Impressions, p: Floats) -> Floats:
    """Of each search: the log-likelihood of the ranks of its clicks, above that of p = 1."""
    strata, rows = test.strata, test.rows
    gain = np.log(probabilities(strata, np.log(p)) / probabilities(strata, np.zeros(len(p))))
    return np.bincount(rows.search, rows.clicked * gain[rows.cell], len(rows)).astype(np.float64, copy=False)


def _recommended(
    estimates: Mapping[str, Estimate], scores: Mapping[str, Score], depends: Dependence
) -> tuple[str, list[str]]:
    """The method to use, and why."""

    def worse(name: str) -> bool:
        return scores[name].behind > SIGNIFICANT * scores[name].error

    main = estimates[LIKELIHOOD]
    if not scores:
        few = "Half of this log joins too few ranks to compare the methods on the other half: likelihood assumes least."
        return LIKELIHOOD, [few, depends.sentence]
    best = max(scores, key=lambda name: scores[name].gain)
    reasons = [
        f"{best} predicts best at which rank held-out clicks fall; "
        + (
            "likelihood does significantly worse."
            if worse(LIKELIHOOD)
            else "likelihood is as good, within chance."
        )
    ]
    if worse(LIKELIHOOD):
        recommended = best
    elif (
        (np.diff(main.p) > 0).any()
        and not worse(MONOTONE)
        and not any("rises" in note for note in main.notes)
    ):
        recommended = MONOTONE
        reasons.append(
            "p rises with the rank in some places, but not by more than chance: a monotone curve is plausible."
        )
    else:
        recommended = LIKELIHOOD
    if recommended in (LIKELIHOOD, MONOTONE):
        reasons.append(
            "likelihood needs no model of relevance, which em does, and uses all pairs of ranks at once."
        )
    if recommended == LAW:
        reasons.append(
            f'Set [propensity] source = "power" and alpha = {main.law.alpha:.2f}: the law, {main.law.formula}, has two '
            "numbers to estimate where the curves have one for each rank."
        )
    elif not worse(LAW):
        reasons.append(
            f"The fitted power law, {main.law.formula}, predicts as well as the curves, within chance: it is a "
            "simple choice where ranks have wide intervals."
        )
    return recommended, [*reasons, depends.sentence, *(note for note in main.notes if "rises" in note)]
