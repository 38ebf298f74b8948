"""Features of pairs are those of the matrices from which lists are chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.completion.acceptance import PRIOR
from wayword.completion.acceptance_features import ComparedQueries, compare_blocks, features
from wayword.completion.query_pairs import matrices
from wayword.completion.query_words import QueryWords
from wayword.completion.trie import code_points
from wayword.store.compressed_rows import WeightedRows

WORDS = ("red", "blue", "lamp", "light", "steel", "led")
TEXTS = sorted({" ".join(sorted({a, b, c})) for a in WORDS for b in WORDS for c in WORDS})


def made_pages(rng: np.random.Generator, queries: int, documents: int = 30) -> WeightedRows:
    """Pages of 0 to 14 documents, p = 1/rank."""
    lengths = rng.integers(0, 15, queries)
    values = np.concatenate([rng.permutation(documents)[:n] for n in lengths]).astype(np.int32)
    p = np.concatenate([1 / np.arange(1, n + 1) for n in lengths]).astype(np.float32)
    return WeightedRows.from_lengths(values, lengths.astype(np.int64), p)


def made_queries(rng: np.random.Generator) -> ComparedQueries:
    """People want some of what a query returns, and other documents."""
    n, documents = len(TEXTS), 30
    pages, demand = (made_pages(rng, n, documents) for _ in range(2))
    shown, wanted = (rows.matrix(documents) for rows in (pages, demand))
    own = np.asarray(shown.multiply(wanted).sum(axis=1)).ravel().astype(np.float32)
    certainty = rng.random(n).astype(np.float32)
    return ComparedQueries(QueryWords.of(TEXTS), pages, demand, own, certainty, documents)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_pairs_give_the_acceptance_of_the_matrix(seed: int, corrected: bool) -> None:
    rng = np.random.default_rng(seed)
    n = len(TEXTS)
    queries = made_queries(rng)
    group = rng.integers(0, n // 2, n).astype(np.int32)
    intended, suggested = (rng.permutation(n)[:7].astype(np.int32) for _ in range(2))
    spelling = code_points(TEXTS)
    coefficients = rng.normal(size=6)
    typed = "blue"
    expected, _ = matrices(
        intended,
        suggested,
        code_points([typed]).arrays,
        corrected,
        (
            queries.words.words.arrays,
            queries.pages.arrays,
            spelling.arrays,
            group,
            np.ones(n),
            queries.certainty,
        ),
        queries.demand.arrays,
        queries.own_utility,
        (np.ones((0, 0), np.float32), np.full(1, -1, np.int32)),
        coefficients[None],
        (np.zeros(queries.words.vocabulary, np.int32), np.zeros(30, np.int32)),
    )
    m, c = (part.ravel() for part in np.meshgrid(np.arange(7), np.arange(7), indexing="ij"))
    has = np.array([typed in TEXTS[query].split() for query in suggested.tolist()])
    f = features(intended[m], suggested[c], has[c], np.full(49, corrected), queries)
    found = 1 / (1 + np.exp(-f @ coefficients))
    found[group[intended[m]] == group[suggested[c]]] = 1.0
    assert found == pytest.approx(expected.ravel(), abs=1e-5)


def test_blocks_are_the_pairs_of_their_members_and_columns() -> None:
    queries = made_queries(np.random.default_rng(1))
    members = np.array([0, 2, 3]), np.array([4, 9, 1], np.int32)
    columns = np.array([0, 1, 3]), np.array([9, 1, -1], np.int32)
    out, same = np.zeros((4, 3), np.float32), np.zeros(4, np.bool_)
    group = np.arange(len(TEXTS), dtype=np.int32)
    starts = np.array([0, 2])
    compare_blocks(members, columns, group, queries.arrays, starts, np.zeros(30), out, same)
    intended, suggested = np.array([4, 9, 1, 1], np.int32), np.array([9, 9, 1, -1], np.int32)
    no = np.zeros(4, np.bool_)
    assert out.tolist() == features(intended, suggested, no, no, queries)[:, 2:5].tolist()
    assert same.tolist() == [False, True, True, False]


def test_an_unknown_suggestion_shares_nothing_and_is_hardly_taken() -> None:
    queries = made_queries(np.random.default_rng(2))
    one, no = np.array([0], np.int32), np.array([False])
    f = features(one, np.array([-1], np.int32), no, no, queries)
    assert f.tolist() == [[1, 0, 0, 0, 0, 0]]
    assert PRIOR.probability(f)[0] == pytest.approx(1 / (1 + np.exp(5.8)))
