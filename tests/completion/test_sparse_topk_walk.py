"""The walk over the graph: members, context factors, limits and threads, against loops in plain Python."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import logbook
import reference
from reference import Click, Rankings, Search
from wayword.completion import sparse_topk as graph
from wayword.completion.candidates import Candidates
from wayword.completion.sparse_topk import (
    ContextFactors,
    DemandGraph,
    Scratch,
)
from wayword.store.compressed_rows import WeightedRows

ZIPF = reference.power_law(1.0)
amounts = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 4.0])  # sums of their products are exact
Matrix = list[list[float]]


@st.composite
def matrices(draw: st.DrawFn, rows: int, columns: int) -> Matrix:
    return [[draw(amounts) for _ in range(columns)] for _ in range(rows)]


def stored(matrix: Matrix, columns: int) -> WeightedRows:
    return WeightedRows.from_matrix(csr_array(np.array(matrix, np.float64).reshape(len(matrix), columns)))


def slow(
    members: Matrix,
    rates: Matrix,
    shown: Matrix,
    k: int,
    *,
    factor: Sequence[Sequence[float] | None] | None = None,
    within: Sequence[set[int]] | None = None,
    documents: int = 0,
) -> list[list[tuple[int, float]]]:
    """Compute the k best (query, utility) of each context by brute force."""
    lists = []
    for context, weights in enumerate(members):
        demand = [sum(w * rates[q][a] for q, w in enumerate(weights)) for a in range(len(shown[0]))]
        of_context = factor[context] if factor else None
        if of_context is not None:
            demand = [f * d for f, d in zip(of_context, demand, strict=True)]
        positive = sorted((d for d in demand if d > 0), reverse=True)
        least = positive[documents - 1] if 0 < documents < len(positive) else 0.0
        value = {
            q: sum(d * e for d, e in zip(demand, exposed, strict=True) if d >= least)
            for q, exposed in enumerate(shown)
            if within is None or q in within[context]
        }
        best = sorted((q for q in value if value[q] > 0), key=lambda q: (-value[q], q))[:k]
        lists.append([(q, value[q]) for q in best])
    return lists


def listed(candidates: Candidates, contexts: int) -> list[list[tuple[int, float]]]:
    rows: list[list[tuple[int, float]]] = [[] for _ in range(contexts)]
    for context, query, score in zip(
        candidates.context.tolist(), candidates.query.tolist(), candidates.score.tolist(), strict=True
    ):
        rows[context].append((query, score))
    return rows


@settings(max_examples=200, deadline=None)
@given(data=st.data(), contexts=st.integers(0, 4), queries=st.integers(1, 5), k=st.integers(1, 6))
def test_the_best_are_those_of_brute_force(data: st.DataObject, contexts: int, queries: int, k: int) -> None:
    documents = 4
    members = data.draw(matrices(contexts, queries))
    rates, shown = data.draw(matrices(queries, documents)), data.draw(matrices(queries, documents))
    most = data.draw(st.integers(0, 5))
    factors = data.draw(matrices(2, documents))
    row = data.draw(st.lists(st.integers(-1, 1), min_size=contexts, max_size=contexts))
    with_factors = data.draw(st.booleans())
    within = data.draw(
        st.none() | st.lists(st.sets(st.integers(0, queries - 1)), min_size=contexts, max_size=contexts)
    )
    whole = DemandGraph(
        stored(rates, documents), WeightedRows.from_matrix(csr_array(np.array(shown).T)), queries
    )
    allowed = (
        None if within is None else stored([[float(q in w) for q in range(queries)] for w in within], queries)
    )
    candidates = whole.best(
        stored(members, queries),
        k,
        factors=ContextFactors(np.array(factors, np.float32), np.array(row, np.int32))
        if with_factors
        else None,
        within=allowed,
        documents=most,
    )
    factor = [None if n < 0 else factors[n] for n in row] if with_factors else None
    assert listed(candidates, contexts) == slow(
        members, rates, shown, k, factor=factor, within=within, documents=most
    )


def test_what_is_shown_with_no_chance_is_no_utility_and_takes_no_room() -> None:
    """Stored zeros, for more documents than there are queries."""
    shown = csr_array((np.zeros(12), (np.tile(np.arange(6), 2), np.repeat(np.arange(2), 6))), shape=(6, 2))
    rates = csr_array(np.ones((2, 6)))
    candidates = DemandGraph(WeightedRows.from_matrix(rates), WeightedRows.from_matrix(shown), 2).best(
        WeightedRows.single(np.array([0], np.int32), np.ones(1, np.float32)), 3
    )
    assert candidates.query.tolist() == []


def _large() -> tuple[DemandGraph, WeightedRows]:
    rng = np.random.default_rng(0)
    queries, documents, contexts = 60, 80, 900
    rates = csr_array(rng.poisson(0.1, (queries, documents)) * rng.random((queries, documents)))
    shown = csr_array(rng.poisson(0.2, (documents, queries)) * rng.random((documents, queries)))
    members = csr_array(rng.poisson(0.05, (contexts, queries)) * rng.random((contexts, queries)))
    return DemandGraph(
        WeightedRows.from_matrix(rates), WeightedRows.from_matrix(shown), queries
    ), WeightedRows.from_matrix(members)


def _same(one: Candidates, other: Candidates) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("context", "query", "score")
    )


def test_threads_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, members = _large()
    alone = whole.best(members, 5, documents=7)
    assert len(alone.query) > 1000
    assert _same(alone, whole.best(members, 5, documents=7, threads=2))
    monkeypatch.setattr(graph, "CONTEXTS_AT_ONCE", 1)
    assert _same(alone, whole.best(members, 5, documents=7, threads=4))


def test_many_may_ask_one_graph_at_the_same_time() -> None:
    whole, members = _large()
    alone = whole.best(members, 5)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: whole.best(members, 5), range(12)))
    assert all(_same(alone, one) for one in results)


def test_room_that_another_thread_took_is_made_anew() -> None:
    """A list that is true although it is empty, as when another thread has taken its last item."""

    class Taken(list[Scratch]):
        def __bool__(self) -> bool:
            return True

    whole, members = _large()
    alone = whole.best(members, 5)
    contested = DemandGraph(whole.demand, whole.exposure, whole.universe, Taken())
    assert _same(alone, contested.best(members, 5))


@settings(max_examples=100, deadline=None)
@given(
    rankings=logbook.result_lists(),
    searches=st.lists(logbook.searches(), min_size=1, max_size=8),
    shares=st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=logbook.QUERIES, max_size=logbook.QUERIES),
)
def test_with_inverse_propensity_weights_the_expected_utility_is_the_mean_of_the_estimate(
    rankings: Rankings, searches: list[Search], shares: list[float]
) -> None:
    """Identity 1, for a context through which a search for q passes with the probability `shares[q]`:
    Σ_s π_s · û(s, q) is the expected utility of q where the rate of (q̄, a) is Σ w/p[r̄]."""
    rates = np.zeros((logbook.QUERIES, logbook.DOCUMENTS))
    for search in searches:
        for click in search.clicks:
            assert click.rank is not None
            rates[search.query, click.document] += click.weight / ZIPF(click.rank)
    shown = np.zeros((logbook.DOCUMENTS, logbook.QUERIES))
    for q, page in rankings.items():
        for a, rank in page.items():
            shown[a, q] = ZIPF(rank)
    whole = DemandGraph(
        WeightedRows.from_matrix(csr_array(rates)),
        WeightedRows.from_matrix(csr_array(shown)),
        logbook.QUERIES,
    )
    members = WeightedRows.single(np.arange(logbook.QUERIES, dtype=np.int32), np.array(shares, np.float32))
    utility = dict(listed(whole.best(members, logbook.QUERIES), 1)[0])
    for q in rankings:
        weighed = sum(shares[s.query] * reference.utility(s, q, rankings, ZIPF) for s in searches)
        assert utility.get(q, 0.0) == pytest.approx(weighed, rel=1e-5)


def test_identity_1_by_hand() -> None:
    """The paper's example: logged at rank 5, elsewhere at 10 and 2, p ∝ 1/k."""
    search = Search(0, (Click(0, 5),))
    rankings = {0: {0: 5}, 1: {0: 10}, 2: {0: 2}}
    shown: NDArray[np.float64] = np.array([[1 / 5, 1 / 10, 1 / 2]])
    whole = DemandGraph(
        WeightedRows.from_matrix(csr_array(np.array([[5.0], [0.0], [0.0]]))),
        WeightedRows.from_matrix(csr_array(shown)),
        3,
    )
    ranked = listed(whole.best(WeightedRows.single(np.array([0], np.int32), np.ones(1, np.float32)), 3), 1)[0]
    assert [q for q, _ in ranked] == [2, 0, 1]
    assert [u for _, u in ranked] == pytest.approx([2.5, 1.0, 0.5])
    assert dict(ranked) == pytest.approx({q: reference.utility(search, q, rankings, ZIPF) for q in rankings})
