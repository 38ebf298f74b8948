"""Observations: every (query, document) pair that the rankings return or that was clicked, and sums over them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Pair i is (`query[i]`, `document[i]`), sorted by both; those of query q are `starts[q]` to `starts[q + 1]`."""

    starts: NDArray[np.int64]
    document: NDArray[np.int32]
    propensity: Floats
    """p[rank] at which the document was shown while the log was recorded."""
    documents: int
    """Number of documents of the universe."""
    changed_propensity: Floats | None = None
    """p[rank] by the current rankings, 0 where they lack the document; None if no rank has changed."""

    @classmethod
    def of(cls, returned: csr_array, clicked: pa.Table) -> "Observations":
        """Join p[rank] of the rankings (queries × documents) with the clicks (query, document, weight, ips_weight).

        `ips_weight` = Σ weight/p[logged rank], so a clicked document was shown at the mean propensity
        weight/ips_weight, also where the rankings have changed since.
        """
        queries, documents = returned.shape
        query, document = clicked["query"].to_numpy(), clicked["document"].to_numpy()
        weight, ips_weight = clicked["weight"].to_numpy(), clicked["ips_weight"].to_numpy()
        logged = np.divide(weight, ips_weight, out=np.ones_like(ips_weight), where=ips_weight > 0)
        rows = np.repeat(np.arange(queries), np.diff(returned.indptr))
        keys = np.r_[
            query.astype(np.int64) * documents + document,
            rows.astype(np.int64) * documents + returned.indices,
        ]
        returned_keys = keys[len(query) :]
        keys, first = np.unique(keys, return_index=True)
        current = np.zeros(len(keys))
        current[np.searchsorted(keys, returned_keys)] = returned.data
        propensity = np.r_[logged, returned.data][first]
        same = np.isclose(propensity, current, rtol=1e-9, atol=0.0)  # equal up to rounding
        propensity = np.where(same, current, propensity)
        starts = np.searchsorted(keys, np.arange(queries + 1, dtype=np.int64) * documents)
        changed = current if (propensity != current).any() else None
        return cls(starts, (keys % documents).astype(np.int32), propensity, documents, changed)

    def __len__(self) -> int:
        return len(self.document)

    @property
    def queries(self) -> int:
        """Number of queries, including those without a pair."""
        return len(self.starts) - 1

    @cached_property
    def query(self) -> NDArray[np.int32]:
        """The query of each pair."""
        return np.repeat(np.arange(self.queries, dtype=np.int32), np.diff(self.starts))

    @property
    def current_propensity(self) -> Floats:
        """p[rank] by the current rankings, independent of the clicks."""
        return self.propensity if self.changed_propensity is None else self.changed_propensity

    def of_documents(self, rows: NDArray[np.int64], first: int, last: int) -> "Observations":
        """The pairs `rows`, which are all pairs of the documents `first` to `last` − 1; `first` becomes document 0."""
        changed = self.changed_propensity
        return Observations(
            np.searchsorted(rows, self.starts),
            self.document[rows] - np.int32(first),
            self.propensity[rows],
            last - first,
            None if changed is None else changed[rows],
        )

    def expected_clicks(self, query_rate: Floats) -> Floats:
        """Clicks that each pair would get if its document were relevant: query_rate · p."""
        return query_rate[self.query] * self.propensity

    def examination(self, query_rate: Floats) -> Floats:
        """Probability 1 − exp(−query_rate · p) that a relevant document of the pair is clicked at least once."""
        return -np.expm1(-self.expected_clicks(query_rate))

    def clicks(self, clicked: pa.Table, of: str = "weight") -> Floats:
        """The weight of the clicks on each pair, or another column of `clicked`, which has a row for each pair."""
        wanted = (
            clicked["query"].to_numpy().astype(np.int64) * self.documents + clicked["document"].to_numpy()
        )
        keys = self.query.astype(np.int64) * self.documents + self.document
        return _sums(np.searchsorted(keys, wanted), clicked[of].to_numpy(), len(self))

    def sum_by_query(self, values: Floats) -> Floats:
        """The sum of the pairs' values for each query."""
        return _sums(self.query, values, self.queries)

    def sum_by_document(self, values: Floats) -> Floats:
        """The sum of the pairs' values for each document."""
        return _sums(self.document, values, self.documents)


def _sums(owner: NDArray[np.integer], values: Floats, size: int) -> Floats:
    return np.bincount(owner, weights=values, minlength=size).astype(np.float64)
