"""Rows of different lengths: against Python's own sets, string methods and arithmetic."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from wayword import text_arrays as of
from wayword.store.compressed_rows import CompressedRows, WeightedRows, shared

Rows = list[list[int]]
rows = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=6)
texts = st.lists(st.text(alphabet="ab 日\U0001f680", max_size=6), min_size=1, max_size=6)


def compressed(lists: Rows) -> CompressedRows:
    flat = np.array([value for row in lists for value in row], dtype=np.int64)
    return CompressedRows.from_lengths(flat, np.array([len(row) for row in lists], dtype=np.int64))


def as_lists(found: CompressedRows) -> Rows:
    return [found.values[a:b].tolist() for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]


@given(rows)
def test_rows_survive_and_distinct_makes_sorted_sets(lists: Rows) -> None:
    assert as_lists(compressed(lists)) == lists
    assert as_lists(compressed(lists).distinct()) == [sorted(set(row)) for row in lists]


@given(rows, st.data())
def test_take_gathers_rows_in_the_order_asked(lists: Rows, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    places, values = compressed(lists).take(np.array(wanted, dtype=np.int64))
    expected = [(place, value) for place, row in enumerate(wanted) for value in lists[row]]
    assert list(zip(places.tolist(), values.tolist(), strict=True)) == expected


@given(rows, st.sets(st.integers(0, 9)))
def test_numbered_drops_what_the_vocabulary_lacks(lists: Rows, known: set[int]) -> None:
    vocabulary = sorted(known)
    found = compressed(lists).numbered(np.array(vocabulary, dtype=np.int64))
    assert as_lists(found) == [[vocabulary.index(v) for v in row if v in known] for row in lists]


@given(rows, rows)
def test_shared_counts_what_two_sets_have_in_common(left: Rows, right: Rows) -> None:
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
    i, j = np.array(pairs).T
    found = shared(compressed(left).distinct(), compressed(right).distinct(), i, j, span=10)
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


MATRIX = csr_array(np.array([[0.0, 2.5], [0.0, 0.0], [1.0, 0.5]]))


@given(st.lists(rows, min_size=1, max_size=3), st.data())
def test_parts_are_joined_and_values_selected(parts: list[Rows], data: st.DataObject) -> None:
    whole = CompressedRows.concatenate([compressed(part) for part in parts])
    lists = [row for part in parts for row in part]
    assert as_lists(whole) == lists
    kept = data.draw(st.sets(st.integers(0, 9)))
    assert as_lists(whole.select(np.isin(whole.values, list(kept)))) == [
        [value for value in row if value in kept] for row in lists
    ]


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = WeightedRows.from_matrix(MATRIX)
    rows.save(tmp_path, "rows")
    again = WeightedRows.load(tmp_path, "rows", below=2, rows=3)
    for written, read in zip(rows.arrays, again.arrays, strict=True):
        assert np.array_equal(written, read)
        assert written.dtype == read.dtype
    assert np.array_equal(again.matrix(2).toarray(), MATRIX.toarray())


def test_rows_that_point_outside_are_refused(tmp_path: Path) -> None:
    WeightedRows.from_matrix(MATRIX).save(tmp_path, "rows")
    for below, rows, message in (
        (1, 3, "found numbers from 0 to 1, expected 0 to 0"),
        (2, 2, "found 3 rows of rows"),
    ):
        with pytest.raises(ValueError, match=message):
            WeightedRows.load(tmp_path, "rows", below=below, rows=rows)
    for broken in ([0, 4, 3, 3], [1, 1, 2, 3], [0, 1, 2, 9], []):
        np.save(tmp_path / "rows.offsets.npy", np.array(broken, np.int64))
        with pytest.raises(ValueError, match="do not follow each other"):
            WeightedRows.load(tmp_path, "rows", below=2)
    np.save(tmp_path / "rows.offsets.npy", np.array([0, 1, 1, 3], np.int32))
    with pytest.raises(ValueError, match=r"found int32 in rows\.offsets"):
        WeightedRows.load(tmp_path, "rows", below=2)
    np.save(tmp_path / "rows.offsets.npy", np.array([0, 1, 1, 3], np.int64))
    np.save(tmp_path / "rows.weights.npy", np.ones(2, np.float32))
    with pytest.raises(ValueError, match="do not follow each other"):
        WeightedRows.load(tmp_path, "rows", below=2)
