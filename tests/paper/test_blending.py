"""Reciprocal-rank fusion against a slow loop, and with the weights 0 and 1."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidate_lists import Lists, as_candidates, lists_of
from wayword.completion.candidates import Candidates
from wayword.errors import WaywordError
from wayword.paper.blending import blend

sizes = st.integers(0, 12)


def as_lists(candidates: Candidates) -> Lists:
    lists: Lists = defaultdict(list)
    for context, query in zip(candidates.context.tolist(), candidates.query.tolist(), strict=True):
        lists[context].append(query)
    return dict(lists)


def shortened(lists: Lists, k: int) -> Lists:
    return {context: queries[:k] for context, queries in lists.items() if queries[:k]}


def slow_blend(one: Lists, other: Lists, weight: float, k: int) -> Lists:
    blended: Lists = {}
    for context in {*one, *other}:
        score: dict[int, float] = defaultdict(float)
        for lists, share in ((one, 1 - weight), (other, weight)):
            for position, query in enumerate(lists.get(context, [])):
                score[query] += share / (position + 1)
        stored = {query: np.float32(value) for query, value in score.items() if value > 0}
        blended[context] = sorted(stored, key=lambda query: (-stored[query], query))
    return shortened(blended, k)


@given(lists_of, lists_of, st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), sizes)
def test_a_blend_is_that_of_a_slow_loop(one: Lists, other: Lists, weight: float, k: int) -> None:
    blended = blend(as_candidates(one), as_candidates(other), weight, k)
    assert as_lists(blended) == slow_blend(one, other, weight, k)
    again = Candidates.sorted(blended.context, blended.query, blended.score)
    assert np.array_equal(again.query, blended.query)  # in the order that every list of candidates keeps
    kinds = [column.dtype.name for column in (blended.context, blended.query, blended.score)]
    assert kinds == ["int32", "int32", "float32"]


@given(lists_of, lists_of, sizes)
def test_the_ends_are_the_lists_themselves(one: Lists, other: Lists, k: int) -> None:
    both = as_candidates(one), as_candidates(other)
    assert as_lists(blend(*both, 0.0, k)) == shortened(one, k)
    assert as_lists(blend(*both, 1.0, k)) == shortened(other, k)


@given(lists_of, lists_of, st.floats(0, 1), sizes)
def test_the_order_of_the_lists_is_the_weight(one: Lists, other: Lists, weight: float, k: int) -> None:
    first, second = as_candidates(one), as_candidates(other)
    mirrored = 1 - (1 - weight)  # as it comes out of the subtraction
    assert as_lists(blend(first, second, 1 - weight, k)) == as_lists(blend(second, first, mirrored, k))


def test_long_lists_keep_their_order() -> None:
    """Scores are float32, in which 1/n and 1/(n + 1) are still two numbers at any length that a list may have."""
    long = {0: np.random.default_rng(0).permutation(3000).tolist()}
    assert as_lists(blend(as_candidates(long), as_candidates({}), 0.0, 3000)) == long


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_a_weight_outside_is_refused(weight: float) -> None:
    with pytest.raises(WaywordError, match="between 0 and 1"):
        blend(as_candidates({}), as_candidates({}), weight, 1)
