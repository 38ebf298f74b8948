"""Queries as simulated people compare them: by words, by spelling, and by how well a result page serves a person.

The comparisons are the simulation's own. They use neither the product's word forms nor its features, so that what
the product learns about people is not what it was told.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.numba_jit import compiled
from wayword.simulation.click_model import examination_probabilities
from wayword.simulation.world import World
from wayword.store.compressed_rows import CompressedRows

STEM = 5
"""Characters of a word that people compare."""
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Queries:
    """The queries of a world, numbered as there, then other texts that a list may show; arrays by query number."""

    texts: list[str]
    stems: CompressedRows
    """The distinct stems of each query, sorted numbers."""
    spelling: Integers
    """Queries that differ only in spaces and accents have the same number."""
    pages: csr_array
    """Queries × documents: p[rank], the probability that the document is looked at."""
    wants: csr_array
    """Queries × documents: P(a person intends the query and the document is relevant to them)."""
    own: Floats
    """⟨wants, pages⟩ of each query: P(a person intends the query and clicks on its page)."""
    probability: Floats
    """P(a person intends the query)."""

    @classmethod
    def of(
        cls, world: World, others: Iterable[str] = (), *, alpha: float = 1.0, returned_only: bool = False
    ) -> "Queries":
        """Read them from a world. Texts of `others` that it does not know return nothing.

        With `returned_only`, a person wants only what the intended query returns, as in `truth.parquet`.
        """
        known = world.queries.to_pylist()
        texts = list(dict.fromkeys([*known, *others]))
        pages = _pages(world, len(texts), alpha)
        wants = _wants(world, len(texts))
        if returned_only:
            wants = csr_array(wants.multiply(pages.astype(bool)))
        probability = np.bincount(world.intents.query, world.intents.probability, minlength=len(texts))
        own = np.asarray(wants.multiply(pages).sum(axis=1)).ravel()
        stems, spelling = _stems(texts), _numbered([_without_accents(text) for text in texts])
        return cls(texts, stems, spelling, pages, wants, own, probability / probability.sum())

    def jaccard(self, intended: Integers, suggested: Integers) -> Floats:
        """Shared stems / all stems of each pair of queries.

        >>> stems = _stems(["video player", "players of videos", "mail"])
        >>> _jaccard(*stems.indexed, np.array([0, 0]), np.array([1, 2])).tolist() == [2 / 3, 0.0]
        True
        """
        similarity: Floats = _jaccard(*self.stems.indexed, intended, suggested)
        return similarity

    def same_spelling(self, intended: Integers, suggested: Integers) -> Floats:
        """1 for each pair of queries that differ only in spaces and accents, else 0."""
        return (self.spelling[intended] == self.spelling[suggested]).astype(np.float64)

    def utility(self, intended: Integers, suggested: Integers) -> Floats:
        """u(q | q̄) of each pair: the clicks on the suggestion's page relative to those on the intended query's.

            u(q | q̄) = ⟨wants(q̄), pages(q)⟩ / ⟨wants(q̄), pages(q̄)⟩

        Where the intended query's own page has nothing that people want, nothing can be compared, and u is 1.
        Pairs that are sorted by intended query are fastest.
        """
        wants, pages = self.wants, self.pages
        clicks = _products(
            (wants.indptr, wants.indices, wants.data),
            (pages.indptr, pages.indices, pages.data),
            intended,
            suggested,
            wants.shape[1],
        )
        own = self.own[intended]
        return np.divide(clicks, own, out=np.ones(len(own)), where=(own > 0) & (intended != suggested))


def _pages(world: World, count: int, alpha: float) -> csr_array:
    query, document = ranked_numbers(world)
    p = examination_probabilities(world.depth, alpha=alpha)[world.rankings["rank"].to_numpy() - 1]
    return csr_array((p, (query, document)), shape=(count, world.documents.num_rows))


def ranked_numbers(world: World) -> tuple[Integers, Integers]:
    """Return the query and document numbers of the rows of a world's rankings."""
    names = world.documents["document"].combine_chunks()
    query = pc.index_in(world.rankings["query"], value_set=world.queries).to_numpy()
    document = pc.index_in(world.rankings["document"], value_set=names).to_numpy()
    return query.astype(np.int64), document.astype(np.int64)


def _wants(world: World, count: int) -> csr_array:
    intents = world.intents
    mass = intents.probability[intents.owner] / intents.probability.sum()
    return csr_array(
        (mass, (intents.query[intents.owner], intents.document)), shape=(count, world.documents.num_rows)
    )


def stem(word: str) -> str:
    """Return a crude stem: no final s, and the first characters only.

    >>> [stem(word) for word in ("players", "playing", "gas", "video")]
    ['playe', 'playi', 'gas', 'video']
    """
    singular = word[:-1] if len(word) > 3 and word.endswith("s") else word
    return singular[:STEM]


def _stems(texts: Sequence[str]) -> CompressedRows:
    split = [text.split() for text in texts]
    numbers = _numbered([stem(word) for words in split for word in words])
    return CompressedRows.from_lengths(numbers, np.fromiter(map(len, split), np.int64, len(split))).distinct()


def _numbered(values: Sequence[str]) -> Integers:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.fromiter((numbers[value] for value in values), np.int64, len(values))


def _without_accents(text: str) -> str:
    """Return the text without spaces and combining marks.

    >>> _without_accents("café back pack")
    'cafebackpack'
    """
    plain = text.replace(" ", "")
    if plain.isascii():
        return plain
    decomposed = unicodedata.normalize("NFD", plain)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


@compiled
def _jaccard(offsets: Any, stems: Any, intended: Any, suggested: Any) -> Any:
    """Merge the two sorted rows of each pair."""
    similarity = np.zeros(len(intended))
    for pair in range(len(intended)):
        left, left_end = offsets[intended[pair]], offsets[intended[pair] + 1]
        right, right_end = offsets[suggested[pair]], offsets[suggested[pair] + 1]
        both, total = 0, left_end - left + right_end - right
        while left < left_end and right < right_end:
            if stems[left] == stems[right]:
                both += 1
                left += 1
                right += 1
            elif stems[left] < stems[right]:
                left += 1
            else:
                right += 1
        if total > both:
            similarity[pair] = both / (total - both)
    return similarity


@compiled
def _products(wants: Any, pages: Any, intended: Any, suggested: Any, documents: Any) -> Any:
    """⟨wants(intended), page(suggested)⟩ of each pair; wants are laid out once for a run of equal intended queries."""
    want_offsets, want_documents, want_mass = wants
    page_offsets, page_documents, page_p = pages
    products = np.zeros(len(intended))
    wanted = np.zeros(documents)
    current = -1
    for pair in range(len(intended)):
        query = intended[pair]
        if query != current:
            if current >= 0:
                for n in range(want_offsets[current], want_offsets[current + 1]):
                    wanted[want_documents[n]] = 0.0
            for n in range(want_offsets[query], want_offsets[query + 1]):
                wanted[want_documents[n]] = want_mass[n]
            current = query
        total = 0.0
        for n in range(page_offsets[suggested[pair]], page_offsets[suggested[pair] + 1]):
            total += wanted[page_documents[n]] * page_p[n]
        products[pair] = total
    return products
