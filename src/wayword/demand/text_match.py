"""Text match: how much the words of a query and of a document agree, independent of clicks.

Relevant documents often share words with the query or with its first result: "fox plugins" and the document
fox-plugin-sync. The text of a document is its name (its id) and its title. An unknown title is replaced by the text of
a query: of the queries that rank the document best, the one whose words occur most in the other queries that return it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from wayword.demand.observations import Floats, Observations
from wayword.numba_jit import compiled
from wayword.rankings.terms import query_terms
from wayword.store.compressed_rows import CompressedRows
from wayword.text import normalise
from wayword.text_arrays import characters

LONGEST_NAME = 60
"""Number of first characters of a name that are compared."""
LONGEST_TITLE = 50
"""Number of first words of a title that are compared."""
_LETTERS = regex.compile(r"(?:\p{L}\p{M}*)+")

Singles = NDArray[np.float32]
Words = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Word numbers of each text as compiled code takes them: row starts, ascending numbers."""


class TitleMatch(NamedTuple):
    """Agreement of query and title; words are weighted by rarity."""

    query_share: Singles
    """Share of the query's weight that is in the title."""
    title_share: Singles
    """Share of the title's weight that is in the query."""
    common_words: Singles
    query_rest: Singles
    """Weight of the query's words that the title lacks."""
    title_rest: Singles
    """Weight of the title's words that the query lacks."""
    rarest_query_rest: Singles
    """Weight of the rarest word of the query that the title lacks."""
    rarest_title_rest: Singles
    rarest_common: Singles
    words: Singles
    """Number of words of the title."""


class NameMatch(NamedTuple):
    """Agreement of the document's name with the query and with the name of the first result."""

    query_share: Singles
    """Share of the name's weight that is in the query."""
    first_jaccard: Singles
    """Weighted Jaccard similarity with the name of the first result."""
    words: Singles
    common_prefix: Singles
    """Number of first characters that are equal to those of the first result's name."""
    common_prefix_of_first: Singles
    """The same as a share of the first result's name."""
    common_prefix_of_name: Singles
    """The same as a share of the document's name."""
    length: Singles
    is_first: Singles


@dataclass(frozen=True)
class TextMatch:
    """The words of queries, titles and names, the rarity of each word, and the first result of each query."""

    queries: CompressedRows
    titles: CompressedRows
    names: CompressedRows
    documents: CompressedRows
    """Words of titles and names together, without the words of one document that no query has."""
    characters: CompressedRows
    """Characters of names."""
    rarity: Floats
    first: NDArray[np.int64]

    @classmethod
    def of(
        cls, texts: Sequence[str], names: Sequence[str], titles: Sequence[str], observations: Observations
    ) -> "TextMatch":
        """`names` and `titles` are those of the documents; an unknown title is empty."""
        numbers: dict[str, int] = {}
        queries = _numbered(map(query_terms, texts), numbers)
        frequency = np.bincount(queries.values, minlength=len(numbers))
        title_words = _title_words(texts, titles, queries, observations)
        name_words = [[*query_terms(name), *_LETTERS.findall(normalise(name))] for name in names]
        of_titles, of_names = _numbered(title_words, numbers), _numbered(name_words, numbers)
        rarity = np.full(len(numbers), np.log(max(len(texts), 1)) + 1.0)
        rarity[: len(frequency)] -= np.log(np.maximum(frequency, 1))
        return cls(
            queries,
            of_titles,
            of_names,
            _without_singular(_numbered(map(chain, title_words, name_words), numbers), len(frequency)),
            characters([normalise(name)[:LONGEST_NAME] for name in names]),
            rarity,
            _first_result(observations),
        )


def title_match(text: TextMatch, observations: Observations, first_document: int = 0) -> TitleMatch:
    """Compare the query and the title of each pair, whose documents are numbered from `first_document`."""
    document = observations.document + np.int32(first_document)
    columns = _match_titles(
        observations.query, document, text.queries.indexed, text.titles.indexed, text.rarity
    )
    return TitleMatch(*columns)


def name_match(text: TextMatch, observations: Observations, first_document: int = 0) -> NameMatch:
    """Compare the query, the document's name and the name of the first result of each pair; see `title_match`."""
    columns = _match_names(
        observations.query,
        observations.document + np.int32(first_document),
        text.first,
        text.queries.indexed,
        text.names.indexed,
        text.characters.indexed,
        text.rarity,
    )
    return NameMatch(*columns)


def _numbered(texts: Iterable[Iterable[str]], numbers: dict[str, int]) -> CompressedRows:
    """The distinct words of each text as ascending numbers; new words get the next numbers."""
    rows = [sorted({numbers.setdefault(word, len(numbers)) for word in words}) for words in texts]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return CompressedRows.from_lengths(
        np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths
    )


def _without_singular(words: CompressedRows, query_words: int) -> CompressedRows:
    """Drop the words that only one document and no query has; the words of queries have the first numbers."""
    frequency = np.bincount(words.values, minlength=query_words)
    frequency[:query_words] = 2
    kept = frequency[words.values] > 1
    return CompressedRows.from_lengths(
        words.values[kept], np.bincount(words.owner[kept], minlength=len(words.lengths))
    )


def _first_result(observations: Observations) -> NDArray[np.int64]:
    """The first document of each query by the current rankings, -1 where it returns none."""
    p = observations.current_propensity
    order = np.lexsort((-observations.document.astype(np.int64), p))
    order = order[p[order] > 0]
    first = np.full(observations.queries, -1, np.int64)
    first[observations.query[order]] = observations.document[order]
    return first


def _title_words(
    texts: Sequence[str], titles: Sequence[str], queries: CompressedRows, observations: Observations
) -> list[list[str]]:
    """The words of each document's title, or of the query that stands for an unknown title."""
    given = [query_terms(title)[:LONGEST_TITLE] for title in titles]
    if all(given):
        return given
    return [
        words or (query_terms(texts[query])[:LONGEST_TITLE] if query >= 0 else [])
        for words, query in zip(given, _title_query(queries, observations).tolist(), strict=True)
    ]


def _title_query(queries: CompressedRows, observations: Observations) -> NDArray[np.int64]:
    """The query whose text stands for the title of each document, -1 where no query returns it."""
    p = observations.current_propensity
    order = np.argsort(observations.document, kind="stable")
    order = order[p[order] > 0]
    return _most_typical_query(
        np.searchsorted(observations.document[order], np.arange(observations.documents + 1)),
        observations.query[order],
        p[order],
        queries.indexed,
        int(queries.values.max(initial=-1)) + 1,
    )


@compiled
def _most_typical_query(
    starts: NDArray[np.int64], query: NDArray[np.int32], p: Floats, queries: Words, words: int
) -> NDArray[np.int64]:
    """Of the queries that rank a document best, the one of highest mean over its words of log(1 + Σ p), where the sum
    is over the queries that return the document and have the word."""
    begin, word = queries
    chosen, support = np.full(len(starts) - 1, -1, np.int64), np.zeros(words)
    for document in range(len(starts) - 1):
        most, best = 0.0, -1.0
        for k in range(starts[document], starts[document + 1]):
            most = max(most, p[k])
            for i in range(begin[query[k]], begin[query[k] + 1]):
                support[word[i]] += p[k]
        for k in range(starts[document], starts[document + 1]):
            if p[k] < most:
                continue
            first, last = begin[query[k]], begin[query[k] + 1]
            shared = 0.0
            for i in range(first, last):
                shared += np.log1p(support[word[i]]) / (last - first)
            if shared > best:
                best, chosen[document] = shared, query[k]
        for k in range(starts[document], starts[document + 1]):
            for i in range(begin[query[k]], begin[query[k] + 1]):
                support[word[i]] = 0.0
    return chosen


@compiled
def _match_titles(
    query: NDArray[np.int32], document: NDArray[np.int32], queries: Words, titles: Words, rarity: Floats
) -> list[Singles]:
    """The columns of `TitleMatch`: a merge of the ascending words of query and title."""
    query_starts, of_query = queries
    title_starts, of_title = titles
    size = len(query)
    columns = [np.zeros(size, np.float32) for _ in range(9)]
    share_query, share_title, common, query_left, title_left, query_rare, title_rare, rare, words = columns
    for j in range(size):
        q, a = query[j], document[j]
        i, k, last, end = query_starts[q], title_starts[a], query_starts[q + 1], title_starts[a + 1]
        all_query, all_title, both, number = 0.0, 0.0, 0.0, 0
        rarest_query, rarest_title, rarest = 0.0, 0.0, 0.0
        while i < last or k < end:
            if k >= end or (i < last and of_query[i] < of_title[k]):
                all_query += rarity[of_query[i]]
                rarest_query = max(rarest_query, rarity[of_query[i]])
                i += 1
            elif i >= last or of_title[k] < of_query[i]:
                all_title += rarity[of_title[k]]
                rarest_title = max(rarest_title, rarity[of_title[k]])
                k += 1
            else:
                value = rarity[of_query[i]]
                all_query += value
                all_title += value
                both += value
                number += 1
                rarest = max(rarest, value)
                i += 1
                k += 1
        share_query[j], share_title[j] = both / max(all_query, 1e-9), both / max(all_title, 1e-9)
        common[j], query_left[j], title_left[j] = number, all_query - both, all_title - both
        query_rare[j], title_rare[j], rare[j] = rarest_query, rarest_title, rarest
        words[j] = end - title_starts[a]
    return columns


@compiled
def _match_names(
    query: NDArray[np.int32],
    document: NDArray[np.int32],
    first: NDArray[np.int64],
    queries: Words,
    names: Words,
    characters: tuple[NDArray[np.int64], NDArray[np.int32]],
    rarity: Floats,
) -> list[Singles]:
    """The columns of `NameMatch`."""
    query_starts, of_query = queries
    starts, word = names
    letters, code = characters
    size = len(query)
    columns = [np.zeros(size, np.float32) for _ in range(8)]
    in_query, like, words, begins, of_first, of_name, length, is_first = columns
    for j in range(size):
        q, a, f = query[j], document[j], first[query[j]]
        own, other, said, both = 0.0, 0.0, 0.0, 0.0
        for i in range(starts[f], starts[f + 1]):
            other += rarity[word[i]]
        for k in range(starts[a], starts[a + 1]):
            value = rarity[word[k]]
            own += value
            for i in range(query_starts[q], query_starts[q + 1]):
                if of_query[i] == word[k]:
                    said += value
            for i in range(starts[f], starts[f + 1]):
                if word[i] == word[k]:
                    both += value
        same, most = 0, min(letters[a + 1] - letters[a], letters[f + 1] - letters[f])
        while same < most and code[letters[a] + same] == code[letters[f] + same]:
            same += 1
        in_query[j], like[j] = said / max(own, 1e-9), both / max(own + other - both, 1e-9)
        words[j], begins[j], length[j] = starts[a + 1] - starts[a], same, letters[a + 1] - letters[a]
        of_first[j], of_name[j] = same / max(letters[f + 1] - letters[f], 1), same / max(length[j], 1)
        is_first[j] = a == f
    return columns
