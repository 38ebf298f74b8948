"""Strings: texts in one memory-mapped file, read by number without reading the others."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from wayword.store.compressed_rows import CompressedRows


class Strings(Sequence[str]):
    """Text i is row i of `encoded`, its bytes in UTF-8.

    >>> texts = Strings.of(["tv", "", "fernseh gerät"])
    >>> texts[2], len(texts), list(texts[:2])
    ('fernseh gerät', 3, ['tv', ''])
    """

    def __init__(self, encoded: CompressedRows) -> None:
        self.encoded = encoded
        self._bytes, self._offsets = encoded.values.data, encoded.offsets.data

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Strings":
        """Encode texts. Half a surrogate pair is no text; it becomes a question mark."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(CompressedRows.from_lengths(np.frombuffer(b"".join(encoded), np.uint8), lengths))

    def save(self, folder: Path, name: str) -> None:
        """See `CompressedRows.save`."""
        self.encoded.save(folder, name)

    @classmethod
    def load(cls, folder: Path, name: str, rows: int | None = None) -> "Strings":
        """See `CompressedRows.load`."""
        return cls(CompressedRows.load(folder, name, np.uint8, rows=rows))

    def __len__(self) -> int:
        return len(self._offsets) - 1

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
        return str(self._bytes[self._offsets[place] : self._offsets[place + 1]], "utf-8")
