"""Affinity: how much more a document (or a query) is wanted where the context says something, as factors around 1.

For the value c of a context column:  P(c | document) / P(c), shrunk to 1 where the log says little. Columns are taken
as independent. Numbers are no categories and say nothing here.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.logs.contexts import ContextColumns

LARGEST = 20_000_000
"""So many factors are kept at most; rarer values of a column say nothing."""


@dataclass(frozen=True)
class Affinity:
    """`factors[column]` has a row per known value of the column and a last one of ones, for any other value."""

    values: dict[str, list[str]]
    factors: dict[str, NDArray[np.float32]]

    @classmethod
    def fit(cls, contexts: pa.Table, owner: NDArray[np.integer], owners: int, strength: float) -> "Affinity":
        """From the contexts of searches and what each was for; a factor of 1 is worth `strength` searches."""
        known = ContextColumns.fit(contexts).categories
        values, factors = {}, {}
        for column, names in known.items():
            kept = names[: max(LARGEST // max(owners, 1), 1)]
            found = pc.index_in(contexts[column].cast(pa.string()), value_set=pa.array(kept, pa.string()))
            place = found.fill_null(len(kept)).to_numpy().astype(np.int64)
            counts = np.bincount(place * owners + owner, minlength=(len(kept) + 1) * owners)
            counts = counts.reshape(len(kept) + 1, owners).astype(np.float64)
            share = counts.sum(axis=1, keepdims=True) / max(counts.sum(), 1.0)
            factor = (counts + strength * share) / (counts.sum(axis=0) + strength) / np.maximum(share, 1e-12)
            factor[-1] = 1.0
            values[column], factors[column] = kept, factor.astype(np.float32)
        return cls(values, factors)

    def rows(self, contexts: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """The factors of distinct combinations of values, and which of them each context has (-1: nothing known)."""
        codes = np.zeros((contexts.num_rows, len(self.values)), np.int64)
        for at, (column, known) in enumerate(self.values.items()):
            if column in contexts.column_names:
                found = pc.index_in(
                    contexts[column].cast(pa.string()), value_set=pa.array(known, pa.string())
                )
                codes[:, at] = found.fill_null(len(known)).to_numpy()
            else:
                codes[:, at] = len(known)
        if not self.values:
            return np.ones((0, 0), np.float32), np.full(contexts.num_rows, -1, np.int32)
        distinct, row = np.unique(codes, axis=0, return_inverse=True)
        factor = np.ones((len(distinct), next(iter(self.factors.values())).shape[1]), np.float32)
        for at, column in enumerate(self.values):
            factor *= self.factors[column][distinct[:, at]]
        return factor, row.ravel().astype(np.int32)
