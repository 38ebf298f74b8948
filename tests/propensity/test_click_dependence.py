"""Cascades are recognised; one click per search, trust bias and eager people are no cascades."""

import numpy as np
import pytest
from made_impressions import LAWS

from wayword.propensity.click_dependence import Dependence, Effect, dependence
from wayword.propensity.estimate import Options, estimate
from wayword.simulation.result_pages import Clicks, draw


def measured(clicks: Clicks, searches: int, seed: int = 0) -> Dependence:
    pages = draw(np.random.default_rng([seed, 5]), LAWS["alpha 1"], searches=searches, clicks=clicks)
    data = pages.impressions()
    found = estimate(data, Options())
    return dependence(data, np.setdiff1d(found.ranks, found.by_law), found.p)


@pytest.mark.parametrize(
    ("clicks", "sentence"),
    [
        ("positions", "nothing speaks for cascade-like clicking"),
        ("trust", "nothing speaks for cascade-like clicking"),
        (
            "cascade",
            "Clicking is cascade-like: after a click above, hardly any result is clicked, and less is clicked",
        ),
        ("one look", "people stop at a click, p is right"),
    ],
)
def test_it_says_what_people_do(clicks: Clicks, sentence: str) -> None:
    assert sentence in measured(clicks, 120_000 if clicks == "one look" else 30_000).sentence


def test_a_small_log_of_single_clicks_cannot_tell() -> None:
    assert "too small to tell" in measured("one look", 5000).sentence


def test_people_who_click_more_than_others_are_no_cascade() -> None:
    eager = Dependence(Effect(0.4, 0.1), Effect(-0.9, 0.1))
    assert not eager.cascade
    assert "some people click more than others" in eager.sentence


@pytest.mark.slow
@pytest.mark.parametrize("clicks", ["positions", "one look"])
def test_without_a_cascade_the_effect_of_expected_clicks_is_0(clicks: Clicks) -> None:
    """Its 40 estimates in units of their standard errors: mean 0 and spread 1, within 4 standard errors."""
    found = [measured(clicks, 20_000, seed).expected_above for seed in range(40)]
    units = np.array([one.value / one.error for one in found])
    assert abs(units.mean()) < 4 / np.sqrt(40)
    assert units.std() == pytest.approx(1, abs=4 / np.sqrt(80))
