"""Candidates: the order of rows that every retriever and policy guarantees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wayword.completion.candidates import Candidates

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0])),
    unique_by=lambda row: row[:2],
)


def candidates(unordered: list[tuple[int, int, float]]) -> Candidates:
    columns = zip(*unordered, strict=True) if unordered else ((), (), ())
    context, query, score = columns
    return Candidates.sorted(
        np.array(context, np.int32), np.array(query, np.int32), np.array(score, np.float32)
    )


@given(rows)
def test_sorted_is_by_context_then_best_first_then_query(unordered: list[tuple[int, int, float]]) -> None:
    ordered = candidates(unordered)
    expected = sorted(unordered, key=lambda row: (row[0], -row[2], row[1]))
    assert list(zip(ordered.context, ordered.query, ordered.score, strict=True)) == expected


@given(rows, st.integers(0, 4))
def test_top_keeps_the_first_of_every_context(unordered: list[tuple[int, int, float]], k: int) -> None:
    ordered = candidates(unordered)
    expected = [
        row
        for context in range(4)
        for row in sorted((r for r in unordered if r[0] == context), key=lambda r: (-r[2], r[1]))[:k]
    ]
    top = ordered.top(k)
    assert list(zip(top.context, top.query, top.score, strict=True)) == expected
    lengths = [sum(row[0] == context for row in unordered) for context in range(4)]
    assert ordered.position().tolist() == [place for length in lengths for place in range(length)]


def test_ties_go_to_the_more_searched_query_then_to_the_first() -> None:
    context, query = np.zeros(4, np.int32), np.arange(4, dtype=np.int32)
    score, searched = np.array([0.5, 0.5, 0.7, 0.5], np.float32), np.array([1, 8, 0, 8])
    assert Candidates.sorted(context, query, score, popularity=searched).query.tolist() == [2, 1, 3, 0]
    assert Candidates.sorted(context, query, score).query.tolist() == [2, 0, 1, 3]
