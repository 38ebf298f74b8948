"""MRR, Success and keystrokes saved against a slow loop over searches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidate_lists import Lists, as_candidates, lists_of
from wayword.evaluation.conventional import (
    CUTOFFS,
    conventional_metrics,
    positions_of,
    reciprocal_rank,
    remaining,
    saved,
    share_saved,
    success,
)
from wayword.text import cuts, normalise

searches = st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 20), st.integers(0, 9)), min_size=1)
cutoffs = st.integers(1, 12)


def positions(lists: Lists, found: list[tuple[int, int, int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    columns = np.array(found, np.int64)
    return positions_of(as_candidates(lists), columns[:, 0], columns[:, 1])


@given(lists_of, searches)
def test_positions_are_those_of_a_look_into_the_list(lists: Lists, found: list[tuple[int, int, int]]) -> None:
    expected = [
        lists[context].index(query) if query in lists.get(context, []) else -1 for context, query, _ in found
    ]
    assert positions(lists, found).tolist() == expected


@given(lists_of, searches, cutoffs)
def test_every_measure_is_that_of_a_slow_loop(
    lists: Lists, found: list[tuple[int, int, int]], k: int
) -> None:
    reciprocal, hits, fewer, typed = 0.0, 0, 0, 0
    for context, query, left in found:
        shown = lists.get(context, [])[:k]
        typed += left
        if query in shown:
            reciprocal += 1 / (shown.index(query) + 1)
            hits += 1
            fewer += max(left - 1, 0)
    position, left_to_type = positions(lists, found), np.array([left for _, _, left in found])
    assert reciprocal_rank(position, k).sum() == pytest.approx(reciprocal)
    assert success(position, k).sum() == hits
    assert saved(position, left_to_type, k).sum() == fewer
    assert share_saved(position, left_to_type, k) == pytest.approx(fewer / typed if typed else 0.0)


@given(lists_of, searches)
def test_a_longer_list_never_serves_worse(lists: Lists, found: list[tuple[int, int, int]]) -> None:
    values = conventional_metrics(positions(lists, found), np.array([left for _, _, left in found]))
    for metric in ("mrr", "success", "saved"):
        by_k = [values[metric, k] for k in CUTOFFS]
        assert by_k == sorted(by_k)
        assert 0 <= by_k[0] <= by_k[-1] <= 1
    assert values["mrr", 1] == values["success", 1]


def test_without_any_list_nothing_is_found() -> None:
    assert positions({}, [(0, 3, 4)]).tolist() == [-1]
    nobody = np.zeros(0, np.int64)
    assert positions_of(as_candidates({0: [1]}), nobody, nobody).tolist() == []


@given(st.text(max_size=12).map(normalise))
def test_what_remains_after_a_cut_and_what_was_typed_is_the_whole_query(query: str) -> None:
    admissible = cuts(query)
    left = remaining([query] * len(admissible), admissible)
    assert np.all(left + remaining(admissible, [""] * len(admissible)) == remaining([query], [""]))
    assert np.all(left >= 1)
    assert np.all(np.diff(left) < 0)


def test_a_pick_costs_one_keystroke() -> None:
    """Two people: one of "lamp" types "la" and picks in place of two keys; one of "ladder" types all six."""
    left = remaining(["lamp", "ladder"], ["la", "l"])
    assert share_saved(np.array([2, -1]), left, k=5) == (2 - 1) / (2 + 5)
