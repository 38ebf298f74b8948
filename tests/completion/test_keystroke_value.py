"""The choice of the keystroke value: the smallest with which people type no more than with most popular completion."""

from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest

from shop import QUERIES, Shop
from wayword.completion import keystroke_value, stage
from wayword.completion.candidates import Candidates
from wayword.completion.keystroke_value import VALUES, choose
from wayword.completion.list_policy import ListPolicy


class Lists:
    """A policy that lists each of the shop's queries that a text begins, from a keystroke value on."""

    def __init__(self, model: ListPolicy, listed: bool) -> None:
        self.model, self.listed = model, listed
        self.retriever, self.acceptance, self.queries = model.retriever, model.acceptance, model.queries
        self.have_typed_words, self.accepted = model.have_typed_words, model.accepted

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        rows = [
            (row, query)
            for row, typed in enumerate(contexts["prefix"].to_pylist())
            for query in [n for n, text in enumerate(QUERIES) if text.startswith(typed)][:k]
            if self.listed
        ]
        context, query = (np.array([pair[n] for pair in rows], np.int32) for n in (0, 1))
        return Candidates(context, query, np.ones(len(rows), np.float32))


@pytest.fixture(scope="module")
def model(shop: Shop) -> ListPolicy:
    return stage.load_lists(shop.folders)


@pytest.mark.parametrize("enough", [*VALUES, 100.0])
def test_the_smallest_value_that_is_enough_is_chosen(enough: float, model: ListPolicy) -> None:
    """The list is empty, and all is typed, below a value; with `popular` people type as much as with the full list."""
    queries = np.arange(len(QUERIES), dtype=np.int64)
    chosen, tried = choose(
        lambda value: cast("ListPolicy", Lists(model, value >= enough)), Lists(model, True).complete, queries
    )
    assert chosen == (enough if enough <= VALUES[-1] else VALUES[0])  # nothing is given up in vain
    assert all((ratio <= 1) == (value >= enough) for value, ratio in tried.items())
    assert len(tried) <= 6


def test_the_chosen_value_is_that_of_a_search_through_all(
    model: ListPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keystroke_value, "VALUES", (0.5,))
    queries = np.arange(3, dtype=np.int64)
    assert choose(lambda _: model, model.complete, queries) == (0.5, {0.5: 1.0})


@pytest.mark.parametrize(("more", "expected"), [(keystroke_value.MORE, VALUES[7]), (100.0, VALUES[0])])
def test_people_who_accept_only_their_own_query_hardly_type_more(
    more: float, expected: float, model: ListPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody else takes whatever is shown, so any list saves them typing: the strict ones decide."""
    monkeypatch.setattr(keystroke_value, "MORE", more)
    anything = replace(
        model, acceptance=replace(model.acceptance, coefficients=np.array([40.0, 0, 0, 0, 0, 0]))
    )

    class Others(Lists):
        """Lists other queries than those that a text begins."""

        def complete(self, contexts: pa.Table, k: int) -> Candidates:
            found = super().complete(contexts, k)
            return replace(found, query=((found.query + 7) % len(QUERIES)).astype(np.int32))

    def policy_of(value: float) -> ListPolicy:
        return cast("ListPolicy", (Lists if value >= VALUES[7] else Others)(anything, True))

    queries = np.arange(len(QUERIES), dtype=np.int64)
    chosen, tried = choose(policy_of, Lists(anything, True).complete, queries)
    assert chosen == expected
    assert all(ratio <= 1 for ratio in tried.values())


def test_values_ascend() -> None:
    assert list(VALUES) == sorted(VALUES)
    assert VALUES[0] == 1
