"""Precomputed completion lists: a trie of keys, and the best queries of each key as text.

keys.marisa            keys (typed text and context values) → key numbers
list_of_<mode>.npy     key → list; prefixes of the same queries share one list
lists.*.npy            query numbers of each list, best first, with scores
source.npy             match source of each list
lines.*.npy            the first queries of each list as one text: a single read and a single decoding
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.completion import Completion
from wayword.store.arrays import load_array
from wayword.store.compressed_rows import CompressedRows, WeightedRows
from wayword.store.strings import Strings

LINES = 10
"""Number of queries of a list that are stored as text; further ones are looked up by number."""
LINE_END = "\n"
_FLOATS = [struct.Struct(f"{count}f").unpack_from for count in range(LINES + 1)]
"""Unpack the first n float32 scores, n = 0 … LINES; faster than slicing an array."""


@dataclass(frozen=True)
class Lists:
    """List i is row i of `queries` (numbers and scores, best first), matched by `SOURCES[source[i]]`."""

    queries: WeightedRows
    source: NDArray[np.int8]

    @classmethod
    def of(cls, candidates: Candidates, contexts: int) -> "Lists":
        """Convert candidates to one list per context."""
        source = np.zeros(contexts, np.int8)
        if candidates.source is not None:
            source[candidates.context] = candidates.source
        lengths = np.bincount(candidates.context, minlength=contexts)
        query, score = candidates.query.astype(np.int32), candidates.score.astype(np.float32)
        return cls(WeightedRows.from_lengths(query, lengths, score), source)

    @classmethod
    def joined(cls, parts: Sequence["Lists"]) -> "Lists":
        """Concatenate the lists of all parts."""
        parts = [cls.of(Candidates.empty(), 0), *parts]
        return cls(
            WeightedRows.concatenate([part.queries for part in parts]),
            np.concatenate([part.source for part in parts]),
        )


def write(
    folder: Path,
    keys: Sequence[str],
    list_of: Mapping[str, NDArray[np.integer]],
    lists: Lists,
    shown: Strings,
) -> None:
    """Write all files. `list_of[mode][i]` is the list of `keys[i]` (distinct); `shown` are the texts of all queries."""
    trie = marisa_trie.Trie(keys)
    (folder / "keys.marisa").write_bytes(
        trie.tobytes()
    )  # Python raises OSError on a full disk; the library would not
    place = np.fromiter(map(trie.__getitem__, keys), np.int64, len(keys))
    for mode, numbers in list_of.items():
        ordered = np.empty(len(keys), np.uint32)
        ordered[place] = numbers
        np.save(folder / f"list_of_{mode}.npy", ordered, allow_pickle=False)
    lists.queries.save(folder, "lists")
    np.save(folder / "source.npy", lists.source, allow_pickle=False)
    _lines(lists.queries, shown).save(folder, "lines")


def _lines(lists: WeightedRows, shown: Strings) -> Strings:
    """Join the texts of the first queries of each list with line ends."""
    from wayword.index.line_bytes import fill

    last = np.minimum(lists.offsets[1:], lists.offsets[:-1] + LINES)
    texts = shown.encoded
    before = np.r_[0, np.cumsum(texts.lengths[lists.values] + 1)]
    lengths = np.maximum(before[last] - before[lists.offsets[:-1]] - 1, 0)
    lines = CompressedRows.from_lengths(np.full(int(lengths.sum()), ord(LINE_END), np.uint8), lengths)
    fill(lines.arrays, lists.arrays, last, texts.arrays)
    return Strings(lines)


class StoredLists:
    """Completion lists mapped into memory from the files of `write`; pages are read from disk on demand."""

    def __init__(self, folder: Path, shown: Strings, modes: Sequence[str], kept: int) -> None:
        """`kept` is the maximum length of a stored list; a list of that length may be truncated."""
        self._shown, self._kept = shown, kept
        self._keys = marisa_trie.Trie()
        self._keys.mmap(str(folder / "keys.marisa"))
        lists = WeightedRows.load(folder, "lists", below=len(shown))
        lines = Strings.load(folder, "lines", len(lists)).encoded
        source = load_array(folder / "source.npy", np.int8, shape=(len(lists),), below=len(SOURCES))
        self._list_of = {
            mode: load_array(
                folder / f"list_of_{mode}.npy", np.uint32, shape=(len(self._keys),), below=len(lists)
            ).data
            for mode in modes
        }
        self._offsets, self._query, self._score = (array.data for array in lists.arrays)
        self._source = source.data
        self._line_offsets, self._line = (array.data for array in lines.arrays)

    def __len__(self) -> int:
        """Number of keys."""
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> list[str]:
        """All keys, sorted."""
        return sorted(self._keys.keys())

    def find(self, key: str, k: int, mode: str, hidden: Collection[int] = ()) -> list[Completion] | None:
        """At most k completions without `hidden` queries; None if the key is unknown or its list too short."""
        number = self._keys.get(key)
        if number is None:
            return None
        chosen = self._list_of[mode][number]
        first, last = self._offsets[chosen], self._offsets[chosen + 1]
        if hidden or k > LINES:
            return self._some(chosen, first, last, k, hidden)
        if first == last:
            return []
        lines = str(self._line[self._line_offsets[chosen] : self._line_offsets[chosen + 1]], "utf-8")
        scores = _FLOATS[min(k, last - first)](self._score, 4 * first)
        return list(map(Completion, lines.split(LINE_END), scores, repeat(SOURCES[self._source[chosen]])))

    def _some(
        self, chosen: int, first: int, last: int, k: int, hidden: Collection[int]
    ) -> list[Completion] | None:
        shown = [place for place in range(first, last) if self._query[place] not in hidden]
        if len(shown) < k and last - first == self._kept:
            return None
        source = SOURCES[self._source[chosen]]
        return [
            Completion(self._shown[self._query[place]], self._score[place], source) for place in shown[:k]
        ]
