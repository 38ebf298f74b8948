"""Features of pairs are those of the matrices from which lists are chosen."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.completion.acceptance import PRIOR
from wayword.completion.acceptance_features import compare_blocks, features
from wayword.completion.list_value import _acceptance
from wayword.completion.query_words import QueryWords
from wayword.numba_jit import compiled
from wayword.store.compressed_rows import WeightedRows


@compiled
def matrix(
    intended: Any,
    suggested: Any,
    continues: Any,
    corrected: Any,
    words: Any,
    pages: Any,
    group: Any,
    coefficients: Any,
    scratch: Any,
) -> Any:
    """What `best_lists` computes."""
    return _acceptance(intended, suggested, continues, corrected, words, pages, group, coefficients, scratch)


WORDS = ("red", "blue", "lamp", "light", "steel", "led")
TEXTS = sorted({" ".join(sorted({a, b, c})) for a in WORDS for b in WORDS for c in WORDS})


def made_pages(rng: np.random.Generator, queries: int, documents: int = 30) -> WeightedRows:
    """Pages of 0 to 14 documents, p = 1/rank."""
    lengths = rng.integers(0, 15, queries)
    values = np.concatenate([rng.permutation(documents)[:n] for n in lengths]).astype(np.int32)
    p = np.concatenate([1 / np.arange(1, n + 1) for n in lengths]).astype(np.float32)
    return WeightedRows.from_lengths(values, lengths.astype(np.int64), p)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_pairs_give_the_acceptance_of_the_matrix(seed: int, corrected: bool) -> None:
    rng = np.random.default_rng(seed)
    n = len(TEXTS)
    words, pages = QueryWords.of(TEXTS), made_pages(rng, n)
    group = rng.integers(0, n // 2, n).astype(np.int32)
    intended, suggested = (rng.permutation(n)[:7].astype(np.int32) for _ in range(2))
    continues = rng.random(7) < 0.5
    scratch = np.zeros(words.vocabulary, np.int32), np.zeros(30, np.int32)
    coefficients = rng.normal(size=6)
    expected = matrix(
        intended,
        suggested,
        continues,
        corrected,
        words.words.arrays,
        pages.arrays,
        group,
        coefficients,
        scratch,
    )
    m, c = (part.ravel() for part in np.meshgrid(np.arange(7), np.arange(7), indexing="ij"))
    f = features(intended[m], suggested[c], continues[c], np.full(49, corrected), words, pages)
    found = 1 / (1 + np.exp(-f @ coefficients))
    found[group[intended[m]] == group[suggested[c]]] = 1.0
    assert found == pytest.approx(expected.ravel(), abs=1e-6)


def test_blocks_are_the_pairs_of_their_members_and_columns() -> None:
    rng = np.random.default_rng(1)
    words, pages = QueryWords.of(TEXTS), made_pages(rng, len(TEXTS))
    members = np.array([0, 2, 3]), np.array([4, 9, 1], np.int32)
    columns = np.array([0, 1, 3]), np.array([9, 1, -1], np.int32)
    out, same = np.zeros((4, 3), np.float32), np.zeros(4, np.bool_)
    group = np.arange(len(TEXTS), dtype=np.int32)
    starts = np.array([0, 2])
    compare_blocks(members, columns, group, words.words.arrays, pages.arrays, starts, out, same)
    intended, suggested = np.array([4, 9, 1, 1], np.int32), np.array([9, 9, 1, -1], np.int32)
    no = np.zeros(4, np.bool_)
    assert out.tolist() == features(intended, suggested, no, no, words, pages)[:, 2:5].tolist()
    assert same.tolist() == [False, True, True, False]


def test_an_unknown_suggestion_shares_nothing_and_is_hardly_taken() -> None:
    words, pages = QueryWords.of(TEXTS), made_pages(np.random.default_rng(2), len(TEXTS))
    one, no = np.array([0], np.int32), np.array([False])
    f = features(one, np.array([-1], np.int32), no, no, words, pages)
    assert f.tolist() == [[1, 0, 0, 0, 0, 0]]
    assert PRIOR.probability(f)[0] == pytest.approx(1 / (1 + np.exp(5.5)))
