"""Learning acceptance: the likelihood against a slow reference, derivatives against differences, known parameters."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_lists import TEXTS, TRUTH, Drawing, made_searches, made_universe, values_of

from wayword.completion.acceptance import POSITIONS, PRIOR, Acceptance
from wayword.completion.acceptance_data import AcceptanceData, assemble
from wayword.completion.acceptance_features import features
from wayword.completion.acceptance_fit import (
    evaluate,
    fit,
    model_of,
    parameters_of,
    reading_of,
    starting_point,
)
from wayword.completion.acceptance_likelihood import LEAST_UNREAD, forecast, likelihood, log_unread

UNIVERSE = made_universe()
SEARCHES = made_searches(len(TEXTS))
PEOPLE = Drawing(UNIVERSE, SEARCHES, TRUTH)
EAGER = np.array([-2.0, 0.8, 2.0, 1.5, 1.0, -0.8])
"""Coefficients of people who take much that they did not intend."""


def data_of(lists: int, seed: int, *, shown: int = 10, kinds: bool = False) -> AcceptanceData:
    drawn = PEOPLE.draw(lists, seed, shown)
    if kinds:
        values = [("phone", "desktop", None)[i % 3] for i in range(drawn.sessions)]
        drawn = replace(drawn, value=pa.array(values, pa.string()))
    return assemble(drawn, UNIVERSE, SEARCHES)


def slow_likelihood(data: AcceptanceData, model: Acceptance, shift: dict[int, float]) -> float:
    """log L in plain Python, from queries and texts instead of prepared pairs."""
    total = 0.0
    for session in range(data.sessions):
        mixture = 0.0
        at = data.candidates.span(session)
        for q, p in zip(data.candidates.values[at], data.candidates.weights[at], strict=True):
            careful, careless = float(p) * (1 - model.careless), float(p) * model.careless
            strict, careful = careful * model.strict, careful * (1 - model.strict)
            unread: dict[int, float] = {}
            for one in range(data.lists[session], data.lists[session + 1]):
                for j, c in enumerate(data.items.values[data.items.span(one)].tolist()):
                    column = data.columns.offsets[session] + c
                    suggested = int(data.columns.values[column])
                    pair = np.array([q]), np.array([suggested])
                    flags = data.typed_words[column : column + 1], data.corrected[column : column + 1]
                    f = features(*pair, *flags, UNIVERSE.compared)[0]
                    logit = float(f @ model.coefficients) + shift.get(int(data.kind[session]), 0.0)
                    logit += model.kept * max(math.log(unread.get(suggested, 1.0)), LEAST_UNREAD)
                    a = 1.0 if q == suggested else 1 / (1 + math.exp(-logit))
                    read = float(model.reading[min(j, POSITIONS - 1)])
                    took = j + 1 == data.taken[one]
                    careful *= read * a if took else 1 - read * a
                    careless *= read if took else 1 - read
                    strict *= read * (q == suggested) if took else 1 - read * (q == suggested)
                    unread[suggested] = unread.get(suggested, 1.0) * (1 - read)
                    if took:
                        break
            mixture += careful + strict + careless
        total += math.log(mixture)
    return total


def random_parameters(rng: np.random.Generator, kinds: int) -> np.ndarray:
    return starting_point(kinds) + rng.normal(size=19 + kinds)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_likelihood_is_that_of_plain_python(seed: int, kinds: bool) -> None:
    data = data_of(20, seed, shown=12, kinds=kinds)
    model = model_of(random_parameters(np.random.default_rng(seed), len(data.kinds)))
    shift = dict(enumerate(model.coefficients[6:].tolist()))
    expected = slow_likelihood(data, replace(model, coefficients=model.coefficients[:6]), shift)
    assert likelihood(data, model).value == pytest.approx(expected, rel=1e-6)


def test_nobody_careless_or_strict_and_fresh_decisions_are_the_simple_model() -> None:
    """Without the three parts, log L = Σ log Σ_q̄ P(q̄ | x) Π ℓ with a that does not depend on earlier lists."""
    data = data_of(60, 11)
    simple = replace(TRUTH, careless=0.0, strict=0.0, kept=0.0)
    found = likelihood(data, simple)
    assert found.value == pytest.approx(slow_likelihood(data, simple, {}), rel=1e-6)
    assert likelihood(data, simple, np.full(len(data.items.values), -1.0)).value == found.value
    nearly = likelihood(data, replace(simple, careless=1e-9)).value
    assert nearly == pytest.approx(found.value, abs=1e-4)
    assert likelihood(data, replace(simple, kept=1e-9)).value == pytest.approx(found.value, abs=1e-4)
    assert likelihood(data, replace(simple, strict=1e-9)).value == pytest.approx(found.value, abs=1e-4)
    assert found.gradient[-2:].tolist() == [0, 0]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_derivatives_are_those_of_finite_differences(seed: int) -> None:
    data = data_of(60, seed, kinds=True)
    parameters = random_parameters(np.random.default_rng(seed), 2)
    unread = log_unread(data, reading_of(parameters))
    point, h = evaluate(data, parameters, unread), 1e-5
    for i in range(len(parameters)):
        step = h * np.eye(len(parameters))[i]
        above, below = (evaluate(data, parameters + sign * step, unread) for sign in (1, -1))
        assert point.gradient[i] == pytest.approx((above.value - below.value) / (2 * h), rel=1e-4, abs=1e-4)
        curvature = (above.gradient - below.gradient) / (2 * h)
        assert point.hessian[i] == pytest.approx(curvature, rel=1e-3, abs=1e-3)


def test_scores_of_sessions_sum_to_the_gradient_and_give_the_outer_product() -> None:
    whole = likelihood(data_of(40, 3), PRIOR)
    drawn = PEOPLE.draw(40, 3)
    single = [
        likelihood(
            assemble(drawn.of_sessions(np.arange(drawn.sessions) == s), UNIVERSE, SEARCHES), PRIOR
        ).gradient
        for s in range(drawn.sessions)
    ]
    assert whole.gradient == pytest.approx(np.sum(single, axis=0), abs=1e-6)
    assert whole.outer == pytest.approx(sum(np.outer(s, s) for s in single), abs=1e-5)


def test_one_decision_is_odds_times_the_probability_of_not_having_read() -> None:
    """r a U / (1 − a (1 − U)): who decides once, given that the suggestion was not taken yet."""
    r, a, u = 0.7, 0.4, (1 - 0.7) * (1 - 0.5)
    odds = a / (1 - a) * u
    assert r * odds / (1 + odds) == pytest.approx(r * a * u / (1 - a * (1 - u)))


def test_parameters_are_recovered() -> None:
    found = fit(data_of(30_000, 5))
    assert found.converged
    for estimate, value in zip(found.estimates(), values_of(TRUTH), strict=True):
        deviation = max(estimate.half_width / 1.96, 1e-9)
        assert abs(estimate.value - value) < 4 * deviation, estimate
        assert estimate.low < estimate.value < estimate.high
    model = found.model
    model.check("the fit")
    assert model.reading[0] == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("careless", [0.0, 0.15])
def test_careless_people_are_told_from_a_higher_constant(careless: float) -> None:
    people = Drawing(UNIVERSE, SEARCHES, replace(TRUTH, careless=careless))
    found = fit(assemble(people.draw(30_000, 6), UNIVERSE, SEARCHES)).model
    assert found.careless == pytest.approx(careless, abs=0.01)
    assert found.coefficients[0] == pytest.approx(TRUTH.coefficients[0], abs=0.4)


@pytest.mark.parametrize("once", [False, True])
def test_people_who_decide_once_are_told_from_those_who_decide_anew(once: bool) -> None:
    people = Drawing(UNIVERSE, SEARCHES, replace(TRUTH, coefficients=EAGER, kept=0.0))
    popular = np.array([np.r_[low:high, 0:5][:5] for low, high in people.span.tolist()])
    drawn = people.draw(100_000, 7, 5, popular, once=once)
    found = fit(assemble(drawn, UNIVERSE, SEARCHES))
    (kept,) = (estimate for estimate in found.estimates() if estimate.name == "kept")
    assert kept.value == pytest.approx(float(once), abs=0.15)
    assert kept.half_width < 0.15
    assert found.model.reading[0] == pytest.approx(0.8, abs=0.03)


def test_without_events_the_prior_stays_with_its_own_width() -> None:
    drawn = PEOPLE.draw(10, 1)
    nothing = assemble(drawn.of_sessions(np.zeros(drawn.sessions, np.bool_)), UNIVERSE, SEARCHES)
    found = fit(nothing)
    assert found.model.coefficients == pytest.approx(PRIOR.coefficients)
    assert found.model.reading == pytest.approx(PRIOR.reading)
    assert [found.model.careless, found.model.kept] == pytest.approx([PRIOR.careless, PRIOR.kept])
    first = found.estimates()[0]
    assert first.high - first.value == pytest.approx(1.96 * 2.0, abs=0.01)
    assert first.worth == math.inf
    assert first.learned == pytest.approx(0)


def test_few_events_move_the_parameters_little_and_many_decide() -> None:
    few, many = fit(data_of(10, 2)), fit(data_of(20_000, 2))
    constant = [estimate.value for estimate in (few.estimates()[1], many.estimates()[1])]
    assert abs(constant[0] - PRIOR.coefficients[1]) < 1.0
    assert constant[1] == pytest.approx(TRUTH.coefficients[1], abs=0.25)


def test_a_context_that_shifts_the_constant_is_found() -> None:
    drawn = PEOPLE.draw(20_000, 8)
    easy = Acceptance(TRUTH.coefficients + np.array([1.5, 0, 0, 0, 0, 0]), TRUTH.reading)
    other = Drawing(UNIVERSE, SEARCHES, easy).draw(20_000, 9)
    found = [
        fit(assemble(replace(one, value=pa.array([name] * one.sessions)), UNIVERSE, SEARCHES))
        for one, name in ((drawn, "desktop"), (other, "phone"))
    ]
    shifts = [one.estimates()[6] for one in found]
    assert [shift.name for shift in shifts] == ["constant, desktop", "constant, phone"]
    totals = [one.estimates()[0].value + shift.value for one, shift in zip(found, shifts, strict=True)]
    assert totals[1] - totals[0] == pytest.approx(1.5, abs=0.6)


def test_the_prior_has_the_parameters_of_the_prior() -> None:
    assert reading_of(parameters_of(TRUTH)) == pytest.approx(TRUTH.reading)
    assert (np.diff(reading_of(np.random.default_rng(0).normal(size=18))) < 0).all()


def test_a_forecast_is_the_probability_of_each_outcome_of_the_last_list() -> None:
    drawn = PEOPLE.draw(30, 4)
    data = assemble(drawn, UNIVERSE, SEARCHES, forecast=True)
    result = forecast(data, TRUTH)
    for session in range(5):
        first, last = data.lists[session], data.lists[session + 1] - 1
        outcomes = []
        for outcome in (0, 1, 4):
            taken = np.zeros(len(data.taken), np.int64)
            taken[last] = outcome
            one = replace(data, taken=taken)
            outcomes.append(likelihood(one, TRUTH).by_session[session])
        before = replace(
            data,
            items=type(data.items).from_lengths(
                data.items.values[: data.items.offsets[last]],
                np.where(np.arange(len(data)) < last, data.items.lengths, 0),
            ),
            taken=np.zeros(len(data.taken), np.int64),
        )
        earlier = likelihood(before, TRUTH).by_session[session]
        probability = np.exp(np.array(outcomes) - earlier)
        at = result[data.items.span(last)]
        assert [at[0], at[3]] == pytest.approx(probability[1:], rel=1e-5)
        assert 1 - at.sum() == pytest.approx(probability[0], rel=1e-5)
        assert first <= last


@pytest.mark.slow
def test_intervals_cover() -> None:
    true = np.array(values_of(TRUTH))
    covered = np.zeros(len(true))
    repeats = 60
    for seed in range(repeats):
        estimates = fit(data_of(20_000, 1000 + seed)).estimates()
        covered += [e.low <= value <= e.high for e, value in zip(estimates, true, strict=True)]
    assert (covered / repeats).mean() == pytest.approx(0.95, abs=0.03)
    assert (covered / repeats).min() > 0.8  # of 18 parameters, in 60 repeats
