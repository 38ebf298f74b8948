"""Click data: what features are computed from, and its parts by documents.

All sums over other pairs that features need are over pairs of the same document, or of the same query. Those of a query
are made once, for all pairs; then the features of the pairs of some documents need no other pair. So they are computed
block by block of documents, with the same result as at once, and memory is bounded by the block.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand.click_sums import FOLDS, Folds, Singles, similar_document_clicks
from wayword.demand.observations import Floats, Observations
from wayword.demand.similarity import Similarity

SPANS = 64
"""Parts of the queries that threads take in turn."""


@dataclass(frozen=True)
class SimilarClicks:
    """For each pair, similar documents clicked for the same query, those that would be if relevant, both weighted by
    similarity, and the similarity of the most similar clicked one."""

    clicks: Singles
    expected_clicks: Singles
    closest: Singles

    def take(self, rows: NDArray[np.int64]) -> "SimilarClicks":
        """Those of some pairs."""
        return SimilarClicks(self.clicks[rows], self.expected_clicks[rows], self.closest[rows])


@dataclass(frozen=True)
class ClickData:
    """The clicks of each pair, beside those that were expected, and the sums over the pairs of each query.

    Documents are numbered from `first_document`.
    """

    observations: Observations
    clicks: Floats
    expected_clicks: Floats
    similarity: Similarity
    interactions: Floats
    """Log-odds of relevance by `word_interactions`."""
    fold: Folds
    mean_rate: float
    similar: SimilarClicks
    clicked_documents: Floats
    """Number of clicked documents of each query."""
    returned_documents: Floats
    """Number of documents that each query returns."""
    clicked_groups: csr_array
    """All documents × queries: which queries clicked the document."""
    first_document: int = 0

    @classmethod
    def of(
        cls,
        observations: Observations,
        clicks: Floats,
        query_rate: Floats,
        similarity: Similarity,
        interactions: Floats,
        *,
        threads: int = 1,
    ) -> "ClickData":
        """`clicks` are those of each pair, `query_rate` that of each query."""
        expected = observations.expected_clicks(query_rate)
        mean = float(max(clicks.sum() / max(expected.sum(), 1e-12), 1e-9))
        clicked = clicks > 0
        return cls(
            observations,
            clicks,
            expected,
            similarity,
            interactions,
            folds(observations),
            mean,
            _similar_clicks(observations, clicked, expected, similarity, threads),
            observations.sum_by_query(clicked.astype(np.float64)),
            observations.sum_by_query((observations.current_propensity > 0).astype(np.float64)),
            csr_array(
                (np.ones(int(clicked.sum())), (observations.document[clicked], observations.query[clicked])),
                shape=(observations.documents, observations.queries),
            ),
        )

    def parts(self, pairs: int) -> list["Part"]:
        """Parts of about so many pairs, each with all pairs of its documents."""
        observations = self.observations
        order = np.argsort(observations.document, kind="stable")
        ends = np.cumsum(np.bincount(observations.document, minlength=observations.documents))
        found, first, start = [], 0, 0
        while first < observations.documents:
            last = max(int(np.searchsorted(ends, start + pairs, side="right")), first + 1)
            end = int(ends[last - 1])
            if end > start:
                found.append(Part(np.sort(order[start:end]).astype(np.int64), first, last))
            first, start = last, end
        return found

    def of_part(self, part: "Part") -> "ClickData":
        """The data of the pairs of a part."""
        rows = part.pairs
        return ClickData(
            self.observations.of_documents(rows, part.first, part.last),
            self.clicks[rows],
            self.expected_clicks[rows],
            self.similarity,
            self.interactions[rows],
            self.fold[rows],
            self.mean_rate,
            self.similar.take(rows),
            self.clicked_documents,
            self.returned_documents,
            self.clicked_groups,
            part.first,
        )


@dataclass(frozen=True)
class Part:
    """The pairs (ascending) of the documents `first` to `last` − 1."""

    pairs: NDArray[np.int64]
    first: int
    last: int


def folds(observations: Observations) -> Folds:
    """The fold of each pair."""
    return np.random.default_rng(0).integers(0, FOLDS, len(observations)).astype(np.int8)


def _similar_clicks(
    observations: Observations,
    clicked: NDArray[np.bool_],
    expected_clicks: Floats,
    similarity: Similarity,
    threads: int,
) -> SimilarClicks:
    found = SimilarClicks(*(np.zeros(len(observations), np.float32) for _ in range(3)))
    near, bounds = similarity.similar_documents, np.linspace(0, observations.queries, SPANS + 1).astype(int)

    def fill(part: int) -> None:
        similar_document_clicks(
            (int(bounds[part]), int(bounds[part + 1])),
            (observations.starts, observations.document),
            clicked,
            expected_clicks,
            near.other,
            near.similarity,
            (found.clicks, found.expected_clicks, found.closest),
        )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(SPANS)))
    return found
