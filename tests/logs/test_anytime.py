"""Anytime-valid intervals: the formula, and how often they are wrong for somebody who looks every day."""

import importlib.util
import sys
from math import log, sqrt
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from wayword.logs.ubi.anytime import FEWEST, TUNED_FOR, difference, linearised, multiplier


def by_hand(users: int, level: float) -> float:
    """The boundary of Waudby-Smith et al. with ρ as it says, in standard errors."""
    alpha = 1 - level
    rho = sqrt((-2 * log(alpha) + log(-2 * log(alpha)) + 1) / TUNED_FOR)
    inside = 2 * (users * rho**2 + 1) / (users**2 * rho**2) * log(sqrt(users * rho**2 + 1) / alpha)
    return sqrt(inside) * sqrt(users)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("users", [10, 500, TUNED_FOR, 10**6])
def test_the_multiplier_is_that_of_the_paper(users: int, level: float) -> None:
    assert multiplier(users, level) == pytest.approx(by_hand(users, level))


def test_it_is_narrowest_about_where_it_is_tuned_for() -> None:
    here = multiplier(TUNED_FOR, 0.95)
    assert here < min(multiplier(TUNED_FOR // 20, 0.95), multiplier(20 * TUNED_FOR, 0.95))
    assert here > 1.96


def test_users_who_saw_both_arms_cancel() -> None:
    rng = np.random.default_rng(0)
    top, bottom = rng.poisson(2.0, 100).astype(float), np.full(100, 3.0)
    assert difference((top, bottom), (top, bottom), 0.95) == (0.0, 0.0)
    nobody = np.zeros(100)
    apart = difference(
        (np.r_[top, nobody], np.r_[bottom, nobody]), (np.r_[nobody, top], np.r_[nobody, bottom]), 0.95
    )
    assert apart is not None
    error = sqrt(2 * (linearised(top, bottom) ** 2).sum() * 200 / 199)
    assert apart == pytest.approx((-multiplier(200, 0.95) * error, multiplier(200, 0.95) * error))


def test_too_few_users_give_no_interval() -> None:
    one, many = np.zeros(50), np.arange(50.0)
    one[0] = 1.0
    bottom = np.ones(50)
    assert difference((one, bottom), (many, bottom), 0.95) is None
    assert difference((many[:FEWEST], bottom[:FEWEST]), (many[:FEWEST], bottom[:FEWEST]), 0.95) is None
    assert difference((one, np.zeros(50)), (many, bottom), 0.95) is None
    assert difference((many, bottom), (many, bottom), 0.95) is not None


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    """The benchmark `coverage.py`; a package of tests has the same name."""
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_benchmark"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_a_tests_looked_at_daily_are_false_alarms_at_most_as_often_as_said(coverage: ModuleType) -> None:
    """200 tests of 1,000 users in 40 days: a share of 5 % would be exceeded by 10 % with a chance of 0.2 %."""
    for measure, rates in coverage.false_alarms(200, 1000, 40, 0).items():
        assert rates["anytime"] <= 0.05, measure
        assert rates["fixed"] > 0.2, measure  # what looking daily does to a usual interval
