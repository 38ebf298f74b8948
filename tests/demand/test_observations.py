"""Observations: what the rankings return and what was clicked, once each."""

import numpy as np
from hypothesis import given, settings
from scipy.sparse import csr_array
from small_graphs import Small, clicked, smalls

from wayword.demand.observations import Observations

RETURNED = csr_array([[0.0, 0.5, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def rows(pairs: Observations) -> dict[tuple[int, int], float]:
    return {
        (q, a): p
        for q, a, p in zip(
            pairs.query.tolist(), pairs.document.tolist(), pairs.propensity.tolist(), strict=True
        )
    }


def test_what_was_clicked_counts_as_it_was_shown_and_need_not_be_returned() -> None:
    """Document 1 of query 0 was shown at p = 2/8; query 2 returns nothing, and was clicked all the same."""
    clicks = clicked((0, 1, 2.0, 8.0), (2, 0, 1.0, 10.0))
    pairs = Observations.of(RETURNED, clicks)
    assert rows(pairs) == {(0, 1): 0.25, (0, 2): 0.25, (1, 0): 1.0, (2, 0): 0.1}
    assert pairs.starts.tolist() == [0, 2, 3, 4]
    assert (len(pairs), pairs.queries, pairs.documents) == (4, 3, 3)
    assert pairs.clicks(clicks).tolist() == [2.0, 0.0, 0.0, 1.0]


def test_what_the_rankings_say_now_is_kept_beside_what_was() -> None:
    """But where both are the same, rounding apart, nothing has changed."""
    third = csr_array([[1 / 3, 0.5]])
    assert Observations.of(third, clicked((0, 0, 3.0, 9.000000000000002))).changed_propensity is None
    moved = Observations.of(third, clicked((0, 0, 1.0, 1.0)))
    assert (moved.propensity.tolist(), moved.current_propensity.tolist()) == ([1.0, 0.5], [1 / 3, 0.5])
    gone = Observations.of(RETURNED, clicked((2, 0, 1.0, 10.0)))
    assert gone.current_propensity.tolist() == [0.5, 0.25, 1.0, 0.0]


def test_no_click_and_nothing_returned_are_no_trouble() -> None:
    assert rows(Observations.of(RETURNED, clicked())) == {(0, 1): 0.5, (0, 2): 0.25, (1, 0): 1.0}
    nothing = Observations.of(csr_array((2, 3)), clicked())
    assert (len(nothing), nothing.starts.tolist(), nothing.clicks(clicked()).tolist()) == (0, [0, 0, 0], [])


@settings(max_examples=50, deadline=None)
@given(smalls())
def test_sums_are_those_of_rows_and_columns(small: Small) -> None:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    assert pairs.sum_by_query(clicks).tolist() == small.clicks.sum(axis=1).tolist()
    assert pairs.sum_by_document(clicks).tolist() == small.clicks.sum(axis=0).tolist()
    assert np.array_equal(pairs.propensity, small.p[small.p > 0])
