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


def popularity(rankings: Path, *splits: str, acceptance: Path | None = None) -> NDArray[np.int64]:
    """Count the searches of the splits that issued each query; a query without results counts 0.

    `rankings` is the folder of the artefact of that name. With the folder `acceptance`, a search whose query was taken
    from a list counts for the queries that it may have intended, by their probabilities; sums are rounded.
    """
    ranked = tables.read(rankings, "queries", "ranked")["ranked"].to_numpy(zero_copy_only=False)
    searches = tables.read(rankings, "numbered_searches", "search", "split", "query")
    chosen = searches.filter(pc.is_in(searches["split"], value_set=pa.array(splits)))
    if acceptance is not None:
        return np.where(ranked, _intended(chosen, tables.read(acceptance, INTENDED), len(ranked)), 0)
    counts = np.bincount(chosen["query"].to_numpy(), minlength=len(ranked))
    return np.where(ranked, counts, 0).astype(np.int64)


def _intended(searches: pa.Table, intended: pa.Table, queries: int) -> NDArray[np.int64]:
    """Count searches by what they intended."""
    typed = searches.filter(
        pc.invert(pc.is_in(searches["search"], value_set=intended["search"].combine_chunks()))
    )
    taken = intended.filter(pc.is_in(intended["search"], value_set=searches["search"].combine_chunks()))
    counts = np.bincount(typed["query"].to_numpy(), minlength=queries) + np.bincount(
        taken["query"].to_numpy(), weights=taken["probability"].to_numpy(), minlength=queries
    )
    return np.rint(counts).astype(np.int64)


LAST = chr(0x10FFFF)
"""Sorts after every other character."""


class PopularRetriever:
    """Matches prefixes exactly and ignores context columns. Queries are numbered in the order of their texts."""

    def __init__(self, texts: Sequence[str], popularity: NDArray[np.int64], *, cached: int = 1 << 16) -> None:
        """`cached` is the number of prefixes whose lists are cached."""
        self._texts = texts
        self._popularity = popularity
        self._best = lru_cache(maxsize=cached)(self._search)

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Retriever.retrieve`; a prefix that no searched query starts with gets no candidate.

        >>> popular = PopularRetriever(["mail", "map", "music"], np.array([1, 5, 2]))
        >>> popular.retrieve(pa.table({"prefix": ["ma", "x"]}), k=2).query.tolist()
        [1, 0]
        """
        lists = [self._best(prefix, k) for prefix in contexts[PREFIX].to_pylist()]
        query = np.concatenate([*lists, np.zeros(0, np.int32)])
        context = np.repeat(np.arange(len(lists), dtype=np.int32), [len(one) for one in lists])
        return Candidates(context, query, self._popularity[query].astype(np.float32)).of("popular")

    def total(self, prefix: str) -> int:
        """Count the searches for queries that start with the prefix."""
        low, high = self._range(prefix)
        return int(self._popularity[low:high].sum())

    def _range(self, prefix: str) -> tuple[int, int]:
        low = bisect_left(self._texts, prefix)
        return low, bisect_left(self._texts, prefix + LAST, lo=low)

    def _search(self, prefix: str, k: int) -> NDArray[np.int32]:
        low, high = self._range(prefix)
        counts = self._popularity[low:high]
        least = np.partition(counts, -k)[-k] if k < len(counts) else 0
        kept = np.flatnonzero(counts >= max(int(least), 1))
        return (low + kept[np.lexsort((kept, -counts[kept]))[:k]]).astype(np.int32)
