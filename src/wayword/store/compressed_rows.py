"""Rows of different lengths as flat arrays and offsets (CSR): words of texts, sparse matrices, encoded strings.

One saved form: `<name>.<field>.npy` for each array. One check, made by `load`: a file that was changed is an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wayword.store.arrays import check_numbers, load_array, read_only, save_array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class CompressedRows:
    """Row i is `values[offsets[i]:offsets[i + 1]]`, and the same part of every parallel array of a subclass.

    >>> rows = CompressedRows(np.array([0, 2, 2, 3]), np.array([7, 8, 9]))
    >>> rows.lengths
    array([2, 0, 1])
    >>> rows.take(np.array([2, 0]))
    (array([0, 1, 1]), array([9, 7, 8]))
    """

    offsets: NDArray[np.int64]
    values: NDArray[Any]

    @classmethod
    def from_lengths(cls, values: NDArray[Any], lengths: NDArray[np.int64], *parallel: NDArray[Any]) -> Self:
        """Cut `values` and the parallel arrays into rows of the given lengths."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, values, *parallel)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, of which there is at least one."""
        lengths = np.concatenate([part.lengths for part in parts])
        values, *parallel = map(np.concatenate, zip(*(part.arrays[1:] for part in parts), strict=True))
        return cls.from_lengths(values, lengths, *parallel)

    def save(self, folder: Path, name: str) -> None:
        """Write one file for each array."""
        for field, array in zip(fields(self), self.arrays, strict=True):
            save_array(folder / f"{name}.{field.name}.npy", array)

    @classmethod
    def load(
        cls,
        folder: Path,
        name: str,
        dtype: DTypeLike = np.int32,
        *,
        below: int | None = None,
        rows: int | None = None,
    ) -> Self:
        """Map the files of `save` into memory.

        Raise `ValueError` unless all arrays have the expected types and lengths, the offsets ascend, and there are as
        many `rows` and all values are from 0 to `below` - 1, where these are given.
        """
        dtypes: dict[str, DTypeLike] = {"offsets": np.int64, "values": dtype, "weights": np.float32}
        loaded = cls(
            *(load_array(folder / f"{name}.{field.name}.npy", dtypes[field.name]) for field in fields(cls))
        )
        loaded.check(name, below=below, rows=rows)
        return loaded

    def check(self, name: str, *, below: int | None = None, rows: int | None = None) -> None:
        """Raise `ValueError`, with the name, unless these are rows as `load` expects them.

        >>> CompressedRows(np.array([0, 7, 5]), np.zeros(5)).check("words")
        Traceback (most recent call last):
        ValueError: found rows of words that do not follow each other from 0 to 5
        """
        offsets, *parallel = self.arrays
        if (
            not all(array.ndim == 1 for array in self.arrays)
            or not len(offsets)
            or offsets[0] != 0
            or any(offsets[-1] != len(array) for array in parallel)
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise ValueError(
                f"found rows of {name} that do not follow each other from 0 to {len(self.values)}"
            )
        if rows is not None and len(self) != rows:
            raise ValueError(f"found {len(self)} rows of {name}, expected {rows}")
        if below is not None:
            check_numbers(self.values, below)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """(offsets, values, …): the arguments of compiled functions."""
        return self.offsets, self.values

    @property
    def indexed(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """(offsets, values), whatever other arrays there are."""
        return self.offsets, self.values

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values of each row."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def span(self, row: int) -> slice:
        """The part of the parallel arrays that is a row."""
        return slice(self.offsets[row], self.offsets[row + 1])

    def take(self, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """(places, values): the values of the given rows one after another, each with its place in `rows`."""
        begin = self.offsets[rows]
        lengths = self.offsets[rows + 1] - begin
        owner = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return owner, self.values[begin[owner] + within]

    def select(self, kept: NDArray[np.bool_]) -> Self:
        """The same rows with only those values for which `kept` is true.

        >>> CompressedRows(np.array([0, 2, 3]), np.array([7, 8, 9])).select(np.array([False, True, False])).arrays
        (array([0, 1, 1]), array([8]))
        """
        if kept.all():
            return self
        offsets, *parallel = self.arrays
        return type(self)(
            np.r_[0, np.cumsum(kept, dtype=np.int64)][offsets], *(array[kept] for array in parallel)
        )

    def distinct(self) -> "CompressedRows":
        """Each row as a set: sorted, every value once."""
        owner = self.owner
        values = self.values[np.lexsort((self.values, owner))]
        first = np.ones(len(values), dtype=bool)
        first[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
        return CompressedRows(self.offsets, values).select(first)

    def numbered(self, vocabulary: NDArray[Any]) -> "CompressedRows":
        """Each value replaced by its place in the sorted `vocabulary`; values not in it are left out."""
        place, known = _find(self.values, vocabulary)
        return CompressedRows(self.offsets, place.astype(np.int32)).select(known)

    def read_only(self) -> Self:
        """The same rows as arrays that cannot be written to; see `arrays.read_only`."""
        return type(self)(*map(read_only, self.arrays))


@dataclass(frozen=True)
class WeightedRows(CompressedRows):
    """A sparse matrix: the `values` of a row are its columns, `weights` its numbers there.

    The types are fixed (int64, int32, float32), so that one compiled function fits all, also memory-mapped ones.
    """

    weights: NDArray[np.float32]

    @classmethod
    def from_matrix(cls, matrix: "csr_array") -> Self:
        """Convert SciPy's type."""
        return cls(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
        )

    @classmethod
    def single(cls, values: NDArray[np.int32], weights: NDArray[np.float32]) -> Self:
        """A matrix of one row."""
        return cls(np.array([0, len(values)], np.int64), values, weights)

    def matrix(self, columns: int) -> "csr_array":
        """Convert to SciPy's type, with so many columns."""
        from scipy.sparse import csr_array

        return csr_array((self.weights, self.values, self.offsets), shape=(len(self), columns))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """(offsets, values, weights)."""
        return self.offsets, self.values, self.weights


def shared(
    left: CompressedRows,
    right: CompressedRows,
    left_rows: NDArray[Any],
    right_rows: NDArray[Any],
    *,
    span: int,
) -> NDArray[np.int64]:
    """|left[i] ∩ right[j]| for each pair of rows, which hold sorted, distinct numbers from 0 to `span` - 1.

    >>> few = CompressedRows(np.array([0, 2]), np.array([1, 4]))
    >>> many = CompressedRows(np.array([0, 4, 5]), np.array([0, 1, 4, 5, 4]))
    >>> shared(few, many, np.array([0, 0]), np.array([0, 1]), span=6)
    array([2, 1])
    """
    pair, values = right.take(right_rows)
    _, both = _find(left_rows[pair].astype(np.int64) * span + values, left.owner * span + left.values)
    return np.bincount(pair[both], minlength=len(right_rows))


def _find(values: NDArray[Any], within: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(place, known): the place of each value in a sorted array, and whether it is there at all."""
    if not len(within):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(within, values), len(within) - 1)
    return place, within[place] == values
