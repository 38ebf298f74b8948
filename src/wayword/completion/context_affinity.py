"""Affinity: factors around 1 by which demand for a document (or a query) changes with the context.

The factor of value c of a context column is P(c | document) / P(c), shrunk to 1 where the log has few searches. Columns
are assumed to be independent. Columns of numbers are ignored.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.logs.contexts import ContextColumns

LARGEST = 20_000_000
"""Largest number of factors of a column; rarer values have the factor 1."""


@dataclass(frozen=True)
class Affinity:
    """`factors[column]` has a row per known value of the column and a last one of ones, for any other value."""

    values: dict[str, list[str]]
    factors: dict[str, NDArray[np.float32]]

    @classmethod
    def fit(
        cls,
        contexts: pa.Table,
        owner: NDArray[np.integer],
        owners: int,
        strength: float,
        weight: NDArray[np.float64] | None = None,
    ) -> "Affinity":
        """Fit to the context and the document (or query) of each search, which counts as `weight`; the prior counts as
        `strength` searches."""
        known = ContextColumns.fit(contexts).categories
        values, factors = {}, {}
        for column, names in known.items():
            kept = names[: max(LARGEST // max(owners, 1), 1)]
            place = pc.index_in(contexts[column].cast(pa.string()), value_set=pa.array(kept, pa.string()))
            place = place.fill_null(len(kept)).to_numpy().astype(np.int64)
            counts = np.bincount(place * owners + owner, weight, minlength=(len(kept) + 1) * owners)
            counts = counts.reshape(len(kept) + 1, owners).astype(np.float64)
            share = counts.sum(axis=1, keepdims=True) / (counts.sum() or 1.0)
            factor = (counts + strength * share) / (counts.sum(axis=0) + strength) / np.maximum(share, 1e-12)
            factor[-1] = 1.0
            values[column], factors[column] = kept, factor.astype(np.float32)
        return cls(values, factors)

    def rows(self, contexts: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return the factors of distinct combinations of values, and each context's combination (-1: no columns)."""
        codes = np.zeros((contexts.num_rows, len(self.values)), np.int64)
        for at, (column, known) in enumerate(self.values.items()):
            if column in contexts.column_names:
                place = pc.index_in(
                    contexts[column].cast(pa.string()), value_set=pa.array(known, pa.string())
                )
                codes[:, at] = place.fill_null(len(known)).to_numpy()
            else:
                codes[:, at] = len(known)
        if not self.values:
            return np.ones((0, 0), np.float32), np.full(contexts.num_rows, -1, np.int32)
        distinct, row = np.unique(codes, axis=0, return_inverse=True)
        factor = np.ones((len(distinct), next(iter(self.factors.values())).shape[1]), np.float32)
        for at, column in enumerate(self.values):
            factor *= self.factors[column][distinct[:, at]]
        return factor, row.ravel().astype(np.int32)
