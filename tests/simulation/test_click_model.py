import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wayword.simulation.click_model import draw, examination_probabilities


def test_the_law_of_looks_is_one_over_the_rank() -> None:
    inverse, squared = examination_probabilities(4), examination_probabilities(4, alpha=2.0)
    assert inverse[1] / inverse[3] == pytest.approx((1 / 2) / (1 / 4))
    assert squared[1] / squared[3] == pytest.approx((1 / 4) / (1 / 16))


@given(st.integers(1, 500), st.floats(0, 5))
def test_the_law_of_looks_is_a_falling_probability(depth: int, alpha: float) -> None:
    law = examination_probabilities(depth, alpha=alpha)
    assert law.sum() == pytest.approx(1.0)
    assert np.all(np.diff(law) <= 0)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
def test_looks_are_drawn_by_their_law(alpha: float) -> None:
    law = examination_probabilities(20, alpha=alpha)
    drawn = np.bincount(draw(np.random.default_rng(1), law, 200_000), minlength=20)
    assert stats.chisquare(drawn, law * 200_000).pvalue > 0.001


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(any), st.integers(0, 2**31))
def test_what_has_no_probability_is_never_drawn(law: list[float], seed: int) -> None:
    places = draw(np.random.default_rng(seed), np.array(law), 100)
    assert all(law[place] > 0 for place in places)
