"""Diagnostics: the fitted tail is that of the law, and what depends on few searches is said to."""

import numpy as np
import pytest
from scipy.stats import genpareto

from wayword.bootstrap import widened
from wayword.config import EvaluationConfig
from wayword.evaluation.diagnostics import (
    FEWEST,
    effective_n,
    generalised_pareto_shape,
    largest_weight,
    pareto_k,
)
from wayword.evaluation.estimates import estimate
from wayword.evaluation.outcomes import Outcomes


@pytest.mark.parametrize("shape", [-0.3, 0.0001, 0.3, 0.7, 1.2])
def test_the_fitted_shape_is_that_of_the_law(shape: float) -> None:
    """The error of the best estimate from n excesses is about (1 + k)/√n; 2,000 draws, shrunk by 10 to 0.5."""
    drawn = np.sort(genpareto.rvs(shape, size=2000, random_state=np.random.default_rng(1)))
    assert generalised_pareto_shape(drawn) == pytest.approx(shape, abs=4 * (1 + abs(shape)) / np.sqrt(2000))
    assert generalised_pareto_shape(7 * drawn) == pytest.approx(generalised_pareto_shape(drawn))


def test_the_tail_of_pareto_draws_is_heavy_and_that_of_normal_ones_is_not() -> None:
    rng = np.random.default_rng(0)
    heavy, light = pareto_k(rng.pareto(1.0, 5000)), pareto_k(np.abs(rng.normal(size=5000)))
    assert heavy is not None
    assert light is not None
    assert heavy > 0.7
    assert light < 0.3


def test_few_or_equal_contributions_have_no_tail() -> None:
    assert pareto_k(np.arange(FEWEST * 5 - 1.0)) is None
    assert pareto_k(np.ones(500)) is None
    assert pareto_k(np.zeros(500)) is None
    assert generalised_pareto_shape(np.ones(100)) < 0  # bounded; its grid has a 0


def test_one_search_that_makes_up_the_sum_is_seen() -> None:
    values, own = np.ones((1000, 1)), np.full(1000, 2.0)
    values[0] = 1000.0
    assert effective_n(values)[0] == (999 + 1000) ** 2 / (999 + 1000**2)
    assert largest_weight(values, own)[0] == 1000 / 2


def test_intervals_are_widened_where_few_searches_make_up_the_variance() -> None:
    even, one = np.tile([[1.0], [-1.0]], (500, 1)), np.zeros((1000, 1))
    one[0] = 1.0
    low, high, value = np.array([-1.0]), np.array([2.0]), np.zeros(1)
    assert widened(low, high, value, even, 0.95)[1] == pytest.approx(2.0, rel=0.01)
    student = 4.3027 / 1.95996  # two degrees of freedom
    assert widened(low, high, value, one, 0.95)[0] == pytest.approx(-student, rel=2e-3)


def test_the_clipped_share_is_that_of_the_outcomes() -> None:
    outcome = Outcomes(np.ones(3), {"some": np.ones((3, 1))}, {}, clipped={"some": 0.25})
    assert estimate(outcome, EvaluationConfig(bootstrap=2))[0]["share_clipped"].to_pylist() == [0.25]
