"""Swaps: rank changes that have nothing to do with relevance, and impressions of the page that was displayed.

In a share of the searches, two results of the first page, drawn at random, change places before the person looks at
it. Only so can a log tell position from relevance: without swaps, a query shows each document at one rank.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.simulation.world import Hits, World

PAGE = 10
"""Results of the first page."""
NOTHING = -1
IMPRESSIONS_SCHEMA = pa.schema(
    [
        ("search_id", pa.int64()),
        ("query", pa.string()),
        ("document", pa.string()),
        ("rank", pa.int32()),
        ("clicked", pa.bool_()),
    ]
)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def check_share(share: float) -> None:
    """Raise `WaywordError` unless it is a share."""
    if not 0 <= share <= 1:
        raise WaywordError(f"Found swaps = {share}; expected a share of the searches from 0 to 1.")


@dataclass(frozen=True)
class Pages:
    """The first page of each query: `document[q, k]` stands at rank k + 1; `NOTHING` below the last result."""

    document: Integers
    share: float

    @classmethod
    def of(cls, world: World, share: float) -> "Pages":
        """The first pages of a world, of which a share is swapped."""
        rows = world.rankings.filter(pc.less_equal(world.rankings["rank"], PAGE))
        query = pc.index_in(rows["query"], value_set=world.queries).to_numpy()
        names = world.documents["document"].combine_chunks()
        document = np.full((len(world.queries), PAGE), NOTHING, np.int64)
        document[query, rows["rank"].to_numpy() - 1] = pc.index_in(
            rows["document"], value_set=names
        ).to_numpy()
        return cls(document, share)

    def draw(self, rng: np.random.Generator, query: Integers) -> Integers:
        """The two ranks that change places in a search of each query (rows); equal ones where none do."""
        length = np.count_nonzero(self.document[query] != NOTHING, axis=1)
        swapped, first, second = rng.random((3, len(query)))
        above = np.floor(first * length).astype(np.int64)
        below = np.floor(second * (length - 1)).astype(np.int64)
        below += below >= above
        none = (swapped >= self.share) | (length < 2)
        return np.where(none[:, None], 1, np.column_stack([above, below]) + 1)

    def click_rate(self, world: World, hits: Hits, examination: Floats) -> float:
        """The probability that a search ends in a click (see `world.click_rate`)."""
        looked = self.mean_examination(examination, world.intents.query[hits.owner], hits.rank)
        return float(np.sum(world.intents.probability[hits.owner] * looked))

    def mean_examination(self, examination: Floats, query: Integers, rank: Integers) -> Floats:
        """The mean examination of what the rankings have at these ranks of these queries, over the swaps.

        A result of a page of n moves with probability 2/n where two change places, to each of the other ranks alike.
        """
        length = np.count_nonzero(self.document[query] != NOTHING, axis=1)
        p = examination[rank - 1]
        on_page = np.r_[0.0, np.cumsum(examination[:PAGE])][np.minimum(length, len(examination))]
        elsewhere = (on_page - p) / np.maximum(length - 1, 1)
        moved = np.where((rank <= length) & (length > 1), self.share * 2 / np.maximum(length, 1), 0.0)
        return np.asarray(p + moved * (elsewhere - p))

    def shown(
        self, query: Integers, swapped: Integers | None, document: Integers, clicked: NDArray[np.bool_]
    ) -> tuple[Integers, Integers, Integers, NDArray[np.bool_]]:
        """The search (a position), document, rank and click of each displayed result, in order.

        `document` is valid where `clicked`.
        """
        page = self.document[query]
        if swapped is not None:
            rows, above, below = np.arange(len(query)), *(swapped.T - 1)
            page[rows, above], page[rows, below] = page[rows, below], page[rows, above]
        search, place = np.nonzero(page != NOTHING)
        shown = page[search, place]
        return search, shown, place + 1, clicked[search] & (shown == document[search])


def produced(rank: Integers, swapped: Integers) -> Integers:
    """The rank in the rankings of what stands at a displayed rank.

    >>> produced(np.array([1, 2, 3]), np.array([[1, 3]] * 3)).tolist()
    [3, 2, 1]
    """
    above, below = swapped.T
    return np.where(rank == above, below, np.where(rank == below, above, rank))
