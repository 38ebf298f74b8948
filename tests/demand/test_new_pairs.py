"""Relevance priors of pairs that no model has seen."""

import numpy as np
import pytest

from wayword.demand.new_pairs import DOUBT, MOST, PAGE_SIZE, relevance_of_new_pairs
from wayword.demand.observations import Observations


def pages(*queries: dict[int, float]) -> Observations:
    """A page for each query: document → p."""
    rows = [(q, a, p) for q, page in enumerate(queries) for a, p in sorted(page.items())]
    query, document, p = (np.array(column) for column in zip(*rows, strict=True))
    starts = np.searchsorted(query, np.arange(len(queries) + 1))
    documents = 1 + max(max(page) for page in queries)
    return Observations(starts.astype(np.int64), document.astype(np.int32), p.astype(float), documents)


def test_known_pairs_keep_theirs() -> None:
    observations = pages({0: 1.0, 1: 0.5}, {0: 1.0})
    relevance = np.array([0.3, 0.2, 0.1])
    known = np.array([True, True, False])
    filled = relevance_of_new_pairs(observations, np.where(known, relevance, 0), known)
    assert filled[known].tolist() == [0.3, 0.2]
    assert relevance_of_new_pairs(observations, relevance, np.ones(3, bool)) is relevance


def test_a_new_pair_has_what_its_rank_its_document_and_similar_pages_have() -> None:
    observations = pages({0: 1.0}, {0: 1.0}, {1: 1.0})
    known = np.array([True, False, True])
    filled = relevance_of_new_pairs(observations, np.array([0.4, 0.0, 0.1]), known)
    base = (0.4 + 0.1 + 0.5 / 2) / 3
    lift = (0.4 + DOUBT) / (base + DOUBT)  # of the document
    near = (0.4 + DOUBT * lift) / (base + DOUBT)  # of the document among similar pages
    assert filled[1] == pytest.approx(base * near)


def test_a_prior_is_never_certain() -> None:
    observations = pages(*[{0: 1.0}] * 6, *[{1: 1.0}] * 5)
    known = np.arange(len(observations)) != 5
    relevance = np.where(observations.document == 0, 1.0, 0.1)
    assert relevance_of_new_pairs(observations, np.where(known, relevance, 0), known)[5] == MOST


def test_pairs_of_an_unknown_document_have_what_their_rank_has() -> None:
    observations = pages({0: 1.0, 1: 0.25}, {0: 1.0, 2: 0.25})
    known = np.array([True, True, True, False])
    filled = relevance_of_new_pairs(observations, np.array([0.4, 0.2, 0.4, 0.0]), known)
    mean = (0.4 + 0.2 + 0.4) / 3
    assert filled[3] == pytest.approx((0.2 + mean) / 2)


def test_pages_deeper_than_those_compared_leave_the_observations_as_they_are() -> None:
    deep = {a: 1 / (a + 1) for a in range(2 * PAGE_SIZE)}
    observations, before = pages(deep, deep, {0: 1.0}), pages(deep, deep, {0: 1.0})
    known = observations.query != 1
    filled = relevance_of_new_pairs(observations, np.where(known, 0.2, 0.0), known)
    np.testing.assert_array_equal(observations.starts, before.starts)
    np.testing.assert_array_equal(observations.document, before.document)
    np.testing.assert_allclose(filled, 0.2, rtol=0.3)
