"""Contexts as arrays. A context is what is known at completion time: a table with `prefix` and any extra columns."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

PREFIX = "prefix"
MAX_CATEGORIES = 256


@dataclass(frozen=True)
class ContextColumns:
    """The extra context columns of a log as numbers: one-hot for text, standardised for numbers, missing = zeros.

    `categories` maps a text column to its known values (most frequent first), `scales` a numeric one to mean and
    standard deviation. A value never seen in training is all zeros, as is a column that the caller leaves out.
    """

    categories: dict[str, list[str]]
    scales: dict[str, tuple[float, float]]

    @classmethod
    def fit(cls, contexts: pa.Table) -> "ContextColumns":
        """Fit categories and scales to a table of contexts."""
        categories: dict[str, list[str]] = {}
        scales: dict[str, tuple[float, float]] = {}
        for name in contexts.column_names:
            column = contexts[name]
            if name == PREFIX:
                continue
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                mean, deviation = pc.mean(column).as_py(), pc.stddev(column).as_py()
                scales[name] = (mean or 0.0, deviation or 1.0)
            else:
                counts = pc.value_counts(pc.drop_null(column.cast(pa.string()).combine_chunks())).to_pylist()
                ordered = sorted(counts, key=lambda row: (-row["counts"], row["values"]))
                categories[name] = [row["values"] for row in ordered[:MAX_CATEGORIES]]
        return cls(categories, scales)

    @property
    def names(self) -> list[str]:
        """The columns, text ones first, each in the log's order."""
        return [*self.categories, *self.scales]

    @property
    def width(self) -> int:
        """Number of features of the extra columns."""
        return sum(map(len, self.categories.values())) + len(self.scales)

    def matrix(self, contexts: pa.Table) -> NDArray[np.float32]:
        """The features of the extra columns, one row per context."""
        blocks = [np.zeros((contexts.num_rows, 0), dtype=np.float32)]
        for name, values in self.categories.items():
            block = np.zeros((contexts.num_rows, len(values)), dtype=np.float32)
            if name in contexts.column_names:
                category = pc.index_in(
                    contexts[name].cast(pa.string()), value_set=pa.array(values, pa.string())
                )
                place = category.fill_null(-1).to_numpy()
                rows = np.flatnonzero(place >= 0)
                block[rows, place[rows]] = 1.0
            blocks.append(block)
        for name, (mean, deviation) in self.scales.items():
            block = np.zeros((contexts.num_rows, 1), dtype=np.float32)
            if name in contexts.column_names:
                raw = pc.fill_null(contexts[name].cast(pa.float64()), mean).to_numpy()
                block[:, 0] = (raw - mean) / deviation
            blocks.append(block)
        return np.hstack(blocks)

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(
            json.dumps({"categories": self.categories, "scales": self.scales}, ensure_ascii=False),
            encoding="utf-8",
        )

    @classmethod
    def load(cls, path: Path) -> "ContextColumns":
        """Read what `save` wrote."""
        saved = json.loads(path.read_text(encoding="utf-8"))
        return cls(saved["categories"], {name: (m, s) for name, (m, s) in saved["scales"].items()})


def from_prefixes(prefixes: list[str]) -> pa.Table:
    """A table of contexts with (normalised) prefixes and no extra columns."""
    return pa.table({PREFIX: pa.array(prefixes, pa.string())})
