"""Do clicks depend on what stands above, given rank, query and document? Where they do, clicking is cascade-like.

Two covariates x of an impression are tried in the conditional likelihood, with P(click) ∝ p_k γ exp(β x): whether a
result above was clicked, and how many clicks were to be expected above. If people look at one rank at a time and click
at most once, the first has an effect (β ≈ −1) and the second has none: p is right then. If they go down the page and
stop at a click, both have one, and p depends on what stands above.

β is estimated by one step of Newton's method from 0, where log p is fitted: β = U / (I_ββ − I_βp I_pp⁻¹ I_pβ), with the
score U = Σ (c − γ̂ p)(x − x̄) and x̄ the stratum's mean of x with weights p.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from wayword.propensity import likelihood
from wayword.propensity.strata import Flags, Floats, Impressions, Integers

SIGNIFICANT = 3.0
"""Standard errors: a large log shows small effects of no consequence."""
CASCADE = -0.5
"""An effect of expected clicks that cascades have: a log that cannot exclude it does not say that there is none."""
ALL = -0.995
"""An effect of a click above that is as good as −1: people click once."""
LEAST_INFORMATION = 1e-9
PRIOR = 1.0
"""Weight of the mean relevance in that of a stratum, in impressions at rank 1."""


@dataclass(frozen=True)
class Effect:
    """β with its standard error."""

    value: float
    error: float

    @property
    def negative(self) -> bool:
        """Whether it is below 0 by more than chance."""
        return self.value < -SIGNIFICANT * self.error

    @property
    def positive(self) -> bool:
        """Whether it is above 0 by more than chance."""
        return self.value > SIGNIFICANT * self.error


@dataclass(frozen=True)
class Dependence:
    """How much a result is clicked less or more after a click above, and per click expected above."""

    after_click: Effect
    expected_above: Effect

    @property
    def cascade(self) -> bool:
        """Whether clicking is cascade-like."""
        return self.after_click.negative and self.expected_above.negative

    @property
    def sentence(self) -> str:
        """In words."""
        after, above = self.after_click, self.expected_above
        if np.isinf(after.error):
            return "This log has no clicks that tell whether a result is clicked less after a click above."
        less = (
            f"a result is clicked {-after.value:.0%} less"
            if after.value > ALL
            else "hardly any result is clicked"
        )
        found = f"fter a click above, {less}"
        if self.cascade:
            return (
                f"Clicking is cascade-like: a{found}, and less is clicked the better the results above it are "
                f"({above.value:.0%} for each click expected there, ± {2 * above.error:.0%}). p is then an average "
                "over the pages of this log: where better results move to the top, the ranks below are looked at less."
            )
        if after.negative and above.value - 2 * above.error < CASCADE:
            return (
                f"A{found}. This log is too small to tell whether a result is also clicked less the better the results "
                "above it are; if so, clicking is cascade-like, and p is an average over the pages of this log."
            )
        if after.negative:
            return (
                f"A{found}, but as much where better results stand above: people stop at a click, p is right."
            )
        if after.positive:
            return (
                f"After a click above, a result is clicked {after.value:.0%} more: some people click more than others. "
                "The intervals take it into account."
            )
        return "A result is clicked as often after a click above as without: nothing speaks for cascade-like clicking."


def dependence(data: Impressions, ranks: Integers, p: Floats) -> Dependence:
    """Measure it at the given ranks, with p of all ranks of the data as fitted.

    Clicks above are expected from the other half of the searches: within a search they depend on each other.
    """
    clicked = np.minimum(_above(data, data.rows.clicked.astype(np.float64)), 1.0)
    effects = []
    for half in range(2):
        chosen = np.arange(len(data.rows)) % 2 == half
        row = chosen[data.rows.search]
        expected = _above(data, _expected(data, p, ~row))
        effects.append([_of_rows(data.of_searches(chosen), ranks, x[row], p) for x in (clicked, expected)])
    return Dependence(*(_combined(*pair) for pair in zip(*effects, strict=True)))


def _combined(one: Effect, other: Effect) -> Effect:
    """The mean of two effects, weighted by their precision."""
    weights = np.array([one.error, other.error]) ** -2.0
    if not weights.any():
        return Effect(0.0, np.inf)
    value = float(weights @ [one.value, other.value] / weights.sum())
    return Effect(value, float(weights.sum() ** -0.5))


def _above(data: Impressions, values: Floats) -> Floats:
    """The sum of values over the results above, in the same search."""
    before = np.r_[0.0, np.cumsum(values)]
    return np.asarray(before[:-1] - before[data.rows.searches[:-1]][data.rows.search])


def _expected(data: Impressions, p: Floats, known: Flags) -> Floats:
    """The expected click of each impression, from the known rows."""
    strata, rows = data.strata, data.rows
    stratum, look = strata.owner[rows.cell], p[strata.rank[rows.cell]]
    exposure = np.bincount(stratum[known], look[known], len(strata.cells))
    clicks = np.bincount(stratum[known], rows.clicked[known], len(strata.cells))
    gamma = (clicks + PRIOR * clicks.sum() / exposure.sum()) / (exposure + PRIOR)
    return np.minimum(look * gamma[stratum], 1.0)


def _of_rows(data: Impressions, ranks: Integers, x: Floats, p: Floats) -> Effect:
    """β of a covariate of the rows, from the informative strata at the given ranks."""
    inside = np.isin(data.strata.ranks, ranks)
    near = data.at(ranks)
    informative = near.strata.informative()
    row = inside[data.strata.rank][data.rows.cell]
    row[row] = informative[near.rows.cell]
    return _effect(near.select(informative), x[row], p[inside])


def _effect(data: Impressions, x: Floats, p: Floats) -> Effect:
    """β of a covariate of the rows."""
    strata, rows = data.strata, data.rows
    stratum, rank = strata.owner[rows.cell], strata.rank[rows.cell]
    exposure, clicks = strata.by_stratum(strata.shown * p[strata.rank]), strata.clicks
    pi = p[rank] / exposure[stratum]
    mean = np.bincount(stratum, pi * x, len(clicks))
    centred = x - mean[stratum]
    gamma = (clicks / exposure)[stratum]
    residual = (rows.clicked - gamma * p[rank]) / np.sqrt(1 - np.minimum(pi, likelihood.FULL))
    crossed = np.bincount(rank, clicks[stratum] * pi * centred, len(p))[1:]
    own = likelihood.information(strata, np.log(p))[1:, 1:]
    slope = np.r_[0.0, np.linalg.lstsq(own, crossed, rcond=None)[0]]
    at_cells = strata.by_stratum(strata.shown * p[strata.rank] * slope[strata.rank]) / exposure
    efficient = centred - (slope[rank] - at_cells[stratum])
    information = float(clicks[stratum] @ (pi * efficient**2))
    if information < LEAST_INFORMATION:
        return Effect(0.0, np.inf)
    part = csr_array(
        (residual * efficient, np.zeros(len(x), np.int64), rows.searches), shape=(len(rows), 1)
    ).toarray()
    raw = float((rows.clicked - gamma * p[rank]) @ efficient)
    return Effect(raw / information, float(np.sqrt((part**2).sum())) / information)
