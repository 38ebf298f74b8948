"""Demand times exposure, and its largest entries."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import logbook
import reference
from reference import Rankings
from wayword.completion import sparse_topk as graph
from wayword.completion.candidates import Candidates
from wayword.errors import WaywordError
from wayword.propensity.exposure import exposure
from wayword.store.compressed_rows import WeightedRows

ZIPF = reference.power_law(1.0)


def tables(rankings: Rankings) -> tuple[pa.Table, pa.Table]:
    rows = [(query, a, rank) for query, page in rankings.items() for a, rank in page.items()]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    ranks = list(range(logbook.DEEPEST_RANK, 0, -1))  # in any order
    return (
        pa.table(
            dict(zip(("query", "document", "rank"), (pa.array(c, pa.int32()) for c in columns), strict=True))
        ),
        pa.table({"rank": pa.array(ranks, pa.int32()), "p": pa.array([ZIPF(rank) for rank in ranks])}),
    )


def lists_of(candidates: Candidates, contexts: int) -> list[list[int]]:
    return [candidates.query[candidates.context == row].tolist() for row in range(contexts)]


@settings(max_examples=100, deadline=None)
@given(
    rankings=logbook.result_lists(),
    demand=st.lists(
        st.lists(
            st.sampled_from([0.0, 0.0, 1.0, 2.0, 6.0]), min_size=logbook.DOCUMENTS, max_size=logbook.DOCUMENTS
        ),
        max_size=5,
    ),
    k=st.integers(1, 5),
)
def test_best_queries_are_those_of_brute_force(rankings: Rankings, demand: list[list[float]], k: int) -> None:
    shape = (logbook.QUERIES, logbook.DOCUMENTS)
    matrix = csr_array(np.array(demand).reshape(len(demand), logbook.DOCUMENTS))
    candidates = graph.best_queries(matrix, exposure(*tables(rankings), shape), k)
    for context, listed in enumerate(lists_of(candidates, len(demand))):
        wanted = dict(enumerate(demand[context]))
        value = {
            q: np.float32(reference.inner(wanted, reference.exposure(q, rankings, ZIPF))) for q in rankings
        }
        assert listed == sorted((q for q in value if value[q] > 0), key=lambda q: (-value[q], q))[:k]
        scores = candidates.score[candidates.context == context]
        assert scores.tolist() == pytest.approx([value[q] for q in listed], rel=1e-6)


def test_equal_utilities_go_by_query_number_also_where_rounding_differs() -> None:
    """Query 2 shows the documents of query 1 the other way round: the same sum, added in another order."""
    demand = csr_array([[1.0, 1.0, 1.0]])
    exposures = csr_array([[0.0, 0.0, 0.5], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1
    assert graph.best_queries(demand, exposures, 3).query.tolist() == [1, 2, 0]


def test_equal_utilities_go_to_the_more_popular_query() -> None:
    one = csr_array(np.array([[1.0]]))
    found = graph.DemandGraph(
        WeightedRows.from_matrix(one),
        WeightedRows.from_matrix(csr_array(np.array([[0.5, 1.0, 0.5, 0.5]]))),
        4,
    )
    members = WeightedRows(np.array([0, 1]), np.array([0], np.int32), np.ones(1, np.float32))
    for k in (1, 2, 3, 4):
        best = found.best(members, k, popularity=np.array([5, 1, 9, 5]))
        assert best.query.tolist() == [1, 2, 0, 3][:k]
    assert found.best(members, 4).query.tolist() == [1, 0, 2, 3]


def test_a_stored_zero_is_no_utility() -> None:
    demand = csr_array((np.array([0.0]), (np.array([0]), np.array([0]))), shape=(1, 1))
    assert graph.best_queries(demand, csr_array(np.ones((1, 1))), 3).query.tolist() == []


def test_blocks_of_contexts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    demand, exposures = csr_array(rng.poisson(0.4, (9, 6))), csr_array(rng.random((7, 6)))
    whole = graph.best_queries(demand, exposures, 3)
    monkeypatch.setattr(graph, "CONTEXTS_AT_ONCE", 2)
    blocks = graph.best_queries(demand, exposures, 3)
    for name in ("context", "query", "score"):
        assert getattr(whole, name).tolist() == getattr(blocks, name).tolist()


def test_a_rank_without_propensity_is_an_error_that_names_it() -> None:
    rankings, propensity = tables({0: {0: 2}, 1: {1: 3}})
    with pytest.raises(WaywordError, match="ranks 3 without a propensity"):
        exposure(rankings, propensity.filter(pa.array(propensity["rank"].to_numpy() != 3)), (2, 2))
