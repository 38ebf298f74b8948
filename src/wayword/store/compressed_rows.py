"""Rows of different lengths in two flat arrays: how words and trigrams of texts are stored and compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """Row i is `values[starts[i]:starts[i + 1]]`.

    >>> rows = Ragged(np.array([7, 8, 9]), np.array([0, 2, 2, 3]))
    >>> rows.lengths
    array([2, 0, 1])
    >>> rows.take(np.array([2, 0]))
    (array([0, 1, 1]), array([9, 7, 8]))
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def from_lengths(cls, values: NDArray[Any], lengths: NDArray[np.int64]) -> "Ragged":
        """Cut `values` into rows of the given lengths."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        return cls(values, starts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How long each row is."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """As compiled code takes it: where rows start, values."""
        return self.starts, self.values

    def take(self, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """(places, values): the values of the given rows one after another, each with its place in `rows`."""
        begin = self.starts[rows]
        lengths = self.starts[rows + 1] - begin
        owner = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return owner, self.values[begin[owner] + within]

    def distinct(self) -> "Ragged":
        """Each row as a set: sorted, every value once."""
        owner = self.owner
        order = np.lexsort((self.values, owner))
        owner, values = owner[order], self.values[order]
        first = np.ones(len(values), dtype=bool)
        first[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
        counts = np.bincount(owner[first], minlength=len(self.starts) - 1)
        return Ragged.from_lengths(values[first], counts)

    def numbered(self, vocabulary: NDArray[Any]) -> "Ragged":
        """Each value replaced by its place in the sorted `vocabulary`; values not in it are left out."""
        place, known = _find(self.values, vocabulary)
        counts = np.bincount(self.owner[known], minlength=len(self.starts) - 1)
        return Ragged.from_lengths(place[known].astype(np.int32), counts)


def shared(
    left: Ragged, right: Ragged, left_rows: NDArray[Any], right_rows: NDArray[Any], *, span: int
) -> NDArray[np.int64]:
    """|left[i] ∩ right[j]| for each pair of rows, which hold sorted, distinct numbers from 0 to `span` - 1.

    >>> few = Ragged(np.array([1, 4]), np.array([0, 2]))
    >>> many = Ragged(np.array([0, 1, 4, 5, 4]), np.array([0, 4, 5]))
    >>> shared(few, many, np.array([0, 0]), np.array([0, 1]), span=6)
    array([2, 1])
    """
    pair, values = right.take(right_rows)
    _, found = _find(left_rows[pair].astype(np.int64) * span + values, left.owner * span + left.values)
    return np.bincount(pair[found], minlength=len(right_rows))


def _find(values: NDArray[Any], within: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each value stands in a sorted array, and whether it is there at all."""
    if not len(within):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(within, values), len(within) - 1)
    return place, within[place] == values
