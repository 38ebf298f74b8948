"""Posterior: the zero-inflated Gamma–Poisson posterior, by Bayes' rule done numerically, and its limits."""

from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import integrate, stats
from scipy.sparse import csr_array
from small_graphs import Small, clicked, smalls

from wayword.demand.learning import Evidence, fit_posterior
from wayword.demand.observations import Observations
from wayword.demand.posterior import (
    POOLED,
    SHAPES,
    Posterior,
    Shrinkage,
    initial_query_rate,
    log_likelihood,
    relevance_without_click,
)


def _one(p: float) -> Observations:
    return Observations.of(csr_array(np.array([[p]])), clicked())


def _posterior(clicks: int, p: float, query_rate: float, shape: float, prior: float) -> tuple[float, float]:
    """P(wanted | clicks) and the mean rate: 0 with probability 1 − prior, else Gamma(shape, mean = query_rate)."""

    def joint(rate: float) -> float:
        law = stats.gamma.pdf(rate, shape, scale=query_rate / shape)
        return float(law * stats.poisson.pmf(clicks, rate * p))

    upto = query_rate * (20 + 40 / shape)
    marks = [query_rate * share for share in (1e-3, 0.1, 0.5, 1, 2, 5)]
    mass = integrate.quad(joint, 0, upto, points=marks, limit=1000)[0]
    first = integrate.quad(lambda r: r * joint(r), 0, upto, points=marks, limit=1000)[0]
    total = prior * mass + (1 - prior) * (clicks == 0)
    return prior * mass / total, prior * first / total


@pytest.mark.parametrize("shape", [1.0, 3.0, 30.0])
@pytest.mark.parametrize(("p", "query_rate"), [(1.0, 4.0), (0.1, 4.0), (0.02, 300.0)])
@pytest.mark.parametrize("clicks", [0, 1, 7])
def test_a_rate_is_the_mean_of_the_posterior(clicks: int, p: float, query_rate: float, shape: float) -> None:
    prior = 0.3
    chance, mean = _posterior(clicks, p, query_rate, shape, prior)
    posterior = Posterior(np.array([float(clicks)]), np.array([prior]), np.array([query_rate]))
    assert posterior.demand(_one(p), Shrinkage(shape))[0] == pytest.approx(mean, rel=1e-4)
    if clicks == 0:
        found = relevance_without_click(np.array([prior]), np.array([p * query_rate]), shape)
        assert found[0] == pytest.approx(chance, rel=1e-4)
    else:
        assert chance == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(smalls())
def test_without_shrinkage_a_rate_is_the_inverse_propensity_weight(small: Small) -> None:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    posterior = Posterior(clicks, np.full(len(pairs), 0.4), small.query_rate)
    assert posterior.demand(pairs, Shrinkage(1e-12)) == pytest.approx(clicks / pairs.propensity, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(smalls())
def test_pooled_all_clicked_documents_of_a_query_have_one_rate(small: Small) -> None:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    posterior = Posterior(clicks, np.full(len(pairs), 0.4), small.query_rate)
    pooled = posterior.demand(pairs, Shrinkage(POOLED, unseen=0.5))
    for i in range(len(pairs)):
        v, p = float(small.query_rate[pairs.query[i]]), float(pairs.propensity[i])
        none = exp(-v * p)
        share = 1.0 if clicks[i] else 0.5 * 0.4 * none / (0.6 + 0.4 * none)
        assert pooled[i] == pytest.approx(share * v)
    nearly = posterior.demand(pairs, Shrinkage(1e7, unseen=0.5))
    assert nearly == pytest.approx(pooled, rel=1e-4)


def test_unseen_scales_only_what_nobody_has_clicked() -> None:
    pairs = Observations.of(csr_array(np.array([[1.0, 0.5]])), clicked())
    posterior = Posterior(np.array([2.0, 0.0]), np.full(2, 0.5), np.array([3.0]))
    for shape in (0.3, 10.0, POOLED):
        once, twice = (posterior.demand(pairs, Shrinkage(shape, unseen)) for unseen in (1.0, 2.0))
        assert twice.tolist() == [once[0], 2 * once[1]]


def test_the_likelihood_is_that_of_poisson_at_the_best_common_scale() -> None:
    pairs = Observations.of(csr_array(np.array([[1.0, 0.5], [0.25, 0.0]])), clicked())
    rates, clicks = np.array([2.0, 4.0, 8.0]), np.array([3.0, 1.0, 0.0])

    def poisson(scale: float) -> float:
        """But for the factorials, which no rate changes."""
        expected = scale * rates * pairs.propensity
        return float(np.sum(clicks * np.log(expected) - expected)) / 4.0

    found = log_likelihood(rates, pairs, clicks)
    scales = np.linspace(0.01, 3, 3000)
    assert found == pytest.approx(max(map(poisson, scales)), abs=1e-6)
    assert found == pytest.approx((3 * log(4 / 6 * 2) + log(4 / 6 * 2)) / 4 - 1)
    assert log_likelihood(10 * rates, pairs, clicks) == pytest.approx(found)
    assert (
        log_likelihood(np.array([3.0, 2.0, 0.0]), pairs, clicks) > found
    )  # those that fit exactly are the best


def test_the_likelihood_prefers_the_rates_that_made_the_clicks() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 1, (40, 20))
    pairs = Observations.of(csr_array(p), clicked())
    true = rng.gamma(0.5, 4.0, len(pairs))
    clicks = rng.poisson(true * pairs.propensity).astype(np.float64)
    wrong = [np.ones(len(pairs)), rng.permutation(true), true**2, np.sqrt(true)]
    assert all(log_likelihood(true, pairs, clicks) > log_likelihood(other, pairs, clicks) for other in wrong)


def _fit(small: Small, pairs: Observations, clicks: np.ndarray) -> Posterior:
    searches = np.ones(pairs.queries)
    evidence = Evidence.of(pairs, clicks, searches, small.similarity(pairs), folder=Path())
    return fit_posterior(evidence.features, pairs, clicks, searches, prior=evidence.relevance, models=1)


def test_the_posterior_predicts_new_clicks_better_than_counting(small_world: Small) -> None:
    """A world where one kind of document is wanted: posterior foretell the clicks of another year better than c/p."""
    pairs = small_world.pairs()
    rng = np.random.default_rng(2)
    rate = np.where(
        small_world.clicks[pairs.query, pairs.document] > 0, small_world.query_rate[pairs.query], 0.0
    )
    now, later = (rng.poisson(rate * pairs.propensity).astype(np.float64) for _ in range(2))
    found = _fit(small_world, pairs, now)
    assert ((found.relevance >= 0) & (found.relevance <= 1)).all()
    scores = found.log_likelihoods(pairs, later)
    for choice, score in scores.items():
        assert score == pytest.approx(log_likelihood(found.demand(pairs, choice), pairs, later))
    assert max(scores.values()) > log_likelihood(now / pairs.propensity, pairs, later) + 0.1
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


@pytest.mark.parametrize("query_rate", [1.0, 3.0, 10.0])
def test_clicked_documents_alone_give_the_query_rate(query_rate: float) -> None:
    """However few of the documents are wanted. Counting clicks by ips_weight at what was clicked says far too much."""
    rng = np.random.default_rng(3)
    pairs = Observations.of(csr_array(rng.uniform(0.05, 1, (2000, 20))), clicked())
    rate = np.where(rng.random(len(pairs)) < 0.1, query_rate, 0.0)
    clicks = rng.poisson(rate * pairs.propensity).astype(np.float64)
    found = initial_query_rate(pairs, clicks, np.ones(pairs.queries))
    assert np.median(found) == pytest.approx(query_rate, rel=0.15)
    assert clicks.sum() / pairs.propensity[clicks > 0].sum() > query_rate * 1.02


def test_clicks_that_never_come_twice_do_not_end_in_a_rate_of_nothing() -> None:
    pairs = Observations.of(csr_array(np.full((50, 4), 0.5)), clicked())
    found = initial_query_rate(pairs, np.ones(len(pairs)), np.ones(50))
    assert (found > 0.01).all()
    assert (found < 2.0).all()


def test_a_log_without_a_click_says_nothing(small_world: Small) -> None:
    pairs = small_world.pairs()
    found = _fit(small_world, pairs, np.zeros(len(pairs)))
    assert not found.relevance.any()
    for choice in (Shrinkage(shape) for shape in SHAPES):
        assert np.abs(found.demand(pairs, choice)).max() < 1e-9


def test_an_old_click_counts_as_much_as_it_is_recent() -> None:
    pairs = Observations.of(csr_array(np.array([[1.0, 0.5]])), clicked())
    new, none = (
        Posterior(np.array([clicks, 0.0]), np.full(2, 0.5), np.array([3.0])) for clicks in (2.0, 0.0)
    )
    old = Posterior(new.clicks, new.relevance, new.query_rate, np.array([0.25, 0.0]))
    for shrinkage in (Shrinkage(0.3, 1.5), Shrinkage(10.0), Shrinkage(POOLED, 0.5)):
        now, never, then = (posterior.demand(pairs, shrinkage)[0] for posterior in (new, none, old))
        assert then == pytest.approx(0.25 * now + 0.75 * never)
    scores = old.log_likelihoods(pairs, np.array([1.0, 2.0]))
    for shrinkage, score in scores.items():
        assert score == log_likelihood(old.demand(pairs, shrinkage), pairs, np.array([1.0, 2.0]))
