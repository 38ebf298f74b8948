"""Pairs: every document that a query returns, or that was clicked there, with the clicks it got."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Pair i is (`query[i]`, `document[i]`), sorted by both; those of query q are `starts[q]` to `starts[q + 1]`.

    `p` is how likely the document was looked at when the query was issued.
    """

    starts: NDArray[np.int64]
    document: NDArray[np.int32]
    p: Floats
    documents: int
    now: Floats | None = None
    """How likely it is looked at where the rankings have it now, 0 where they lack it; None if all is as it was."""

    @classmethod
    def of(cls, returned: csr_array, clicked: pa.Table, *, most: int = 0) -> "Pairs":
        """From p[rank] of the rankings (queries × documents) and the clicks (query, document, weight, looks).

        `looks` = Σ weight/p[logged rank]. A document that was clicked counts with weight/looks: where the rankings
        have changed since, that is how likely it was looked at when it was shown. Of more than `most` pairs (0: any),
        those that are least likely looked at are left out, but none that was clicked.
        """
        queries, documents = returned.shape
        query, document = clicked["query"].to_numpy(), clicked["document"].to_numpy()
        weight, looks = clicked["weight"].to_numpy(), clicked["looks"].to_numpy()
        shown = np.divide(weight, looks, out=np.ones_like(looks), where=looks > 0)
        rows = np.repeat(np.arange(queries), np.diff(returned.indptr))
        keys = np.r_[
            query.astype(np.int64) * documents + document,
            rows.astype(np.int64) * documents + returned.indices,
        ]
        returned_keys = keys[len(query) :]
        keys, first = np.unique(keys, return_index=True)
        now = np.zeros(len(keys))
        now[np.searchsorted(keys, returned_keys)] = returned.data
        p = np.r_[shown, returned.data][first]
        p = np.where(np.isclose(p, now, rtol=1e-9, atol=0.0), now, p)  # the same but for rounding
        if 0 < most < len(keys):
            keep = first < len(query)
            keep[np.argsort(-p, kind="stable")[:most]] = True
            keys, p, now = keys[keep], p[keep], now[keep]
        starts = np.searchsorted(keys, np.arange(queries + 1, dtype=np.int64) * documents)
        changed = now if (p != now).any() else None
        return cls(starts, (keys % documents).astype(np.int32), p, documents, changed)

    def __len__(self) -> int:
        return len(self.document)

    @property
    def queries(self) -> int:
        """How many queries there are, also those without a pair."""
        return len(self.starts) - 1

    @cached_property
    def query(self) -> NDArray[np.int32]:
        """The query of each pair."""
        return np.repeat(np.arange(self.queries, dtype=np.int32), np.diff(self.starts))

    @property
    def shown(self) -> Floats:
        """How likely each document is looked at by the rankings alone, whatever was clicked."""
        return self.p if self.now is None else self.now

    def clicks(self, clicked: pa.Table) -> Floats:
        """The weight of the clicks on each pair."""
        wanted = (
            clicked["query"].to_numpy().astype(np.int64) * self.documents + clicked["document"].to_numpy()
        )
        keys = self.query.astype(np.int64) * self.documents + self.document
        place = np.searchsorted(keys, wanted)
        return _sums(place, clicked["weight"].to_numpy(), len(self))

    def of_query(self, values: Floats) -> Floats:
        """The sum of the pairs' values for each query."""
        return _sums(self.query, values, self.queries)

    def of_document(self, values: Floats) -> Floats:
        """The sum of the pairs' values for each document."""
        return _sums(self.document, values, self.documents)


def _sums(owner: NDArray[np.integer], values: Floats, size: int) -> Floats:
    return np.bincount(owner, weights=values, minlength=size).astype(np.float64)
