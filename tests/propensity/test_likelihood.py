"""The conditional likelihood: against a slow reference, arithmetic, and worlds whose p is known."""

from itertools import pairwise

import numpy as np
import pytest
from made_impressions import LAWS, impressions, shown
from scipy.optimize import minimize

from wayword.engines import Engine
from wayword.propensity import likelihood
from wayword.propensity.estimate import Options, estimate
from wayword.propensity.identifiability import joined
from wayword.propensity.strata import Floats, Impressions, Strata
from wayword.simulation.result_pages import Clicks, World, draw

SMALL = World(queries=100, periods=2)


def drawn(
    law: str, searches: int, seed: int = 0, clicks: Clicks = "positions", world: World = SMALL
) -> Impressions:
    return draw(
        np.random.default_rng(seed), LAWS[law], searches=searches, clicks=clicks, world=world
    ).impressions()


def slow_log_likelihood(strata: Strata, log_p: Floats) -> float:
    """Click by click: the probability of its rank, among all impressions of its stratum."""
    total = 0.0
    for first, last in pairwise(strata.cells.offsets):
        of = range(first, last)
        weights = [strata.shown[c] * np.exp(log_p[strata.rank[c]]) for c in of]
        total += sum(strata.clicked[c] * np.log(w / sum(weights)) for c, w in zip(of, weights, strict=True))
    return float(total)


def test_two_ranks_in_one_stratum_give_the_ratio_of_click_rates(engine: Engine) -> None:
    """30 of 100 impressions clicked at rank 1, 8 of 80 at rank 2."""
    rows = [row for n in range(100) for row in shown(n, ("d", 1, n < 30))]
    rows += [row for n in range(80) for row in shown(100 + n, ("d", 2, n < 8))]
    found = estimate(impressions(engine, rows), Options())
    assert found.p == pytest.approx([1, (8 / 80) / (30 / 100)])
    error = np.log(found.high[1] / found.p[1]) / 1.96
    assert error**2 == pytest.approx((1 - 30 / 100) / 30 + (1 - 8 / 80) / 8, rel=0.05)


def test_the_fit_is_that_of_a_slow_reference() -> None:
    strata = joined(drawn("alpha 1", 1000)).strata
    found = likelihood.fit(strata)
    assert likelihood.log_likelihood(strata, found) == pytest.approx(slow_log_likelihood(strata, found))

    def loss(tail: Floats) -> float:
        return -slow_log_likelihood(strata, np.r_[0.0, tail])

    slow = minimize(loss, found[1:] + 0.1, method="L-BFGS-B")
    assert found[1:] == pytest.approx(slow.x, abs=1e-3)


def test_score_and_information_are_the_derivatives() -> None:
    strata = joined(drawn("alpha 1", 1000)).strata
    log_p, steps = np.linspace(0, -2, len(strata.ranks)), 1e-5 * np.eye(len(strata.ranks))

    def slope(of: object, step: Floats) -> Floats:
        assert callable(of)
        return np.asarray((of(strata, log_p + step) - of(strata, log_p - step)) / 2e-5)

    score = [slope(likelihood.log_likelihood, step) for step in steps]
    assert likelihood.score(strata, log_p) == pytest.approx(np.array(score), abs=1e-4)
    information = [-slope(likelihood.score, step) for step in steps]
    assert likelihood.information(strata, log_p) == pytest.approx(np.array(information), abs=1e-4)


def test_a_monotone_curve_is_the_free_one_where_that_never_rises_and_flat_where_it_does() -> None:
    for seed in range(3):
        strata = joined(drawn("alpha 0.5", 2000, seed)).strata
        free = likelihood.fit(strata)
        found = likelihood.fit_monotone(strata, free)
        assert (np.diff(found) <= 1e-9).all()
        best, most = likelihood.log_likelihood(strata, found), likelihood.log_likelihood(strata, free)
        assert best <= most + 1e-6
        falling = np.minimum.accumulate(free)
        assert best >= likelihood.log_likelihood(strata, falling) - 1e-4
        if (np.diff(free) <= 0).all():
            assert found == pytest.approx(free, abs=1e-3)
    data = drawn("alpha 0.5", 2000)
    curve = estimate(data, Options(monotone=True))
    assert (np.diff(curve.low) <= 1e-12).all()
    assert (np.diff(curve.high) <= 1e-12).all()
    assert (curve.low <= curve.p).all()
    assert (curve.p <= curve.high).all()


def test_results_at_one_rank_or_never_clicked_do_not_matter(engine: Engine) -> None:
    """Strata at one rank, or never clicked, change nothing."""
    rows = [row for n in range(200) for row in shown(n, ("a", 1 + n % 2, n // 2 % (3 + 4 * (n % 2)) == 0))]
    more = [row for n in range(200, 260) for row in shown(n, ("b", 2, n % 2), query="at one rank")]
    more += [row for n in range(260, 300) for row in shown(n, ("c", 1 + n % 2, 0), query="never clicked")]
    found = [
        estimate(impressions(engine, each), Options()).at(np.array([1, 2])) for each in (rows, rows + more)
    ]
    assert found[0]["p"].to_pylist() == pytest.approx(found[1]["p"].to_pylist())


def resampled(data: Impressions, draws: int) -> Floats:
    """The covariance of log p over searches drawn again with replacement."""
    rng = np.random.default_rng(0)
    rows = joined(data).rows
    strata = joined(data).strata
    fits = []
    for _ in range(draws):
        weight = rng.poisson(1.0, len(rows)).astype(float)[rows.search]
        size = len(strata.shown)
        again = Strata(
            strata.ranks,
            strata.cells,
            np.maximum(np.bincount(rows.cell, weight, size), 1e-9),
            np.bincount(rows.cell, weight * rows.clicked, size).astype(np.float64),
            strata.query,
            strata.document,
        )
        fits.append(likelihood.fit(again))
    return np.asarray(np.cov(np.array(fits), rowvar=False))


@pytest.mark.parametrize("clicks", ["positions", "one look"])
def test_where_strata_are_shown_often_the_covariance_is_that_of_resampled_searches(clicks: Clicks) -> None:
    world = World(queries=3, documents=11, periods=1, search_noise=2.0)
    data = drawn("alpha 0.5", 6000, clicks=clicks, world=world)
    covariance = likelihood.curve(joined(data)).covariance
    ratio = np.sqrt(np.diag(resampled(data, 300))[1:] / np.diag(covariance)[1:])
    assert ratio == pytest.approx(np.ones(9), abs=4 / np.sqrt(2 * 300))


@pytest.mark.parametrize("law", LAWS)
def test_p_is_found_within_its_interval(law: str) -> None:
    found = estimate(drawn(law, 20_000, world=World()), Options())
    missed = np.log(found.p / LAWS[law])[1:] / (np.log(found.high / found.p)[1:] / 1.96)
    assert np.abs(missed).max() < 3.5
    assert np.sqrt(np.mean(missed**2)) < 2


@pytest.mark.slow
@pytest.mark.parametrize("clicks", ["positions", "one look"])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_in_95_of_100_repeats(law: str, clicks: Clicks) -> None:
    """Sparse strata: 3,000 searches of 100 queries; 150 repeats × 3 ranks, of which 93–97 % ± 4 standard errors."""
    covered = []
    for seed in range(150):
        found = estimate(drawn(law, 3000, seed, clicks), Options()).at(np.array([2, 3, 4]))
        truth = LAWS[law][1:4]
        covered.append((found["low"].to_numpy() <= truth) & (truth <= found["high"].to_numpy()))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02 + 4 * np.sqrt(0.95 * 0.05 / 450))


def test_relevance_that_drifts_from_period_to_period_is_no_harm_if_ranks_follow_it() -> None:
    """Ranks that follow relevance between weeks: pooled weeks give a biased p, weeks do not."""
    world = World(queries=100, drift=1.5, periods=4, period_noise=0.0, search_noise=0.6, follows_drift=True)
    pages = draw(np.random.default_rng(0), LAWS["alpha 0.5"], searches=40_000, world=world)
    by_week = estimate(pages.impressions(), Options())
    pages.period[:] = 0
    pooled = estimate(pages.impressions(), Options())
    truth = LAWS["alpha 0.5"]
    assert np.abs(by_week.p / truth - 1).max() < 0.12
    assert pooled.p[-1] < 0.8 * truth[-1]
