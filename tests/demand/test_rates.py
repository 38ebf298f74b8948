"""Rates: the zero-inflated Gamma–Poisson posterior, by Bayes' rule done numerically, and its limits."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import integrate, stats
from scipy.sparse import csr_array
from small_graphs import Small, clicked, smalls

from wayword.demand.pairs import Pairs
from wayword.demand.rates import (
    CHOICES,
    POOLED,
    Beliefs,
    Shrinkage,
    _first_volume,
    believe,
    likelihood,
    wanted,
)


def _one(p: float) -> Pairs:
    return Pairs.of(csr_array(np.array([[p]])), clicked())


def _posterior(clicks: int, p: float, volume: float, shape: float, prior: float) -> tuple[float, float]:
    """P(wanted | clicks) and the mean rate: 0 with probability 1 − prior, else Gamma(shape, mean = volume)."""

    def joint(rate: float) -> float:
        law = stats.gamma.pdf(rate, shape, scale=volume / shape)
        return float(law * stats.poisson.pmf(clicks, rate * p))

    upto = volume * (20 + 40 / shape)
    marks = [volume * share for share in (1e-3, 0.1, 0.5, 1, 2, 5)]
    mass = integrate.quad(joint, 0, upto, points=marks, limit=1000)[0]
    first = integrate.quad(lambda r: r * joint(r), 0, upto, points=marks, limit=1000)[0]
    total = prior * mass + (1 - prior) * (clicks == 0)
    return prior * mass / total, prior * first / total


@pytest.mark.parametrize("shape", [1.0, 3.0, 30.0])
@pytest.mark.parametrize(("p", "volume"), [(1.0, 4.0), (0.1, 4.0), (0.02, 300.0)])
@pytest.mark.parametrize("clicks", [0, 1, 7])
def test_a_rate_is_the_mean_of_the_posterior(clicks: int, p: float, volume: float, shape: float) -> None:
    prior = 0.3
    chance, mean = _posterior(clicks, p, volume, shape, prior)
    beliefs = Beliefs(np.array([float(clicks)]), np.array([prior]), np.array([volume]))
    assert beliefs.rates(_one(p), Shrinkage(shape))[0] == pytest.approx(mean, rel=1e-4)
    if clicks == 0:
        found = wanted(np.array([prior]), np.array([p * volume]), shape)
        assert found[0] == pytest.approx(chance, rel=1e-4)
    else:
        assert chance == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(smalls())
def test_without_shrinkage_a_rate_is_the_inverse_propensity_weight(small: Small) -> None:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    beliefs = Beliefs(clicks, np.full(len(pairs), 0.4), small.volume)
    assert beliefs.rates(pairs, Shrinkage(1e-12)) == pytest.approx(clicks / pairs.p, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(smalls())
def test_pooled_all_clicked_documents_of_a_query_have_one_rate(small: Small) -> None:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    beliefs = Beliefs(clicks, np.full(len(pairs), 0.4), small.volume)
    pooled = beliefs.rates(pairs, Shrinkage(POOLED, unseen=0.5))
    for i in range(len(pairs)):
        v, p = float(small.volume[pairs.query[i]]), float(pairs.p[i])
        none = exp(-v * p)
        share = 1.0 if clicks[i] else 0.5 * 0.4 * none / (0.6 + 0.4 * none)
        assert pooled[i] == pytest.approx(share * v)
    nearly = beliefs.rates(pairs, Shrinkage(1e7, unseen=0.5))
    assert nearly == pytest.approx(pooled, rel=1e-4)


def test_unseen_scales_only_what_nobody_has_clicked() -> None:
    pairs = Pairs.of(csr_array(np.array([[1.0, 0.5]])), clicked())
    beliefs = Beliefs(np.array([2.0, 0.0]), np.full(2, 0.5), np.array([3.0]))
    for shape in (0.3, 10.0, POOLED):
        once, twice = (beliefs.rates(pairs, Shrinkage(shape, unseen)) for unseen in (1.0, 2.0))
        assert twice.tolist() == [once[0], 2 * once[1]]


def test_the_likelihood_is_that_of_poisson_at_the_best_common_scale() -> None:
    pairs = Pairs.of(csr_array(np.array([[1.0, 0.5], [0.25, 0.0]])), clicked())
    rates, clicks = np.array([2.0, 4.0, 8.0]), np.array([3.0, 1.0, 0.0])

    def poisson(scale: float) -> float:
        """But for the factorials, which no rate changes."""
        expected = scale * rates * pairs.p
        return float(np.sum(clicks * np.log(expected) - expected)) / 4.0

    found = likelihood(rates, pairs, clicks)
    scales = np.linspace(0.01, 3, 3000)
    assert found == pytest.approx(max(map(poisson, scales)), abs=1e-6)
    assert found == pytest.approx((3 * log(4 / 6 * 2) + log(4 / 6 * 2)) / 4 - 1)
    assert likelihood(10 * rates, pairs, clicks) == pytest.approx(found)
    assert likelihood(np.array([3.0, 2.0, 0.0]), pairs, clicks) > found  # those that fit exactly are the best


def test_the_likelihood_prefers_the_rates_that_made_the_clicks() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 1, (40, 20))
    pairs = Pairs.of(csr_array(p), clicked())
    true = rng.gamma(0.5, 4.0, len(pairs))
    clicks = rng.poisson(true * pairs.p).astype(np.float64)
    wrong = [np.ones(len(pairs)), rng.permutation(true), true**2, np.sqrt(true)]
    assert all(likelihood(true, pairs, clicks) > likelihood(other, pairs, clicks) for other in wrong)


def test_what_is_believed_serves_new_clicks_better_than_counting(small_world: Small) -> None:
    """A world where one kind of document is wanted: beliefs foretell the clicks of another year better than c/p."""
    pairs = small_world.pairs()
    rng = np.random.default_rng(2)
    rate = np.where(small_world.clicks[pairs.query, pairs.document] > 0, small_world.volume[pairs.query], 0.0)
    now, later = (rng.poisson(rate * pairs.p).astype(np.float64) for _ in range(2))
    found = believe(pairs, now, np.ones(pairs.queries), small_world.around(pairs), models=1)
    assert ((found.relevance >= 0) & (found.relevance <= 1)).all()
    told = {choice: likelihood(found.rates(pairs, choice), pairs, later) for choice in CHOICES}
    assert max(told.values()) > likelihood(now / pairs.p, pairs, later) + 0.1
    unseen = now == 0
    auc = _auc(found.relevance[unseen], rate[unseen] > 0)
    assert auc > 0.8


def _auc(score: np.ndarray, true: np.ndarray) -> float:
    rank = stats.rankdata(score)
    good = int(true.sum())
    return float((rank[true].sum() - good * (good + 1) / 2) / (good * (len(true) - good)))


@pytest.fixture(scope="module")
def small_world() -> Small:
    """400 queries, each of a word out of ten that is about two documents out of forty, which half of the others
    return too; `clicks` says what is wanted."""
    rng = np.random.default_rng(0)
    word = rng.integers(0, 10, 400)
    shown = rng.random((400, 40)) < 0.4
    about = (np.arange(40)[None, :] // 4) == word[:, None]
    p = np.where(shown | about, rng.uniform(0.03, 1.0, (400, 40)), 0.0)
    texts = [f"w{w} n{i}" for i, w in enumerate(word.tolist())]
    return Small(texts, p, about.astype(np.float64), rng.gamma(3.0, 0.8, 400))


@pytest.mark.parametrize("volume", [1.0, 3.0, 10.0])
def test_clicked_documents_alone_tell_the_volume(volume: float) -> None:
    """However few of the documents are wanted. Counting clicks by looks at what was clicked says far too much."""
    rng = np.random.default_rng(3)
    pairs = Pairs.of(csr_array(rng.uniform(0.05, 1, (2000, 20))), clicked())
    rate = np.where(rng.random(len(pairs)) < 0.1, volume, 0.0)
    clicks = rng.poisson(rate * pairs.p).astype(np.float64)
    found = _first_volume(pairs, clicks, np.ones(pairs.queries))
    assert np.median(found) == pytest.approx(volume, rel=0.15)
    assert clicks.sum() / pairs.p[clicks > 0].sum() > volume * 1.02


def test_clicks_that_never_come_twice_do_not_end_in_a_volume_of_nothing() -> None:
    pairs = Pairs.of(csr_array(np.full((50, 4), 0.5)), clicked())
    found = _first_volume(pairs, np.ones(len(pairs)), np.ones(50))
    assert (found > 0.01).all()
    assert (found < 2.0).all()


def test_a_log_without_a_click_says_nothing(small_world: Small) -> None:
    pairs = small_world.pairs()
    around = small_world.around(pairs)
    found = believe(pairs, np.zeros(len(pairs)), np.ones(pairs.queries), around, models=1)
    assert not found.relevance.any()
    for choice in CHOICES:
        assert np.abs(found.rates(pairs, choice)).max() < 1e-9
