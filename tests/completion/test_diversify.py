"""Diversified lists against all subsets, and near-duplicates."""

from itertools import combinations
from math import e

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import reference
from reference import Rankings
from wayword.completion.candidates import Candidates
from wayword.completion.diversify import diversify, near_duplicates
from wayword.errors import WaywordError

ZIPF = reference.power_law(1.0)
QUERIES, DOCUMENTS = 7, 5


@st.composite
def result_lists(draw: st.DrawFn) -> dict[int, dict[int, int]]:
    """As those of `logbook`, of more queries: each with documents at ranks of their own."""
    ranks = st.permutations(range(1, DOCUMENTS + 3))
    shown = st.lists(st.integers(0, DOCUMENTS - 1), unique=True)
    return {q: dict(zip(draw(shown), draw(ranks), strict=False)) for q in range(QUERIES)}


demands = st.lists(
    st.lists(st.sampled_from([0.0, 0.0, 0.3, 1.0, 7.0]), min_size=DOCUMENTS, max_size=DOCUMENTS),
    min_size=1,
    max_size=4,
)
orders = st.permutations(range(QUERIES)).flatmap(lambda q: st.integers(0, QUERIES).map(lambda n: q[:n]))
groupings = st.lists(st.integers(0, 3), min_size=QUERIES, max_size=QUERIES)


def given_in(orders: list[list[int]]) -> Candidates:
    rows = [(context, query) for context, listed in enumerate(orders) for query in listed]
    context, query = np.array(rows, np.int32).reshape(-1, 2).T
    return Candidates(context, query, np.zeros(len(rows), np.float32))


def exposures_of(rankings: Rankings) -> csr_array:
    rows = [reference.exposure(q, rankings, ZIPF) for q in range(QUERIES)]
    return csr_array(np.array([[row.get(a, 0.0) for a in range(DOCUMENTS)] for row in rows]))


def matrix(rows: list[list[float]]) -> csr_array:
    return csr_array(np.array(rows))


def groups_of(values: list[int]) -> NDArray[np.int32]:
    return np.array(values, np.int32)


@settings(max_examples=200, deadline=None)
@given(
    rankings=result_lists(),
    demand=demands,
    orders=st.lists(orders, min_size=4, max_size=4),
    k=st.integers(1, QUERIES),
    groups=st.none() | groupings,
)
def test_a_list_is_that_of_the_slow_greedy_choice(
    rankings: Rankings, demand: list[list[float]], orders: list[list[int]], k: int, groups: list[int] | None
) -> None:
    orders = orders[: len(demand)]
    same = None if groups is None else groups_of(groups)
    chosen = diversify(given_in(orders), matrix(demand), exposures_of(rankings), k, same=same)
    for context, order in enumerate(orders):
        wanted = dict(enumerate(demand[context]))
        mine = chosen.context == context
        expected = reference.greedy_list(order, wanted, rankings, ZIPF, k, groups)
        assert chosen.query[mine].tolist() == [query for query, _ in expected]
        assert chosen.score[mine].tolist() == pytest.approx([gain for _, gain in expected], abs=2e-6)


@settings(max_examples=200, deadline=None)
@given(rankings=result_lists(), demand=demands, order=orders, k=st.integers(1, QUERIES))
def test_the_choice_keeps_its_guarantee(
    rankings: Rankings, demand: list[list[float]], order: list[int], k: int
) -> None:
    """At least 1 − 1/e of the best of all subsets; gains do not increase and add up to the utility of the list."""
    wanted = dict(enumerate(demand[0]))

    def value(listed: list[int]) -> float:
        return reference.utility_of_list(listed, wanted, rankings, ZIPF)

    chosen = diversify(given_in([order]), matrix(demand[:1]), exposures_of(rankings), k)
    best = max(value(list(some)) for some in combinations(order, min(k, len(order))))
    assert value(chosen.query.tolist()) >= (1 - 1 / e) * best * (1 - 1e-6)
    assert np.all(np.diff(chosen.score) <= 0)
    assert chosen.score.sum() == pytest.approx(value(chosen.query.tolist()), rel=1e-5)
    assert len(chosen.query) == min(k, len(order))
    assert len(set(chosen.query.tolist())) == len(chosen.query)


def test_what_adds_nothing_only_fills_the_list_in_the_order_given() -> None:
    exposures = matrix([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 0.1]])
    chosen = diversify(given_in([[0, 1, 2, 3]]), matrix([[1.0, 1.0]]), exposures, 4)
    assert chosen.query.tolist() == [2, 3, 0, 1]
    assert chosen.score.tolist() == pytest.approx([1.0, 0.1, 0.0, 0.0])
    assert diversify(given_in([[0, 1, 2, 3]]), matrix([[1.0, 1.0]]), exposures, 2).query.tolist() == [2, 3]


def test_of_a_group_the_best_is_shown_also_among_those_that_fill() -> None:
    exposures = matrix([[0.5, 0.0], [1.0, 0.0], [0.0, 0.1], [0.0, 0.0], [0.0, 0.0]])
    same = groups_of([0, 0, 1, 2, 2])
    chosen = diversify(given_in([[0, 1, 2, 4, 3]]), matrix([[1.0, 1.0]]), exposures, 5, same=same)
    assert chosen.query.tolist() == [1, 2, 4]


def test_equal_gains_go_to_the_candidate_given_first_also_where_rounding_differs() -> None:
    demand, exposures = matrix([[1.0, 1.0, 1.0]]), matrix([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1
    for order in ([0, 1], [1, 0]):
        assert diversify(given_in([order]), demand, exposures, 1).query.tolist() == order[:1]


def test_contexts_without_candidates_or_demand_and_lists_of_none() -> None:
    exposures = matrix([[1.0], [0.5]])
    demand = matrix([[1.0], [0.0], [2.0]])
    chosen = diversify(given_in([[], [1, 0], [1, 0]]), demand, exposures, 2)
    assert chosen.context.tolist() == [1, 1, 2, 2]
    assert chosen.query.tolist() == [1, 0, 0, 1]
    assert chosen.score.tolist() == [0.0, 0.0, 2.0, 0.0]
    assert len(diversify(given_in([]), demand, exposures, 2).query) == 0
    assert len(diversify(given_in([[0]]), demand, exposures, 0).query) == 0


def test_demand_may_be_stored_in_any_order() -> None:
    parts = (np.array([5.0, 1.0, 1.0]), np.array([1, 0, 1], np.int32), np.array([0, 3], np.int32))
    scattered = csr_array(parts, shape=(1, 2))
    exposures = matrix([[1.0, 0.0], [0.0, 0.5]])
    chosen = diversify(given_in([[0, 1]]), scattered, exposures, 2)
    assert (chosen.query.tolist(), chosen.score.tolist()) == ([1, 0], [3.0, 1.0])
    assert scattered.nnz == 3  # what was given is as it was


@pytest.mark.parametrize(
    ("orders", "documents", "groups", "said"),
    [
        ([[2]], 2, None, "queries from 2 to 2; there are 2"),
        ([[], [0]], 2, None, "contexts from 1 to 1; there are 1"),
        ([[0]], 3, None, "documents"),
        ([[0]], 2, [0], "groups"),
    ],
)
def test_mismatched_shapes_and_numbers_are_errors(
    orders: list[list[int]], documents: int, groups: list[int] | None, said: str
) -> None:
    same = None if groups is None else groups_of(groups)
    with pytest.raises(WaywordError, match=said):
        diversify(
            given_in(orders), csr_array(np.ones((1, documents))), csr_array(np.ones((2, 2))), 1, same=same
        )


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("tv stand", "stand tv", True),
        ("tv stand", "tv tv stand", True),
        ("tv stand", "tv stands", True),
        ("box", "boxes", True),
        ("shoe", "shoes", True),
        ("glass", "glas", False),  # no plural ends in ss
        ("gas", "ga", False),  # too short
        ("1990", "1990s", False),
        ("iphone 6", "iphone 6s", False),
        ("tv stand", "tv", False),
        ("", "tv", False),
        ("news", "new", True),  # wrong, and said so
        ("berry", "berries", False),  # the same
    ],
)
def test_near_duplicates(one: str, other: str, alike: bool) -> None:
    first, second = near_duplicates([one, other])
    assert (first == second) == alike


def test_a_plural_is_one_wherever_its_singular_occurs() -> None:
    assert near_duplicates(["boxes red", "red boxe", "red box"]).tolist() == [0, 0, 1]  # "boxe" comes first
    assert near_duplicates(["red glasses", "glass", "glass red"]).tolist() == [0, 1, 0]
    assert near_duplicates([]).tolist() == []


@settings(deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(["tv", "stand", "stands", "boxes", "box", "7"])).map(" ".join))
)
def test_groups_are_numbered_as_they_turn_up_and_do_not_depend_on_the_order_of_words(
    texts: list[str],
) -> None:
    groups = near_duplicates(texts).tolist()
    assert list(dict.fromkeys(groups)) == list(range(len(set(groups))))
    assert near_duplicates([" ".join(reversed(text.split())) for text in texts]).tolist() == groups
    assert near_duplicates([text + " " + text for text in texts]).tolist() == groups
