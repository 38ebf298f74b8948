"""Learning acceptance and reading from lists shown and taken: maximum likelihood, shrunk to the prior.

The parameters are γ, with r_1 = σ(γ_1) and r_j = r_{j-1} · σ(γ_j), so that r does not increase, then β, the
coefficients of `FEATURES`, a shift of the constant for each value of a context column, κ (`kept`) and the log-odds of
the shares of careless and of strict people. Each has a normal prior around `PRIOR` (around 0 for shifts). Newton's
method finds the maximum. Intervals are by the sandwich formula, clustered by typing session, where the prior counts as
one more observation:

    covariance = A⁻¹ (S + Λ) A⁻ᵀ,   A = H − D + Λ    H: minus the Hessian, S: Σ score · scoreᵀ, Λ: the prior's precision

log U, by which κ is multiplied, depends on r. It is computed with the r of the round before. D is the derivative of the
gradient by γ through log U: with it the intervals include that U is estimated.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES, POSITIONS, PRIOR, UNCERTAIN, Acceptance
from wayword.completion.acceptance_data import AcceptanceData
from wayword.completion.acceptance_likelihood import Likelihood, likelihood, log_unread

Floats = NDArray[np.float64]
READING_DEVIATION, SHIFT_DEVIATION, KEPT_DEVIATION, SHARE_DEVIATION = 1.0, 0.5, 0.5, 1.5
DEVIATION = {
    "constant": UNCERTAIN,
    "typed_words": 0.5,
    "intended_words": 0.7,
    "suggested_words": 0.7,
    "served": 1.5,
    "corrected": 0.5,
}
"""Standard deviations of the prior of each γ, of each shift, of κ, of the log-odds of ε and s, and of each β. Lists of
most popular completion hold only queries with the typed words, and cannot tell constant from `typed_words`: what they
say is then taken to hold for other suggestions too."""
MOST_PASSES = 60
LONGEST_STEP = 2.0
CONVERGED = 1e-5
"""The search ends when a step promises to increase log L by less."""
ROUNDS = ((0.1, 1.0), (1.0, 1e-2), (1.0, CONVERGED))
"""Rounds of a fit: the share of the sessions, which are in random order, and when the search ends. U is computed before
each round; one more would move no parameter by a hundredth of its standard error."""
LEAST_SAMPLED = 1000
"""A part of the sessions is used only if it has so many."""
SAMPLED = 0.1
"""D is computed from this share of the sessions, by differences between γ ± `DIFFERENCE`."""
DIFFERENCE = 1e-3
WITHIN = 1.959963984540054
"""95 % of a normal distribution are within so many standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """A parameter with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float
    prior: float
    """The value before any event."""
    worth: float
    """The number of sessions after which data and prior count the same; infinite if no session says anything."""
    learned: float
    """1 − variance / variance of the prior: 0 if the lists say nothing about it, or cannot tell it from others."""

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Fit:
    """Learned parameters (γ, β, shifts, κ, log-odds of ε and s) with their covariance."""

    parameters: Floats
    covariance: Floats
    information: Floats
    """Minus the second derivatives of log L by each parameter."""
    log_likelihood: float
    sessions: int
    lists: int
    kinds: tuple[str, ...] = ()
    converged: bool = True
    passes: int = 0

    @property
    def model(self) -> Acceptance:
        """Acceptance and reading, without the shifts of contexts.

        The contrast is a precaution against a wrong prior: it decreases as the lists tell whether people follow words
        or pages.
        """
        return replace(
            self.shifted,
            coefficients=self.shifted.coefficients[: len(FEATURES)],
            uncertain=float(self.covariance[POSITIONS, POSITIONS]) ** 0.5,
            contrast=PRIOR.contrast * self._undecided,
        )

    @property
    def _undecided(self) -> float:
        """The standard deviation of β along the contrast, relative to that of the prior."""
        beta = slice(POSITIONS, POSITIONS + len(FEATURES))
        along = precision()[beta] * PRIOR.contrast
        known = float(along @ PRIOR.contrast)
        return min(float(along @ self.covariance[beta, beta] @ along) / known, 1.0) ** 0.5

    @property
    def shifted(self) -> Acceptance:
        """Acceptance and reading, with the shifts of contexts after the coefficients of `FEATURES`."""
        return model_of(self.parameters)

    def estimates(self) -> list[Estimate]:
        """All parameters on their natural scale: β, the shifts, κ, ε, s and r_j; shares with intervals by log-odds."""
        kinds = len(self.kinds)
        names = (*FEATURES, *(f"constant, {kind}" for kind in self.kinds), "kept")
        start, weight = starting_point(kinds), precision(kinds)
        said = self.information > 1e-9
        worth = np.full(len(said), np.inf)
        worth[said] = self.sessions * weight[said] / self.information[said]
        deviation = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        learned = 1.0 - deviation**2 * weight
        plain = [
            Estimate(
                name,
                float(self.parameters[i]),
                float(self.parameters[i] - WITHIN * deviation[i]),
                float(self.parameters[i] + WITHIN * deviation[i]),
                float(start[i]),
                float(worth[i]),
                float(learned[i]),
            )
            for i, name in enumerate(names, POSITIONS)
        ]
        reading = reading_of(self.parameters)
        slopes = log_reading_slopes(self.parameters) / (1.0 - reading)[:, None]
        variance = np.einsum("ij,jk,ik->i", slopes, self.covariance[:POSITIONS, :POSITIONS], slopes)
        learned_reading = 1.0 - variance / (slopes**2 @ (1.0 / weight[:POSITIONS]))
        odds, before = np.log(reading / (1 - reading)), reading_of(start)
        shares = [
            (name, self.parameters[i], deviation[i], _sigmoid(start[i]), worth[i], learned[i])
            for name, i in (("careless", -2), ("strict", -1))
        ]
        shares += [
            (f"reading {j + 1}", odds[j], np.sqrt(variance[j]), before[j], worth[j], learned_reading[j])
            for j in range(POSITIONS)
        ]
        return plain + [
            Estimate(
                name,
                float(_sigmoid(z)),
                float(_sigmoid(z - WITHIN * spread)),
                float(_sigmoid(z + WITHIN * spread)),
                float(prior),
                float(after),
                float(share),
            )
            for name, z, spread, prior, after, share in shares
        ]


def _sigmoid(z: Floats) -> Floats:
    result: Floats = 1.0 / (1.0 + np.exp(-z))
    return result


def reading_of(parameters: Floats) -> Floats:
    """Return r_1 … r_10.

    >>> reading_of(np.zeros(10))[:3].tolist()
    [0.5, 0.25, 0.125]
    """
    return np.cumprod(_sigmoid(parameters[:POSITIONS])).astype(np.float64)


def log_reading_slopes(parameters: Floats) -> Floats:
    """Return ∂ log r_j / ∂ γ_i."""
    return np.tril(np.ones((POSITIONS, POSITIONS))) * (1.0 - _sigmoid(parameters[:POSITIONS]))


def parameters_of(model: Acceptance, kinds: int = 0) -> Floats:
    """Return (γ, β, shifts of 0, κ, log-odds of ε and s) of a model.

    >>> bool(np.allclose(reading_of(parameters_of(PRIOR)), PRIOR.reading))
    True
    """
    reading = np.clip(model.reading_at(POSITIONS), 1e-6, 1 - 1e-6)
    ratio = np.clip(reading / np.r_[1.0, reading[:-1]], 1e-6, 1 - 1e-6)
    shares = np.clip([model.careless, model.strict], 1e-6, 1 - 1e-6)
    return np.concatenate(
        [
            np.log(ratio / (1 - ratio)),
            model.coefficients,
            np.zeros(kinds),
            [model.kept],
            np.log(shares / (1 - shares)),
        ]
    )


def model_of(parameters: Floats) -> Acceptance:
    """Return the model of parameters, with the shifts of contexts after the coefficients of `FEATURES`.

    >>> model = model_of(parameters_of(PRIOR))
    >>> model.coefficients.tolist() == PRIOR.coefficients.tolist(), round(model.careless, 6), model.kept
    (True, 0.3, 0.5)
    """
    careless, strict = _sigmoid(parameters[-2:]).tolist()
    return Acceptance(
        parameters[POSITIONS:-3].copy(), reading_of(parameters), careless, float(parameters[-3]), strict
    )


def starting_point(kinds: int = 0) -> Floats:
    """Return the parameters of `PRIOR`."""
    return parameters_of(PRIOR, kinds)


def precision(kinds: int = 0) -> Floats:
    """Return the precision of the prior of each parameter."""
    return np.r_[
        np.full(POSITIONS, READING_DEVIATION**-2.0),
        [DEVIATION[name] ** -2.0 for name in FEATURES],
        np.full(kinds, SHIFT_DEVIATION**-2.0),
        KEPT_DEVIATION**-2.0,
        np.full(2, SHARE_DEVIATION**-2.0),
    ]


@dataclass(frozen=True)
class Point:
    """Penalised log-likelihood at some parameters, with derivatives by them."""

    value: float
    gradient: Floats
    hessian: Floats
    outer: Floats
    log_likelihood: float


def evaluate(
    data: AcceptanceData, parameters: Floats, unread: Floats | None = None, sessions: int | None = None
) -> Point:
    """Evaluate the penalised log-likelihood; for `unread` and `sessions` see `likelihood`."""
    at = likelihood(data, model_of(parameters), unread, sessions)
    gradient, hessian, outer = _by_parameters(at, parameters)
    kinds = len(data.kinds)
    away, weight = parameters - starting_point(kinds), precision(kinds)
    return Point(
        at.value - 0.5 * float(weight @ away**2),
        gradient - weight * away,
        hessian - np.diag(weight),
        outer,
        at.value,
    )


def _by_parameters(at: Likelihood, parameters: Floats) -> tuple[Floats, Floats, Floats]:
    """Turn derivatives by log r into derivatives by γ."""
    size = len(parameters)
    slopes = np.eye(size)
    slopes[:POSITIONS, :POSITIONS] = log_reading_slopes(parameters)
    hessian = slopes.T @ at.hessian @ slopes
    share = _sigmoid(parameters[:POSITIONS])
    after = np.cumsum(at.gradient[:POSITIONS][::-1])[::-1]  # log r_j has γ_i if i ≤ j
    hessian[np.arange(POSITIONS), np.arange(POSITIONS)] -= after * share * (1 - share)
    return slopes.T @ at.gradient, hessian, slopes.T @ at.outer @ slopes


def fit(data: AcceptanceData, start: Floats | None = None) -> Fit:
    """Find the most probable parameters; without any data, those of the prior."""
    kinds = len(data.kinds)
    parameters = starting_point(kinds) if start is None else start
    passes = 0
    for share, enough in ROUNDS:
        sessions = round(share * data.sessions)
        if share < 1 and (start is not None or sessions < LEAST_SAMPLED):
            continue
        parameters, point, used, converged = _climb(data, parameters, sessions, enough)
        passes += used
    weight = np.diag(precision(kinds))
    curvature = _positive(-point.hessian, point.outer + weight)
    inverse = np.linalg.inv(curvature - _through_unread(data, parameters))
    return Fit(
        parameters,
        inverse @ (point.outer + weight) @ inverse.T,
        np.diag(-point.hessian) - np.diag(weight),
        point.log_likelihood,
        data.sessions,
        len(data),
        data.kinds,
        converged,
        passes,
    )


def _through_unread(data: AcceptanceData, parameters: Floats) -> Floats:
    """Return D: how the gradient changes with γ because log U does."""
    sessions = max(round(SAMPLED * data.sessions), min(data.sessions, LEAST_SAMPLED))
    result = np.zeros((len(parameters), len(parameters)))
    for j in range(POSITIONS if sessions else 0):
        moved = DIFFERENCE * np.eye(len(parameters))[j]
        ahead, behind = (
            evaluate(data, parameters, log_unread(data, reading_of(parameters + way)), sessions).gradient
            for way in (moved, -moved)
        )
        result[:, j] = (ahead - behind) / (2 * DIFFERENCE) * data.sessions / sessions
    return result


def _climb(
    data: AcceptanceData, parameters: Floats, sessions: int, enough: float
) -> tuple[Floats, Point, int, bool]:
    """Find the maximum for U as it is at the start, until a step promises less than `enough`; return also the number of
    passes and whether the maximum was found."""
    unread, weight = log_unread(data, reading_of(parameters)), precision(len(data.kinds))
    point, passes = evaluate(data, parameters, unread, sessions), 1
    while passes < MOST_PASSES:
        step = _step(point, weight)
        if point.gradient @ step < enough:
            return parameters, point, passes, True
        length = 1.0
        while True:
            trial = evaluate(data, parameters + length * step, unread, sessions)
            passes += 1
            if trial.value >= point.value or passes >= MOST_PASSES:
                break
            length /= 4
        if trial.value < point.value:
            break
        parameters, point = parameters + length * step, trial
    return parameters, point, passes, False


def _step(point: Point, weight: Floats) -> Floats:
    """Return Newton's step, bounded; where the function is not concave, with the outer product of scores and the
    prior's precision instead of the Hessian."""
    curvature = _positive(-point.hessian, point.outer + np.diag(weight))
    step = np.asarray(np.linalg.solve(curvature, point.gradient), np.float64)
    return step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))


def _positive(matrix: Floats, otherwise: Floats) -> Floats:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return otherwise
    return matrix
