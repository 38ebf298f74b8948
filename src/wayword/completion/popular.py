"""Most popular completion: the queries that start with the prefix, most frequent first.

This is MPC of Bar-Yossef and Kraus, "Context-sensitive query auto-completion" (WWW 2011). The paper's baselines do not
include it; it is strong at rank 1.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.engines import tables
from wayword.logs.contexts import PREFIX

INTENDED = "intended"
"""The table (search, query, probability) of what people intended who took a suggestion."""


def popularity(
    rankings: Path, *splits: str, acceptance: Path | None = None, weighted: bool = True
) -> NDArray[np.float64]:
    """Sum the recency of the searches of the splits that issued each query; a query without results has 0.

    `rankings` is the folder of the artefact of that name. With the folder `acceptance`, a search whose query was taken
    from a list counts for the queries that it may have intended, by their probabilities. If not `weighted`, searches
    are counted; so they are without a half-life, where probabilities are rounded.
    """
    ranked = tables.read(rankings, "queries", "ranked")["ranked"].to_numpy(zero_copy_only=False)
    columns = ("search", "split", "query", "recency")
    if acceptance is not None:
        chosen = _chosen(tables.read(rankings, "numbered_searches", *columns), splits, weighted=weighted)
        return np.where(ranked, _intended(chosen, tables.read(acceptance, INTENDED), len(ranked)), 0)
    total = np.zeros(len(ranked))
    for part in tables.batches(rankings, "numbered_searches", *columns):
        chosen = _chosen(part, splits, weighted=weighted)
        total += _summed(chosen, chosen["recency"].to_numpy(), len(ranked))
    return np.where(ranked, total, 0)


def _chosen(searches: pa.Table, splits: Sequence[str], *, weighted: bool) -> pa.Table:
    """The searches of some splits; if not `weighted`, each has the recency 1."""
    chosen = searches.filter(pc.is_in(searches["split"], value_set=pa.array(splits)))
    return chosen if weighted else chosen.set_column(3, "recency", pa.array(np.ones(chosen.num_rows)))


def _intended(searches: pa.Table, intended: pa.Table, queries: int) -> NDArray[np.float64]:
    """Sum the recency of searches by what they intended."""
    number, recency = searches["search"].combine_chunks(), searches["recency"].to_numpy()
    typed = searches.filter(pc.invert(pc.is_in(number, value_set=intended["search"].combine_chunks())))
    taken = intended.filter(pc.is_in(intended["search"], value_set=number))
    of_taken = recency[pc.index_in(taken["search"], value_set=number).to_numpy()]
    counts = _summed(typed, typed["recency"].to_numpy(), queries) + _summed(
        taken, taken["probability"].to_numpy() * of_taken, queries
    )
    return np.rint(counts) if (recency == 1).all() else counts


def _summed(rows: pa.Table, weights: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    return np.bincount(rows["query"].to_numpy(), weights=weights, minlength=queries).astype(np.float64)


LAST = chr(0x10FFFF)
"""Sorts after every other character."""


class PopularRetriever:
    """Matches prefixes exactly and ignores context columns. Queries are numbered in the order of their texts."""

    def __init__(
        self, texts: Sequence[str], popularity: NDArray[np.float64], *, cached: int = 1 << 16
    ) -> None:
        """`cached` is the number of prefixes whose lists are cached."""
        self._texts = texts
        self._popularity = popularity
        self._best = lru_cache(maxsize=cached)(self._search)

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Retriever.retrieve`; a prefix that no searched query starts with gets no candidate.

        >>> popular = PopularRetriever(["mail", "map", "music"], np.array([1.0, 5, 2]))
        >>> popular.retrieve(pa.table({"prefix": ["ma", "x"]}), k=2).query.tolist()
        [1, 0]
        """
        lists = [self._best(prefix, k) for prefix in contexts[PREFIX].to_pylist()]
        query = np.concatenate([*lists, np.zeros(0, np.int32)])
        context = np.repeat(np.arange(len(lists), dtype=np.int32), [len(one) for one in lists])
        return Candidates(context, query, self._popularity[query].astype(np.float32)).of("popular")

    def total(self, prefix: str) -> float:
        """Sum the searches for queries that start with the prefix."""
        low, high = self._range(prefix)
        return float(self._popularity[low:high].sum())

    def _range(self, prefix: str) -> tuple[int, int]:
        low = bisect_left(self._texts, prefix)
        return low, bisect_left(self._texts, prefix + LAST, lo=low)

    def _search(self, prefix: str, k: int) -> NDArray[np.int32]:
        low, high = self._range(prefix)
        counts = self._popularity[low:high]
        least = np.partition(counts, -k)[-k] if k < len(counts) else 0
        kept = np.flatnonzero((counts >= least) & (counts > 0))
        return (low + kept[np.lexsort((kept, -counts[kept]))[:k]]).astype(np.int32)
