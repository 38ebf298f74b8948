"""What several retrievers propose together."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.completion.candidates import Candidates
from wayword.completion.hybrid import HybridRetriever, recall, union
from wayword.logs.contexts import from_prefixes

Lists = list[list[int]]
lists_of_one = st.lists(st.lists(st.integers(0, 6), unique=True, max_size=5), min_size=3, max_size=3)


def proposed(lists: Lists, source: str) -> Candidates:
    rows = [(x, q, -place) for x, listed in enumerate(lists) for place, q in enumerate(listed)]
    return Candidates(
        np.array([x for x, _, _ in rows], np.int32),
        np.array([q for _, q, _ in rows], np.int32),
        np.array([s for _, _, s in rows], np.float32),
    ).of(source)


@settings(max_examples=100, deadline=None)
@given(lists_of_one, lists_of_one)
def test_every_query_once_with_its_best_place_and_its_first_source(one: Lists, other: Lists) -> None:
    both = union([proposed(one, "graph"), proposed(other, "popular")])
    for x in range(3):
        score = {
            q: max(1 / (of[x].index(q) + 1) for of in (one, other) if q in of[x])
            for q in {*one[x], *other[x]}
        }
        at = both.context == x
        assert both.query[at].tolist() == sorted(score, key=lambda q: (-score[q], q))
        assert both.score[at].tolist() == pytest.approx([score[q] for q in both.query[at].tolist()])
        sources = [s for s, here in zip(both.sources(), at, strict=True) if here]
        assert sources == ["graph" if q in one[x] else "popular" for q in both.query[at].tolist()]


@settings(max_examples=100, deadline=None)
@given(lists_of_one, lists_of_one)
def test_recall_is_the_share_that_was_found(found: Lists, wanted: Lists) -> None:
    value = recall(proposed(found, "graph"), proposed(wanted, "pecos"))
    pairs = {(x, q) for x, listed in enumerate(wanted) for q in listed}
    hits = {(x, q) for x, listed in enumerate(found) for q in listed} & pairs
    if pairs:
        assert value == pytest.approx(len(hits) / len(pairs))
        assert (
            recall(union([proposed(found, "graph"), proposed(wanted, "pecos")]), proposed(wanted, "pecos"))
            == 1.0
        )
    else:
        assert np.isnan(value)


@dataclass(frozen=True)
class Fixed:
    listed: list[int]
    source: str

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        return proposed([self.listed[:k]] * contexts.num_rows, self.source)


def test_each_member_proposes_at_most_k() -> None:
    retriever = HybridRetriever((Fixed([4, 2, 1], "graph"), Fixed([2, 9], "popular")))
    found = retriever.retrieve(from_prefixes(["a", "b"]), 2)
    assert found.query.tolist() == [2, 4, 9] * 2
    assert found.sources() == ["graph", "graph", "popular"] * 2
    assert found.context.tolist() == [0, 0, 0, 1, 1, 1]
    assert union([]).query.tolist() == []
