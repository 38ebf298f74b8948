"""Rows of different lengths: against Python's own sets, string methods and arithmetic."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wayword import text_arrays as of
from wayword.store.compressed_rows import Ragged, shared

Rows = list[list[int]]
rows = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=6)
texts = st.lists(st.text(alphabet="ab 日\U0001f680", max_size=6), min_size=1, max_size=6)


def ragged(lists: Rows) -> Ragged:
    flat = np.array([value for row in lists for value in row], dtype=np.int64)
    return Ragged.from_lengths(flat, np.array([len(row) for row in lists], dtype=np.int64))


def as_lists(found: Ragged) -> Rows:
    return [found.values[a:b].tolist() for a, b in zip(found.starts[:-1], found.starts[1:], strict=True)]


@given(rows)
def test_rows_survive_and_distinct_makes_sorted_sets(lists: Rows) -> None:
    assert as_lists(ragged(lists)) == lists
    assert as_lists(ragged(lists).distinct()) == [sorted(set(row)) for row in lists]


@given(rows, st.data())
def test_take_gathers_rows_in_the_order_asked(lists: Rows, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    places, values = ragged(lists).take(np.array(wanted, dtype=np.int64))
    expected = [(place, value) for place, row in enumerate(wanted) for value in lists[row]]
    assert list(zip(places.tolist(), values.tolist(), strict=True)) == expected


@given(rows, st.sets(st.integers(0, 9)))
def test_numbered_drops_what_the_vocabulary_lacks(lists: Rows, known: set[int]) -> None:
    vocabulary = sorted(known)
    found = ragged(lists).numbered(np.array(vocabulary, dtype=np.int64))
    assert as_lists(found) == [[vocabulary.index(v) for v in row if v in known] for row in lists]


@given(rows, rows)
def test_shared_counts_what_two_sets_have_in_common(left: Rows, right: Rows) -> None:
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
    i, j = np.array(pairs).T
    found = shared(ragged(left).distinct(), ragged(right).distinct(), i, j, span=10)
    assert found.tolist() == [len(set(left[a]) & set(right[b])) for a, b in pairs]


@given(texts, texts)
def test_begins_is_startswith(prefixes: list[str], queries: list[str]) -> None:
    pairs = [(i, j) for i in range(len(prefixes)) for j in range(len(queries))]
    i, j = np.array(pairs).T
    found = of.begins(of.characters(prefixes), of.characters(queries), i, j)
    assert found.tolist() == [queries[b].startswith(prefixes[a]) for a, b in pairs]


def trigrams_of(text: str) -> set[str]:
    padded = "  " + text
    return {padded[i : i + 3] for i in range(len(text))}


@given(texts)
def test_trigrams_and_words_are_told_apart_exactly_as_strings_are(written: list[str]) -> None:
    grams, words = of.trigrams(of.characters(written)), of.words(written)
    assert grams.lengths.tolist() == [len(trigrams_of(text)) for text in written]
    assert len(np.unique(grams.values)) == len(set().union(*map(trigrams_of, written)))
    assert words.lengths.tolist() == [len(set(text.split())) for text in written]
    assert len(np.unique(words.values)) == len({word for text in written for word in text.split()})
    assert of.word_counts(written).tolist() == [len(text.split()) for text in written]


def test_one_letter_has_one_trigram_and_no_text_none() -> None:
    assert of.trigrams(of.characters(["a", "", "日"])).lengths.tolist() == [1, 0, 1]
