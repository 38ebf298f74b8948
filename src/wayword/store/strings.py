"""Strings: many texts in one mapped file, found by number without reading the others."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from wayword.store.arrays import check_starts, mapped


class Strings(Sequence[str]):
    """Text i is the bytes from `starts[i]` to `starts[i + 1]`, in UTF-8.

    >>> texts = Strings.of(["tv", "", "fernseh gerät"])
    >>> texts[2], len(texts), list(texts[:2])
    ('fernseh gerät', 3, ['tv', ''])
    """

    def __init__(self, data: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self.data, self.starts = data, starts
        self._data, self._starts = data.data, starts.data

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Strings":
        """Half a surrogate pair is no text; it becomes a question mark."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts)

    def save(self, folder: Path, name: str) -> None:
        """Two files, which `load` maps into memory."""
        np.save(folder / f"{name}.npy", self.data, allow_pickle=False)
        np.save(folder / f"{name}_starts.npy", self.starts, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Strings":
        """What `save` wrote."""
        found = cls(mapped(folder / f"{name}.npy", np.uint8), mapped(folder / f"{name}_starts.npy", np.int64))
        check_starts(found.starts, len(found.data))
        return found

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        """The text of that number, or those of a slice."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if place < 0:
            place += len(self)
        return str(self._data[self._starts[place] : self._starts[place + 1]], "utf-8")
