"""The theory page against a slow version of itself: every look of every search, one after the other."""

from dataclasses import fields
from math import comb, inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.errors import WaywordError
from wayword.paper.experiments.theory import CHECKS, Theory, load, save, theory
from wayword.paper.theory.estimator import (
    KINDS,
    Bounding,
    bounding,
    bounds_of,
    divide,
    unbiasedness,
    unbounded,
    variance,
)
from wayword.paper.theory.generalization import (
    Learning,
    best_on_logs,
    coin_complexity,
    generalization,
    learn,
    learning,
    make_features,
    padding,
    pair_gains,
    rankers,
    relevant_queries,
)
from wayword.paper.theory.intervals import mean_interval, slope, student, variance_interval
from wayword.paper.theory.linear_rankers import arcs, arcs_of_each, signs_at, suprema
from wayword.paper.theory.model import (
    Floats,
    World,
    estimates,
    invisible_share,
    largest_ratio,
    make_world,
    means_of_logs,
    moments,
    naive,
    ratios,
    utilities,
    variances,
    visible,
)
from wayword.simulation.click_model import examination_probabilities

SMALL = {"contexts": 2, "candidates": 3, "queries": 4, "documents": 6, "depth": 5}


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Small worlds of many shapes."""
    candidates = draw(st.integers(2, 4))
    return make_world(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        contexts=draw(st.integers(1, 3)),
        candidates=candidates,
        queries=candidates + draw(st.integers(0, 2)),
        documents=draw(st.integers(7, 12)),
        depth=draw(st.integers(1, 9)),
        alpha=draw(st.floats(0, 3)),
    )


def example() -> World:
    """One context, two queries, three documents of which all are relevant, depth 3.

    The first query returns documents 0 and 1 at ranks 1 and 3; the second returns 1 and 2 at ranks 1 and 2.
    """
    rank = np.array([[1, 3, 0], [0, 1, 2]])
    return World(
        examination_probabilities(3), rank, np.ones((1, 3), np.bool_), np.array([[0, 1]]), np.ones(1)
    )


def test_the_example_by_arithmetic() -> None:
    world, total = example(), 1 + 1 / 2 + 1 / 3
    np.testing.assert_allclose(utilities(world)[0] * total, [1 + 1 / 3, 1 + 1 / 2])
    np.testing.assert_allclose(visible(world)[0, 1] * total, [1 / 3, 1 + 1 / 2])  # without document 0
    assert largest_ratio(world) == pytest.approx((1 / 1) / (1 / 3))
    np.testing.assert_allclose(estimates(world)[0, 0], [[1, 0], [0, 0], [1, 3]], atol=1e-12)
    np.testing.assert_allclose(estimates(world, max_ratio=2.0)[0, 0, 2], [1, 2])


def test_the_parts_of_the_checks_by_arithmetic() -> None:
    assert moments(np.array([0.5, 0.5]), np.array([0.0, 4.0]).reshape(1, 1, 2, 1))[1].item() == 4.0
    assert means_of_logs(np.array([[3, 1]]), np.array([[0.0], [2.0]])).item() == (3 * 0 + 1 * 2) / 4
    assert mean_interval(np.array([1.0, 1.0, 1.0]))[2].item() == 1.0
    assert (round(student(10**9), 3), round(student(10**9, tests=10), 3)) == (1.96, 2.807)
    assert variance_interval(np.array([2, 2]), np.array([[0.0], [4.0]]))[0].item() == 4.0
    assert slope(np.array([1.0, 2, 4, 8]), np.array([[1.0, 1 / 4, 1 / 16, 0.0]])).item() == pytest.approx(-2)
    assert divide(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist() == [1 / 2, 0.0]
    kinds, none = np.array(["a", "a", "a", "b", "b"]), np.zeros(5)
    found = Bounding(
        np.array([9, 9, 9, 9, 10]),
        kinds,
        none,
        none,
        none,
        np.array([3.0, 1, 1, 2, 2]),
        none,
        none,
        none,
        logs=1,
    )
    assert found.best.tolist() == [False, True, False, True, True]
    assert pair_gains(np.array([3.0, 1.0]), np.array([[1.0], [-1.0]])).tolist() == [2.0, -2.0]
    chance = best_on_logs(np.array([[1.0, 2.0, 2.0]]), np.array([1.0, 1.0, 3.0]))
    assert chance.tolist() == [[0.0, 1 / 4, 3 / 4]]
    assert (coin_complexity(1), coin_complexity(2)) == (1.0, 1 / 2)


def test_two_differences_make_four_arcs() -> None:
    found = arcs(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert (found.middle / np.pi).tolist() == [1 / 4, 3 / 4, 5 / 4, 7 / 4]
    assert found.signs.tolist() == [[1, 1], [-1, 1], [-1, -1], [1, -1]]


def look_by_look(
    world: World, x: int, logged: int, query: int, *, max_ratio: float = inf, max_weight: float = inf
) -> list[tuple[float, float]]:
    """(probability, û) of every look at the logged query's result page, in plain Python."""
    p = [0.0, *world.law.tolist()]
    shown = {rank: a for a, rank in enumerate(world.rank[logged].tolist()) if rank}
    found = []
    for k in range(1, len(p)):
        value = 0.0
        if k in shown and world.relevant[x, shown[k]]:
            looked = p[world.rank[query, shown[k]]]
            value = min(looked / p[1] * min(p[1] / p[k], max_weight), max_ratio)
        found.append((p[k], value))
    return found


def slow_mean_and_variance(
    world: World, *, max_ratio: float = inf, max_weight: float = inf
) -> tuple[Floats, Floats]:
    contexts, k = world.candidates.shape
    mean, spread = np.zeros((contexts, k, k)), np.zeros((contexts, k, k))
    for x in range(contexts):
        for i, logged in enumerate(world.candidates[x]):
            for j, query in enumerate(world.candidates[x]):
                looks = look_by_look(world, x, logged, query, max_ratio=max_ratio, max_weight=max_weight)
                mean[x, i, j] = sum(p * u for p, u in looks)
                spread[x, i, j] = sum(p * (u - mean[x, i, j]) ** 2 for p, u in looks)
    return mean, spread


@given(worlds())
@settings(max_examples=30, deadline=None)
def test_the_exact_formulas_are_what_all_looks_together_give(world: World) -> None:
    mean, spread = slow_mean_and_variance(world)
    np.testing.assert_allclose(visible(world), mean, atol=1e-12)
    np.testing.assert_allclose(variances(world), spread, rtol=1e-9, atol=1e-9)
    table = moments(world.law, estimates(world))
    np.testing.assert_allclose(table[0], mean, atol=1e-12)
    np.testing.assert_allclose(table[1], spread, rtol=1e-9, atol=1e-9)


@given(worlds())
@settings(max_examples=30, deadline=None)
def test_utility_is_the_probability_of_a_click(world: World) -> None:
    for x, row in enumerate(world.candidates.tolist()):
        for j, query in enumerate(row):
            looks = look_by_look(world, x, query, query)
            assert utilities(world)[x, j] == pytest.approx(sum(p for p, value in looks if value > 0))
            assert utilities(world)[x, j] == pytest.approx(visible(world)[x, j, j])


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_what_is_visible_is_a_part_of_utility(world: World) -> None:
    assert np.all(visible(world) <= utilities(world)[:, None, :] + 1e-12)
    if utilities(world).sum() > 0:
        assert -1e-9 <= invisible_share(world) <= 1


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_no_estimate_is_above_b_and_no_variance_above_its_bound(world: World) -> None:
    b, mean = largest_ratio(world), visible(world)
    assert estimates(world).max() <= b * (1 + 1e-9)
    slack = 1e-9 * (1 + b)
    assert np.all(variances(world) <= b * mean - mean**2 + slack)
    assert np.all(variances(world) <= ratios(world).max(axis=3) * mean - mean**2 + slack)


def test_the_bound_of_the_variance_needs_the_visible_utility() -> None:
    """Both return document 0 at rank 2, q has another at rank 1 that q̄ does not return: B = 1 and u = 1."""
    law = np.array([2, 1]) / 3
    rank = np.array([[1, 2, 0], [0, 2, 1]])  # the last document is not relevant
    world = World(law, rank, np.array([[True, True, False]]), np.array([[0, 1]]), np.ones(1))
    assert largest_ratio(world) == pytest.approx(1.0)
    u, seen = utilities(world)[0, 0], visible(world)[0, 1, 0]
    assert (u, seen) == (pytest.approx(1.0), pytest.approx(1 / 3))
    assert variances(world)[0, 1, 0] == pytest.approx(1 / 3 - 1 / 9)
    assert variances(world)[0, 1, 0] > 1 * u - u**2
    assert variances(world)[0, 1, 0] <= 1 * seen - seen**2 + 1e-12


def test_the_mean_meets_the_truth_and_the_uncorrected_ones_do_not() -> None:
    found = unbiasedness(
        np.random.default_rng(5), make_world(np.random.default_rng(4)), logs=300, searches=2000
    )
    assert found.largest_z <= found.threshold
    assert found.holds
    total = found.logs * found.searches
    assert np.allclose(found.naive, found.naive_truth, atol=5 / np.sqrt(total))
    assert np.allclose(found.clicks_only, found.clicks_truth, rtol=0.1, atol=0.05)
    beyond = np.abs(found.naive - found.truth) > 10 * (found.high - found.low)
    assert beyond.mean() > 0.5
    assert np.all(found.truth <= found.utility + 1e-12)
    assert 0 < found.invisible < 1


def test_searches_without_a_click_count() -> None:
    """A document at rank 2 of 2: one look in three sees it, and û = (2/3) / (1/3) then."""
    world = World(
        np.array([2, 1]) / 3,
        np.array([[1, 0], [2, 1]]),
        np.array([[True, False]]),
        np.array([[0, 1]]),
        np.ones(1),
    )
    table = estimates(world)[0, 1, :, 0]
    np.testing.assert_allclose(table, [0, (2 / 3) / (1 / 3)])
    assert world.law @ table == pytest.approx(2 / 3)
    np.testing.assert_allclose(naive(world)[0, 1, :, 0], [0, 1])


def test_measured_variances_are_the_exact_ones() -> None:
    found = variance(np.random.default_rng(1), make_world(np.random.default_rng(0)), searches=200_000)
    assert found.holds
    assert found.covered > 0.8
    used = found.exact > 1e-9
    np.testing.assert_allclose(found.measured[used], found.exact[used], rtol=0.2)


def test_without_b_the_variance_has_no_bound() -> None:
    """p_q²/p_q̄ − p_q² with p_q = 1/H and p_q̄ = 1/(r·H), where H = 1 + 1/2 + … + 1/100."""
    found = unbounded(np.random.default_rng(2), searches=300_000)
    h = sum(1 / k for k in range(1, 101))
    expected = [(1 / h) ** 2 / (1 / (r * h)) - (1 / h) ** 2 for r in (1, 2, 5, 10, 20, 50, 100)]
    np.testing.assert_allclose(found.exact, expected)
    np.testing.assert_allclose(found.bound, expected)
    np.testing.assert_allclose(found.printed, [r**2 - (1 / h) ** 2 for r in (1, 2, 5, 10, 20, 50, 100)])
    np.testing.assert_allclose(found.measured, found.exact, rtol=0.2)
    assert found.holds


@given(worlds(), st.sampled_from(KINDS), st.floats(0.1, 30), st.floats(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_bound_never_raises_an_estimate_and_a_looser_one_is_less_biased(
    world: World, kind: str, bound: float, times: float
) -> None:
    free = estimates(world)
    tight, loose = (estimates(world, **{kind: of}) for of in (bound, bound * times))
    assert np.all(tight <= loose)
    assert np.all(loose <= free)
    bias = [visible(world) - moments(world.law, table)[0] for table in (loose, tight)]
    assert np.all(bias[0] <= bias[1] + 1e-12)
    np.testing.assert_array_equal(estimates(world, **{kind: bounds_of(world, kind)[-1] * (1 + 1e-9)}), free)


@pytest.mark.parametrize("kind", KINDS)
def test_bounded_estimates_are_what_all_looks_together_give(kind: str) -> None:
    world = make_world(np.random.default_rng(3), **SMALL)
    slow = slow_mean_and_variance(world, **{kind: 1.5})
    exact = moments(world.law, estimates(world, **{kind: 1.5}))
    np.testing.assert_allclose(exact[0], slow[0], atol=1e-12)
    np.testing.assert_allclose(exact[1], slow[1], atol=1e-12)


def test_the_error_of_a_bound_is_its_bias_and_its_variance() -> None:
    found = bounding(np.random.default_rng(7), make_world(np.random.default_rng(6)), logs=300)
    np.testing.assert_allclose(found.error, found.bias**2 + found.variance / found.searches)
    np.testing.assert_allclose(found.measured, found.error, rtol=0.25)
    for n in (100, 10_000):
        for kind in KINDS:
            rows = (found.searches == n) & (found.kind == kind)
            assert np.all(np.diff(found.bias[rows]) <= 1e-12)
            assert found.bias[rows][-1] == pytest.approx(0, abs=1e-12)
            assert found.best_bound(n, kind) == found.bound[rows][found.error[rows].argmin()]
    assert found.holds


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_the_arcs_are_all_orders_that_a_dense_grid_of_angles_finds(seed: int, number: int) -> None:
    differences = np.random.default_rng(seed).standard_normal((number, 2))
    found = arcs(differences)
    assert found.width.sum() == pytest.approx(2 * np.pi)
    dense = signs_at(np.linspace(0, 2 * np.pi, 20_011), differences)
    of_grid = set(map(tuple, dense.tolist()))
    of_arcs = set(map(tuple, found.signs.tolist()))
    wide = set(map(tuple, found.signs[found.width > 2 * np.pi / 20_000].tolist()))
    assert of_grid <= of_arcs
    assert wide <= of_grid
    assert len(of_arcs) == len(found.width) == 2 * number


def slow_gain(world: World, features: Floats, values: Floats, angle: float) -> float:
    """L of one ranker: every context, every pair."""
    w = (np.cos(angle), np.sin(angle))
    total = 0.0
    for x, row in enumerate(world.candidates.tolist()):
        score = [w[0] * features[x, q, 0] + w[1] * features[x, q, 1] for q in row]
        pairs = [(i, j) for i in range(len(row)) for j in range(i + 1, len(row))]
        gain = sum(
            (values[x, i] - values[x, j]) * (1 if score[i] >= score[j] else -1) for i, j in pairs
        ) / comb(len(row), 2)
        total += world.share[x] * gain
    return total


def small_task() -> tuple[World, Floats, Learning]:
    world = make_world(np.random.default_rng(8), contexts=5, candidates=4, queries=6, documents=12, depth=9)
    features = make_features(np.random.default_rng(9), world)
    return world, features, learning(world, rankers(world, features))


def test_the_best_in_class_is_what_a_dense_grid_of_angles_finds() -> None:
    world, features, task = small_task()
    seen = visible(world).mean(axis=1)
    grid = np.linspace(0, 2 * np.pi, 3001)
    assert task.gain.max() == pytest.approx(max(slow_gain(world, features, seen, a) for a in grid))
    assert task.utility_gain.max() == pytest.approx(
        max(slow_gain(world, features, utilities(world), a) for a in grid)
    )


def test_what_searches_are_worth_is_the_gain_on_average() -> None:
    _, _, task = small_task()
    assert task.law.sum() == pytest.approx(1)
    np.testing.assert_allclose(task.law @ task.worth, task.gain, atol=1e-12)


def test_a_large_log_finds_the_best_in_class() -> None:
    _, _, task = small_task()
    few, _, _ = learn(np.random.default_rng(1), task, searches=25, logs=100)
    excess, _, perfect = learn(np.random.default_rng(1), task, searches=10**9, logs=20)
    assert few.mean() > 0
    np.testing.assert_array_equal(excess, 0)
    np.testing.assert_array_equal(perfect, 1)


def test_the_bounds_hold_and_the_class_is_not_perfect() -> None:
    world, features, _ = small_task()
    found = generalization(np.random.default_rng(2), world, features, logs=100, draws=300)
    assert found.holds
    for bound in (found.bound, found.summed, found.direct):
        assert np.all(found.high <= bound)
    assert 0 < found.best_gain < found.full_gain
    assert found.excess[0] > found.excess[-1] >= 0
    assert found.bound_slope == pytest.approx(-0.5, abs=0.05)
    assert found.slope_low <= found.slope <= found.slope_high < 0
    np.testing.assert_array_less(found.rademacher_mean, found.rademacher)


def test_the_relevant_queries_are_those_of_the_contexts_that_came() -> None:
    """All sequences of three contexts, each with its probability."""
    world = make_world(np.random.default_rng(10), **(SMALL | {"contexts": 3}))
    sets = [
        {q for q, u in zip(row, us, strict=True) if u > 0}
        for row, us in zip(world.candidates.tolist(), utilities(world).tolist(), strict=True)
    ]
    s = world.share
    expected = sum(
        s[i] * s[j] * s[k] * len(sets[i] | sets[j] | sets[k])
        for i in range(3)
        for j in range(3)
        for k in range(3)
    )
    assert relevant_queries(world, np.array([3]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_the_complexity_of_two_rankers_is_that_of_a_coin(n: int) -> None:
    one = np.array([[[0.3, -0.8]]])
    found = suprema(np.random.default_rng(3), np.ones(1), arcs_of_each(one)[0], searches=n, draws=20_000)
    assert found.mean() == pytest.approx(coin_complexity(n), rel=0.03)


def test_useless_queries_break_the_theorem_as_stated_but_not_with_all_pairs() -> None:
    """One useful query of utility ½ among K, one search: without a click (½) the wrong one of two rankers (½)."""
    found = padding(candidates=(2, 32))
    for i, k in enumerate((2, 32)):
        lost = 2 * (k - 1) * 0.5 / comb(k, 2)
        assert found.excess[i] == pytest.approx(0.5 * 0.5 * lost)
        assert found.mended[i] == pytest.approx(4 * (k - 1) / comb(k, 2) * 1.0)
    assert found.excess[0] <= found.bound[0]
    assert found.excess[1] > found.bound[1]
    assert np.all(found.excess <= found.mended)


@pytest.fixture(scope="module")
def small() -> Theory:
    return theory(3, effort=0.02)


def values_of(found: Theory) -> dict[str, object]:
    return {
        f"{name}.{field.name}": getattr(getattr(found, name), field.name)
        for name, kind in CHECKS.items()
        for field in fields(kind)
    }


def assert_same(one: Theory, other: Theory) -> None:
    assert (one.seed, one.effort) == (other.seed, other.effort)
    theirs = values_of(other)
    for name, value in values_of(one).items():
        if isinstance(value, np.ndarray):
            found = theirs[name]
            assert isinstance(found, np.ndarray)
            assert value.dtype == found.dtype, name
            assert value.tobytes() == found.tobytes(), name
        else:
            assert value == theirs[name], name
            assert type(value) is type(theirs[name]), name


def test_a_seed_says_everything(small: Theory) -> None:
    assert_same(theory(3, effort=0.02), small)
    other = theory(4, effort=0.02).unbiasedness
    assert not np.array_equal(other.truth, small.unbiasedness.truth)


def test_what_is_saved_is_what_is_loaded(small: Theory, tmp_path: Path) -> None:
    save(small, tmp_path)
    assert_same(load(tmp_path), small)


@pytest.mark.parametrize("effort", [0.0, -1.0, inf, float("nan")])
def test_an_effort_must_be_a_number_above_zero(effort: float) -> None:
    with pytest.raises(WaywordError, match="effort"):
        theory(0, effort=effort)
