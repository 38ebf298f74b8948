"""Query rates by empirical Bayes: against the negative binomial of SciPy and its direct maximisation."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from wayword.demand import query_rate
from wayword.demand.query_rate import SHAPES


def _likelihood(shape: float, clicks: np.ndarray, expected: np.ndarray) -> float:
    return float(np.sum(stats.nbinom.logpmf(clicks, shape, shape / (shape + expected))))


@pytest.mark.parametrize("true_shape", [0.3, 3.0, 30.0])
def test_the_shape_is_the_likeliest_and_near_that_of_a_direct_maximisation(true_shape: float) -> None:
    rng = np.random.default_rng(0)
    searches, wanted = rng.uniform(1, 30, 3000), rng.uniform(0.2, 3.0, 3000)
    rate = 0.4 * rng.gamma(true_shape, 1 / true_shape, 3000)
    clicks = rng.poisson(rate * searches * wanted).astype(np.float64)
    found = query_rate.fit(clicks, wanted, searches)
    expected = found.mean * wanted * searches
    assert found.mean == pytest.approx(clicks.sum() / (wanted * searches).sum())
    assert found.shape == max(SHAPES, key=lambda s: _likelihood(s, clicks, expected)) == true_shape
    best = optimize.minimize_scalar(
        lambda log_shape: -_likelihood(np.exp(log_shape), clicks, expected), bounds=(-4, 8), method="bounded"
    )
    assert abs(np.log(found.shape) - best.x) < np.log(2)
    assert np.corrcoef(found.of_query, rate * searches)[0, 1] > 0.8


def test_a_rate_is_the_mean_of_what_the_clicks_leave_likely() -> None:
    """By integration: rate ~ Gamma(shape, mean), clicks ~ Poisson(rate · shown)."""
    clicks, wanted, searches = (
        np.array([3.0, 0.0, 40.0]),
        np.array([1.5, 0.5, 2.0]),
        np.array([2.0, 4.0, 8.0]),
    )
    found = query_rate.fit(clicks, wanted, searches)
    for q in range(3):

        def density(rate: float, q: int = q) -> float:
            prior = stats.gamma.pdf(rate, found.shape, scale=found.mean / found.shape)
            return float(prior * stats.poisson.pmf(clicks[q], rate * wanted[q] * searches[q]))

        mass = integrate.quad(density, 0, 60, limit=500, points=[0.1, 1, 5])[0]
        mean = integrate.quad(lambda r, of=density: r * of(r), 0, 60, limit=500, points=[0.1, 1, 5])[0] / mass
        assert found.of_query[q] == pytest.approx(searches[q] * mean, rel=1e-4)


def test_how_often_a_query_was_issued_counts_where_it_is_known() -> None:
    """Ten clicks in ten searches and in a thousand: one rate where only clicks are logged, else two rates."""
    clicks, wanted = np.array([10.0, 10.0]), np.ones(2)
    alike = query_rate.fit(clicks, wanted, np.ones(2))
    assert alike.of_query[0] == alike.of_query[1] == pytest.approx(10.0)
    issued = np.array([10.0, 1000.0])
    known = query_rate.fit(clicks, wanted, issued)
    rate = known.of_query / issued
    assert rate[0] > 20 * rate[1]
    prior = known.shape / known.mean
    assert rate.tolist() == pytest.approx([(10 + known.shape) / (n + prior) for n in issued])


def test_no_click_no_rate_and_nothing_shown_is_the_mean() -> None:
    assert query_rate.fit(np.zeros(2), np.ones(2), np.ones(2)).of_query.tolist() == [0.0, 0.0]
    assert query_rate.fit(np.zeros(0), np.zeros(0), np.zeros(0)).of_query.tolist() == []
    found = query_rate.fit(np.array([6.0, 0.0]), np.array([2.0, 0.0]), np.ones(2))
    assert found.of_query[1] == found.mean == 3.0
