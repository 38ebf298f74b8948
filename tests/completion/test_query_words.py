"""The words of queries and their weights, by arithmetic."""

import math

import numpy as np
import pytest

from wayword.completion.query_words import QueryWords, beginnings, whole

TEXTS = ["network monitor", "networking", "monitor", "net"]


def shared(words: QueryWords, one: int, other: int) -> float:
    """The share of a query's words that another has."""
    rows = words.words
    of_other = set(rows.values[rows.span(other)].tolist())
    return sum(
        weight
        for word, weight in zip(
            rows.values[rows.span(one)].tolist(), rows.weights[rows.span(one)].tolist(), strict=True
        )
        if word in of_other
    )


def test_words_that_begin_alike_have_half_of_their_weight_in_common() -> None:
    words = QueryWords.of(TEXTS, whole, beginnings)
    once, twice = math.log(5 / 1), math.log(5 / 2)  # rarity of a word of one and of two queries
    by_form, by_beginning = twice / (once + twice), twice / (twice + twice)
    assert shared(words, 1, 0) == pytest.approx(1 / 2)
    assert shared(words, 0, 1) == pytest.approx(by_beginning / 2)
    assert shared(words, 0, 2) == pytest.approx((by_form + by_beginning) / 2)
    assert shared(words, 2, 0) == pytest.approx(1)
    assert shared(words, 3, 0) == 0  # "net" begins "network", but is not its first five letters


def test_weights_of_a_query_sum_to_one_and_numbers_ascend() -> None:
    for forms in ((), (whole,), (whole, beginnings), (beginnings, whole, whole)):
        words = QueryWords.of([*TEXTS, ""], *forms)
        rows = words.words
        np.testing.assert_allclose(
            np.bincount(rows.owner, rows.weights, minlength=5), [1, 1, 1, 1, 0], rtol=1e-6
        )
        assert rows.values.max() < words.vocabulary
        for row in range(len(rows)):
            assert (np.diff(rows.values[rows.span(row)]) > 0).all()
