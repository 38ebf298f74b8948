"""Recall against sets of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings

from candidate_lists import Lists, as_candidates, lists_of
from wayword.evaluation.recall import recall


def pairs(lists: Lists) -> set[tuple[int, int]]:
    return {(context, query) for context, listed in lists.items() for query in listed}


@settings(max_examples=100, deadline=None)
@given(lists_of, lists_of, lists_of)
def test_recall_is_the_share_that_any_source_proposes(wanted: Lists, one: Lists, other: Lists) -> None:
    best = as_candidates(wanted)
    sources = [as_candidates(one), as_candidates(other)]
    if not pairs(wanted):
        assert np.isnan(recall(best, *sources))
        return
    for chosen, proposed in (
        (sources[:1], pairs(one)),
        (sources, pairs(one) | pairs(other)),
        ([], set[tuple[int, int]]()),
        ([*sources, best], pairs(wanted)),
    ):
        share = len(pairs(wanted) & proposed) / len(pairs(wanted))
        assert recall(best, *chosen) == pytest.approx(share)
