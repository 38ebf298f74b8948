"""Proposed queries: texts that nobody has searched for, formed from the titles and attributes of documents.

* phrases that several titles share and that a person would type (`title_phrases`);
* a value of an attribute before such a phrase ("steel lamp"), where several documents have both. Attributes are the
  further columns of the document table that have few values.

Those of highest demand are kept, which is what their results would give if the clicks on each document had come from
all queries:

    Σ over the results of p[rank] · (1 + Σ clicks on the document / p[logged rank]),   p[rank] = 1/rank

(The propensities of the run are not known yet; here they only choose.) A proposed query is displayed as titles write
it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword.engines import Engine
from wayword.rankings.display_form import spelling
from wayword.rankings.document_ranker import DocumentRanker
from wayword.rankings.title_phrases import TitlePhrases, spelt_parts
from wayword.text import normalise

MOST_DOCUMENTS = 100_000
"""Documents whose titles are read, the most clicked first."""
MOST_VALUES = 1000
"""An attribute with more values is left out, and one with more than a value for every second document."""
LEAST = 3
"""Number of documents that have both, the value of an attribute and a phrase, at least."""
MOST_COMPARED = 20_000
"""Texts that are ranked to choose among them: those that most documents have."""


def propose(
    engine: Engine,
    documents: pa.Table,
    ranker: DocumentRanker,
    *,
    most: int,
    depth: int,
    known: Collection[str],
) -> pa.Table:
    """Return the rankings (query, document, rank) of at most `most` queries that are not `known` (normalised).

    Needs `searches` and `clicks`.
    """
    wanted = _wanted(engine, documents)
    if documents.num_rows > MOST_DOCUMENTS:
        order = np.argsort(-wanted, kind="stable")[:MOST_DOCUMENTS]
        titles = documents.take(pa.array(np.sort(order)))
    else:
        titles = documents
    texts = [text for text in candidates(titles) if normalise(text) not in known]
    nothing = pa.table({"query": pa.array([], pa.string()), "document": pa.array([], pa.string())})
    ranked = ranker(documents, nothing, texts[:MOST_COMPARED], depth=depth)
    return ranked.filter(pc.is_in(ranked["query"], value_set=pa.array(best(ranked, documents, wanted, most))))


def candidates(documents: pa.Table) -> list[str]:
    """Return phrases of titles, and values of attributes with phrases, as titles write them; the most common first.

    Attributes do not judge phrases: one may be a colour, which says nothing about what a document is.

    >>> titles = ["Solar lamp", "the solar lamp", "Table lamp", "table lamp, small", "Lamp"]
    >>> colours = ["red", "red", "red", "blue", "red"]
    >>> candidates(pa.table({"document": list("abcde"), "title": titles, "colour": colours}))
    ['lamp', 'red lamp', 'solar lamp', 'table lamp']
    """
    titles = documents["title"].to_pylist()
    attributes = [_values(documents[name]) for name in _attributes(documents)]
    names = documents["name"].to_pylist() if "name" in documents.column_names else None
    found = TitlePhrases(titles, names=names)
    shared, counts = Spellings.of(titles), Counter[str]()
    for row, title in enumerate(titles):
        phrases = found.of_title(title)
        counts.update(phrases)
        for value in filter(None, (normalise(values[row]) for values in attributes)):
            counts.update(f"{value} {phrase}" for phrase in phrases if _disjoint(value, phrase))
    kept = {text for text, n in counts.items() if n >= LEAST or found.typed(text)}
    ordered = sorted(kept, key=lambda text: (-counts[text], text))
    return [spelt for text in ordered if normalise(spelt := shared.spelt(text)) == text and spelling(spelt)]


def best(ranked: pa.Table, documents: pa.Table, wanted: np.ndarray, most: int) -> list[str]:
    """Return the queries whose results are wanted most.

    >>> ranked = pa.table({"query": ["x", "x", "y"], "document": ["a", "b", "b"], "rank": [1, 2, 1]})
    >>> best(ranked, pa.table({"document": ["a", "b"]}), np.array([1.0, 4.0]), 1)
    ['y']
    """
    query = ranked["query"].combine_chunks().dictionary_encode()
    names = documents["document"].combine_chunks().cast(pa.string())
    place = pc.index_in(ranked["document"], value_set=names).to_numpy()
    score = np.bincount(
        query.indices.to_numpy(), wanted[place] / ranked["rank"].to_numpy(), len(query.dictionary)
    )
    order = np.argsort(-score, kind="stable")[:most]
    texts: list[str] = query.dictionary.take(pa.array(order)).to_pylist()
    return texts


@dataclass(frozen=True)
class Spellings:
    """How titles write words and phrases: `inside` them, or only at their beginning, where a capital says nothing."""

    inside: dict[str, Counter[str]] = field(default_factory=dict)
    first: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, titles: Sequence[str]) -> "Spellings":
        """Count the spellings of each word."""
        spellings = cls()
        for title in titles:
            for place, (word, written) in enumerate(_words(title)):
                counts = spellings.inside if place else spellings.first
                counts.setdefault(word, Counter())[written] += 1
        return spellings

    def spelt(self, text: str) -> str:
        """Return a normalised text as titles write its words most often.

        >>> Spellings.of(["Player for MP3 files", "an mp3 player", "MP3 tagger", "the MP3 files"]).spelt("mp3 player")
        'MP3 player'
        """
        return " ".join(map(self._word, text.split()))

    def _word(self, word: str) -> str:
        if word in self.inside:
            return max(self.inside[word].items(), key=lambda item: (item[1], item[0]))[0]
        written = max(self.first.get(word, Counter({word: 1})).items(), key=lambda item: (item[1], item[0]))[
            0
        ]
        return word if written[1:] == word[1:] else written


def _words(title: str) -> Iterator[tuple[str, str]]:
    """The words of a title, normalised and as written; parts that normalise to other numbers of words are left out."""
    for words, written in spelt_parts(title):
        if len(words) == len(written):
            yield from zip(words, written, strict=True)


def _wanted(engine: Engine, documents: pa.Table) -> np.ndarray:
    """1 + Σ clicks / p[logged rank] of each document."""
    weight = engine.ordered_sum("s.recency * c.weight * coalesce(c.rank, 1)", "c.search")
    clicks = engine.arrow(
        f"""SELECT c.document_id, {weight} AS wanted
            FROM clicks AS c JOIN searches AS s ON s.search = c.search
            WHERE s.split <> 'test' GROUP BY c.document_id"""
    )
    names = documents["document"].combine_chunks().cast(pa.string())
    place = pc.index_in(names, value_set=clicks["document_id"].combine_chunks()).fill_null(-1).to_numpy()
    return 1.0 + np.append(clicks["wanted"].to_numpy(), 0.0)[place]


def _attributes(documents: pa.Table) -> list[str]:
    """The text columns that have few values."""
    most = min(MOST_VALUES, documents.num_rows // 2)
    names = (
        name for name in documents.column_names if name not in ("document", "name", "title", "available")
    )
    return [name for name in names if 1 < pc.count_distinct(documents[name]).as_py() <= most]


def _values(column: pa.ChunkedArray) -> list[str]:
    """The values with a letter; others are empty."""
    return [value if any(map(str.isalpha, value)) else "" for value in pc.fill_null(column, "").to_pylist()]


def _disjoint(value: str, phrase: str) -> bool:
    return set(value.split()).isdisjoint(phrase.split())
