"""Relevance prior: the gradients are those of the likelihood; predictions are calibrated at rarely examined ranks."""

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from scipy.sparse import csr_array
from small_graphs import clicked

from wayword.demand import feature_blocks, relevance_prior
from wayword.demand.feature_blocks import FeatureBlocks
from wayword.demand.features import FEATURES
from wayword.demand.observations import Floats, Observations

NAMES = [feature.name for feature in FEATURES]
UNUSED = xgb.DMatrix(np.zeros((1, 1)))


def test_slopes_are_the_derivative_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    n, step = 40, 1e-3
    hit, examination, weight = rng.random(n) < 0.4, rng.uniform(0.001, 0.999, n), rng.uniform(0.5, 9.0, n)
    likelihood = relevance_prior.Likelihood(hit, examination, weight, np.zeros(n, np.bool_))
    margin = rng.normal(0, 2, n)
    first, second = likelihood.gradient(margin, UNUSED)
    for i in range(n):
        sides = []
        for way in (step, -step):
            moved = margin.copy()
            moved[i] += way
            name, loss = likelihood.loss(moved, UNUSED)
            sides.append(loss * weight.sum())
        assert name == "loss"
        assert first[i] == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-3, abs=1e-5)
    # the mean of the second derivative over what may happen: clicked with probability ρ·e, or not
    share = 1 / (1 + np.exp(-margin))
    assert second == pytest.approx(
        weight * (examination * share * (1 - share)) ** 2 / (examination * share * (1 - examination * share)),
        rel=1e-5,
    )


def test_held_out_pairs_judge_and_teach_nothing() -> None:
    held = np.array([False, True])
    likelihood = relevance_prior.Likelihood(
        np.array([True, True]), np.array([0.5, 0.25]), np.array([1.0, 3.0]), held
    )
    first, second = likelihood.gradient(np.zeros(2), UNUSED)
    assert first[0] < 0 < second[0]
    assert first[1] == second[1] == 0
    assert likelihood.loss(np.zeros(2), UNUSED)[1] == pytest.approx(-np.log(0.25 / 2))


def test_the_loss_is_minus_the_mean_of_the_logarithms() -> None:
    likelihood = relevance_prior.Likelihood(
        np.array([True, False]), np.array([0.5, 0.25]), np.array([1.0, 3.0]), np.zeros(2, np.bool_)
    )
    share = 1 / (1 + np.exp(-np.array([0.3, -0.7])))
    expected = -(np.log(0.5 * share[0]) + 3 * np.log(1 - 0.25 * share[1])) / 4
    assert likelihood.loss(np.array([0.3, -0.7]), UNUSED)[1] == pytest.approx(expected)


class World:
    """A feature says the true ρ, another how likely it is looked at, between never and always."""

    RHO = (0.05, 0.2, 0.6)

    def __init__(self, queries: int = 1500, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        p = rng.choice([0.02, 0.1, 0.5, 1.0], (queries, 20))
        self.pairs = Observations.of(csr_array(p), clicked())
        self.query_rate: Floats = rng.choice([0.5, 3.0], queries)
        self.kind: NDArray[np.int64] = rng.integers(0, 3, len(self.pairs))
        self.examination = 1 - np.exp(-self.query_rate[self.pairs.query] * self.pairs.propensity)
        wanted = rng.random(len(self.pairs)) < np.array(self.RHO)[self.kind]
        rate = np.where(wanted, self.query_rate[self.pairs.query] * self.pairs.propensity, 0.0)
        self.clicks: Floats = rng.poisson(rate).astype(np.float64)
        self.features = np.zeros((len(self.pairs), len(NAMES)), np.float32)
        self.features[:, NAMES.index("document_rate")] = self.kind
        self.features[:, NAMES.index("log_propensity")] = np.log(self.pairs.propensity)

    def fit(
        self, query_rate: Floats | None = None, *, threads: int = 1, seed: int = 0, models: int = 1
    ) -> Floats:
        return relevance_prior.fit(
            FeatureBlocks.in_memory(self.features),
            self.pairs,
            self.clicks,
            self.query_rate if query_rate is None else query_rate,
            models=models,
            threads=threads,
            seed=seed,
        )


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_what_is_looked_at_often_is_learned_as_it_is(world: World) -> None:
    found = world.fit()
    for kind, rho in enumerate(World.RHO):
        for p in (0.5, 1.0):
            at = (world.kind == kind) & (world.pairs.propensity == p)
            assert found[at].mean() == pytest.approx(rho, rel=0.15, abs=0.02), (rho, p)


def test_what_is_hardly_looked_at_is_drawn_to_the_mean_but_hardly_taken_for_unwanted(world: World) -> None:
    """ρ = 0.6 is learned as about 0.47 there; a model of clicks says 0.02."""
    found = world.fit()
    rare = [(world.kind == kind) & (world.pairs.propensity == 0.02) for kind in range(3)]
    low, middle, high = (float(found[at].mean()) for at in rare)
    assert low < middle < high < World.RHO[2]
    assert high > 0.4
    assert high > 10 * float((world.clicks[rare[2]] > 0).mean())


def test_who_takes_every_pair_without_a_click_for_unwanted_learns_how_often_it_is_clicked(
    world: World,
) -> None:
    """The same model told that everything was looked at often: far from ρ, near ρ·e."""
    naive = world.fit(np.full(world.pairs.queries, 1e9))
    for p in (0.02, 0.1):
        at = (world.kind == 2) & (world.pairs.propensity == p)
        clicked_share = float((world.clicks[at] > 0).mean())
        assert naive[at].mean() == pytest.approx(clicked_share, rel=0.35)
        assert naive[at].mean() < 0.5 * World.RHO[2]


def test_more_threads_give_the_same_to_the_bit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_blocks, "SLICE", 1001)
    assert np.array_equal(world.fit(threads=1, models=3), world.fit(threads=3, models=3))


def test_a_seed_is_another_model_and_the_same_again(world: World) -> None:
    assert np.array_equal(world.fit(seed=1), world.fit(seed=1))
    assert not np.array_equal(world.fit(seed=1), world.fit(seed=2))


def test_fewer_unclicked_pairs_stand_for_all(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance_prior, "SAMPLE", len(world.pairs) // 3)
    found = world.fit()
    for kind, rho in enumerate(World.RHO):
        at = (world.kind == kind) & (world.pairs.propensity == 1.0)
        assert found[at].mean() == pytest.approx(rho, rel=0.3, abs=0.02)


def test_parts_are_predicted_as_the_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = world.fit()
    monkeypatch.setattr(feature_blocks, "SLICE", 1001)
    assert np.array_equal(world.fit(), whole)


def test_no_click_nothing_is_wanted_and_one_click_is_no_trouble() -> None:
    world = World(queries=3)
    world.clicks[:] = 0.0
    assert not world.fit().any()
    world.clicks[5] = 1.0
    found = world.fit()
    assert ((found > 0) & (found < 1)).all()
