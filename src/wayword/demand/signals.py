"""Click signals: clicks and expected clicks of other pairs that tell whether a pair's document is relevant.

Expected clicks are those that a pair would have if its document were relevant (query rate · p), so that documents that
nobody examined are not counted as irrelevant. No click on the pair itself enters its own signals, so the same clicks
can serve as labels. Where the clicks of a document are summed over many queries, leaving out only the pair itself would
still reveal its label: of a document with 100 clicks, the pairs that see 99 elsewhere are those with one click. So
pairs are assigned to folds, and the pair's whole fold is left out of these sums.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand.click_data import ClickData
from wayword.demand.click_sums import (
    FOLDS,
    GROUP_PRIOR,
    Graph,
    Singles,
    cosine_clicks,
    group_clicks,
    neighbour_clicks,
)
from wayword.demand.observations import Floats, Observations
from wayword.demand.similarity import Neighbours, Similarity, csr_arrays

Column = NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int64]
Shared = TypeVar("Shared")

DOCUMENT_PRIOR, SIMILAR_PRIOR = 1.0, 0.1
"""Expected clicks by which the rate of a document is shrunk to the mean, and those of similar documents."""


@dataclass(frozen=True)
class Signals:
    """Click data, and what is computed from it for every pair. `memo` keeps results that several features share."""

    data: ClickData
    document_clicks: Floats
    """Clicks on the document in other folds."""
    document_rate: Floats
    memo: dict[Callable[["Signals"], object], object] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ClickData) -> "Signals":
        """The signals of all pairs of the data."""
        others = _of_other_folds(data, data.clicks)
        rate = (others + DOCUMENT_PRIOR * data.mean_rate) / (
            _of_other_folds(data, data.expected_clicks) + DOCUMENT_PRIOR
        )
        return cls(data, others, rate)

    @property
    def observations(self) -> Observations:
        """The pairs."""
        return self.data.observations

    @property
    def similarity(self) -> Similarity:
        """Of queries and of documents."""
        return self.data.similarity

    @property
    def graph(self) -> Graph:
        """The pairs as compiled code takes them."""
        return self.observations.starts, self.observations.document

    def shared(self, source: Callable[["Signals"], Shared]) -> Shared:
        """The result of `source`, computed once."""
        if source not in self.memo:
            self.memo[source] = source(self)
        return self.memo[source]  # type: ignore[return-value]


class GroupClicks(NamedTuple):
    """Clicks on a pair's document by groups of queries that its query belongs to, without the pair's fold."""

    best_rate: Singles
    """Largest rate (clicks/expected clicks, shrunk to the document's) of a group."""
    best_clicks: Singles
    """Clicks of that group."""
    best_expected_clicks: Singles
    second_rate: Singles
    clicking_queries: Singles
    """Largest number of queries of one group that clicked the document."""
    clicking_share: Singles
    """Largest share of the queries of one group that clicked the document."""
    log_lift: Singles
    """Sum over groups of log(rate / document's rate)."""
    rate: Singles
    """Rate over all groups, each weighted by 1/size."""
    clicks: Singles
    """Clicks of all groups, each weighted by 1/size."""


class NeighbourClicks(NamedTuple):
    """Clicks and expected clicks of neighbours weighted by similarity; the similarity of the nearest clicked one."""

    clicks: Column
    expected_clicks: Column
    rate: Column
    closest: Column


def by_group(signals: Signals, kind: str) -> GroupClicks:
    """Clicks on the document by the groups of this kind that the query belongs to.

    Groups of kind "clicked" are the queries that clicked another document; they are made from the clicks.
    """
    data, own = signals.data, kind == "clicked"
    groups = data.clicked_groups if own else signals.similarity.groups[kind]
    best, best_clicks, best_expected, second, queries, share, lift, clicks, expected = group_clicks(
        groups.indptr.astype(np.int64),
        groups.indices.astype(np.int32),
        signals.graph,
        data.clicks,
        data.expected_clicks,
        signals.document_rate,
        data.fold,
        data.observations.documents,
        data.first_document if own else -1,
    )
    rate = (clicks + SIMILAR_PRIOR * data.mean_rate) / (expected + SIMILAR_PRIOR)
    return GroupClicks(
        best,
        best_clicks,
        best_expected,
        second,
        queries,
        share,
        lift,
        rate.astype(np.float32),
        clicks.astype(np.float32),
    )


def by_similar_queries(signals: Signals, neighbours: Neighbours) -> NeighbourClicks:
    """Clicks on the document by neighbours of the query."""
    data = signals.data
    clicks, expected, closest = neighbour_clicks(
        signals.graph,
        data.clicks,
        data.expected_clicks,
        neighbours.other,
        neighbours.similarity,
        data.observations.documents,
    )
    return NeighbourClicks(clicks, expected, (clicks + data.mean_rate) / (expected + 1.0), closest)


def by_similar_documents(signals: Signals) -> NeighbourClicks:
    """Similar documents clicked for the same query, beside the probability that each would be if relevant."""
    own = signals.data.similar
    rate = own.clicks / (own.expected_clicks + SIMILAR_PRIOR)
    return NeighbourClicks(own.clicks, own.expected_clicks, rate, own.closest)


def by_similar_documents_of_similar_queries(signals: Signals, neighbours: Neighbours) -> NeighbourClicks:
    """`by_similar_documents` of the same document for neighbours of the query."""
    own = signals.data.similar
    clicks, expected, closest = neighbour_clicks(
        signals.graph,
        own.clicks.astype(np.float64),
        own.expected_clicks.astype(np.float64),
        neighbours.other,
        neighbours.similarity,
        signals.observations.documents,
    )
    return NeighbourClicks(clicks, expected, clicks / (expected + SIMILAR_PRIOR), closest)


def by_all_queries(signals: Signals, vectors: csr_array) -> NeighbourClicks:
    """Clicks on the document by all queries of other folds, weighted by cosine. `closest` is not computed."""
    data, observations = signals.data, signals.observations
    order = np.argsort(observations.document, kind="stable")
    starts = np.searchsorted(observations.document[order], np.arange(observations.documents + 1))
    clicks, expected = map(
        _remainder,
        cosine_clicks(
            starts,
            order,
            observations.query,
            data.clicks,
            data.expected_clicks,
            data.fold,
            csr_arrays(vectors),
            vectors.shape[1],
        ),
    )
    rate = (clicks + GROUP_PRIOR * data.mean_rate) / (expected + GROUP_PRIOR)
    return NeighbourClicks(clicks, expected, rate, np.zeros(0))


def _of_other_folds(data: ClickData, values: Floats) -> Floats:
    """For each pair, the sum of the values of its document's pairs in other folds."""
    observations = data.observations
    owner = observations.document.astype(np.int64) * FOLDS + data.fold
    of_fold = np.bincount(owner, weights=values, minlength=observations.documents * FOLDS)
    return _remainder(observations.sum_by_document(values)[observations.document] - of_fold[owner])


def _remainder(values: Floats) -> Floats:
    """Remove rounding errors from the difference of two sums of counts: values that should be 0 become 0."""
    result: Floats = np.maximum(np.round(values, 9), 0.0)
    return result
