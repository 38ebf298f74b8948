"""Wording: how much a query and a document say the same, whatever was clicked.

What people want is often worded as they ask, or like the first result: "fox plugins" and the document fox-plugin-sync.
A document is worded by its name (its id) and by its title. Where no title is given, it is read off the pages: of the
queries that show the document best, the one whose words are shared most by others that show it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from wayword.demand.pairs import Floats, Pairs
from wayword.numba_jit import compiled
from wayword.rankings.terms import query_terms
from wayword.store.compressed_rows import CompressedRows
from wayword.text import normalise
from wayword.text_arrays import characters

NAMES = (
    "title_of_query",
    "title_of_title",
    "title_common",
    "title_query_left",
    "title_title_left",
    "title_query_rarest",
    "title_title_rarest",
    "title_common_rarest",
    "title_words",
    "name_in_query",
    "name_like_first",
    "name_words",
    "name_begins",
    "name_begins_of_first",
    "name_begins_of_name",
    "name_length",
    "is_first",
)
LONGEST_NAME = 60
"""So many first characters of a name are compared."""
LONGEST_TITLE = 50
"""So many first words of a title are."""
_LETTERS = regex.compile(r"(?:\p{L}\p{M}*)+")


@dataclass(frozen=True)
class Wording:
    """The words of queries, titles and names, how rare each word is, and the first result of each query."""

    queries: CompressedRows
    titles: CompressedRows
    names: CompressedRows
    documents: CompressedRows
    """Of titles and names together, but those that one document has and no query."""
    characters: CompressedRows
    """Of names."""
    rarity: Floats
    first: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], names: Sequence[str], titles: Sequence[str], pairs: Pairs) -> "Wording":
        """`names` and `titles` are those of the documents; a title that is not known is empty."""
        numbers: dict[str, int] = {}
        queries = _numbered(map(query_terms, texts), numbers)
        asked = np.bincount(queries.values, minlength=len(numbers))
        entitled = _entitled(texts, titles, queries, pairs)
        named = [[*query_terms(name), *_LETTERS.findall(normalise(name))] for name in names]
        of_titles, of_names = _numbered(entitled, numbers), _numbered(named, numbers)
        rarity = np.full(len(numbers), np.log(max(len(texts), 1)) + 1.0)
        rarity[: len(asked)] -= np.log(np.maximum(asked, 1))
        return cls(
            queries,
            of_titles,
            of_names,
            _told_of_many(_numbered(map(chain, entitled, named), numbers), len(asked)),
            characters([normalise(name)[:LONGEST_NAME] for name in names]),
            rarity,
            _first(pairs),
        )

    def columns(self, pairs: Pairs) -> list[NDArray[np.float32]]:
        """In the order of `NAMES`, a value for each pair."""
        of_titles = _of_titles(
            pairs.query, pairs.document, self.queries.arrays, self.titles.arrays, self.rarity
        )
        of_names = _of_names(
            pairs.query,
            pairs.document,
            self.first,
            self.queries.arrays,
            self.names.arrays,
            self.characters.arrays,
            self.rarity,
        )
        return [*of_titles, *of_names]


def _numbered(texts: Iterable[Iterable[str]], numbers: dict[str, int]) -> CompressedRows:
    """The distinct words of each text by number, ascending; new words get the next numbers."""
    found = [sorted({numbers.setdefault(word, len(numbers)) for word in words}) for words in texts]
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    return CompressedRows.from_lengths(
        np.fromiter(chain.from_iterable(found), np.int64, int(lengths.sum())), lengths
    )


def _told_of_many(words: CompressedRows, asked: int) -> CompressedRows:
    """Without the words that one document alone has, and no query (whose numbers are the first)."""
    often = np.bincount(words.values, minlength=asked)
    often[:asked] = 2
    kept = often[words.values] > 1
    return CompressedRows.from_lengths(
        words.values[kept], np.bincount(words.owner[kept], minlength=len(words.lengths))
    )


def _first(pairs: Pairs) -> NDArray[np.int64]:
    """The document that each query shows best, -1 where it shows none."""
    order = np.lexsort((-pairs.document.astype(np.int64), pairs.shown))
    order = order[pairs.shown[order] > 0]
    first = np.full(pairs.queries, -1, np.int64)
    first[pairs.query[order]] = pairs.document[order]
    return first


def _entitled(
    texts: Sequence[str], titles: Sequence[str], queries: CompressedRows, pairs: Pairs
) -> list[list[str]]:
    """The words of each document's title, given or read off the pages."""
    given = [query_terms(title)[:LONGEST_TITLE] for title in titles]
    if all(given):
        return given
    return [
        words or (query_terms(texts[query])[:LONGEST_TITLE] if query >= 0 else [])
        for words, query in zip(given, _shown_best(queries, pairs).tolist(), strict=True)
    ]


def _shown_best(queries: CompressedRows, pairs: Pairs) -> NDArray[np.int64]:
    """For each document the query whose text may stand for its title, -1 where none shows it."""
    order = np.argsort(pairs.document, kind="stable")
    order = order[pairs.shown[order] > 0]
    starts = np.searchsorted(pairs.document[order], np.arange(pairs.documents + 1))
    found: NDArray[np.int64] = _most_shared(
        starts,
        pairs.query[order],
        pairs.shown[order],
        queries.arrays,
        int(queries.values.max(initial=-1)) + 1,
    )
    return found


@compiled
def _most_shared(starts: Any, query: Any, p: Any, queries: Any, words: Any) -> Any:
    """Of the queries that show a document best, the one with the highest mean over its words of log(1 + how much those
    queries show the document that have the word)."""
    asked, word = queries
    found, support = np.full(len(starts) - 1, -1, np.int64), np.zeros(words)
    for document in range(len(starts) - 1):
        most, best = 0.0, -1.0
        for k in range(starts[document], starts[document + 1]):
            most = max(most, p[k])
            for i in range(asked[query[k]], asked[query[k] + 1]):
                support[word[i]] += p[k]
        for k in range(starts[document], starts[document + 1]):
            if p[k] < most:
                continue
            first, last = asked[query[k]], asked[query[k] + 1]
            shared = 0.0
            for i in range(first, last):
                shared += np.log1p(support[word[i]]) / (last - first)
            if shared > best:
                best, found[document] = shared, query[k]
        for k in range(starts[document], starts[document + 1]):
            for i in range(asked[query[k]], asked[query[k] + 1]):
                support[word[i]] = 0.0
    return found


@compiled
def _of_titles(query: Any, document: Any, queries: Any, titles: Any, rarity: Any) -> Any:
    """How much of the query, by the rarity of words, the title has, and of the title the query; how many words; what
    is left of each; the rarest word that is left of each, and the rarest in common; the words of the title."""
    asked, of_query = queries
    told, of_title = titles
    size = len(query)
    found = [np.zeros(size, np.float32) for _ in range(9)]
    share_query, share_title, common, query_left, title_left, query_rare, title_rare, rare, words = found
    for j in range(size):
        q, a = query[j], document[j]
        i, k, last, end = asked[q], told[a], asked[q + 1], told[a + 1]
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
        words[j] = end - told[a]
    return found


@compiled
def _of_names(
    query: Any, document: Any, first: Any, queries: Any, names: Any, characters: Any, rarity: Any
) -> Any:
    """How much of the name the query has, how like it is to the name of the first result (common words of all), its
    words; with how many characters both names begin, of those of each; its characters; whether it is the first."""
    asked, of_query = queries
    starts, word = names
    letters, code = characters
    size = len(query)
    found = [np.zeros(size, np.float32) for _ in range(8)]
    in_query, like, words, begins, of_first, of_name, length, is_first = found
    for j in range(size):
        q, a, f = query[j], document[j], first[query[j]]
        own, other, said, both = 0.0, 0.0, 0.0, 0.0
        for i in range(starts[f], starts[f + 1]):
            other += rarity[word[i]]
        for k in range(starts[a], starts[a + 1]):
            value = rarity[word[k]]
            own += value
            for i in range(asked[q], asked[q + 1]):
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
    return found
