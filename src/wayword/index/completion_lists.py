"""Finished lists: which texts are known, and the best queries of each, ready to be shown.

keys.marisa            typed texts → key numbers
list_of_<mode>.npy     key → list; texts that may become the same queries share one
lists_*.npy            the queries of each list, best first, with scores, and how they were found
lines*.npy             the first queries of each list as text: one read, one decoding, no other page touched
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.completion import Completion
from wayword.numba_jit import compiled
from wayword.store.arrays import check_numbers, check_starts, mapped
from wayword.store.strings import Strings

LINES = 10
"""So many queries of a list are at hand as text; further ones are looked up one by one."""
LINE_END = "\n"


@dataclass(frozen=True)
class Lists:
    """List i has the queries `query[starts[i]:starts[i + 1]]`, best first; all were found in the way `source[i]`."""

    starts: NDArray[np.int64]
    query: NDArray[np.int32]
    score: NDArray[np.float32]
    source: NDArray[np.int8]

    @classmethod
    def of(cls, found: Candidates, contexts: int) -> "Lists":
        """One list for each context."""
        starts = np.searchsorted(found.context, np.arange(contexts + 1)).astype(np.int64)
        source = np.zeros(contexts, np.int8)
        if found.source is not None:
            source[found.context] = found.source
        return cls(starts, found.query.astype(np.int32), found.score.astype(np.float32), source)

    @classmethod
    def joined(cls, parts: Sequence["Lists"]) -> "Lists":
        """One after another."""
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.starts) for part in parts)])
        return cls(
            np.cumsum(lengths),
            np.concatenate([np.zeros(0, np.int32), *(part.query for part in parts)]),
            np.concatenate([np.zeros(0, np.float32), *(part.score for part in parts)]),
            np.concatenate([np.zeros(0, np.int8), *(part.source for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1


def write(
    folder: Path,
    keys: Sequence[str],
    list_of: Mapping[str, NDArray[np.integer]],
    lists: Lists,
    shown: Strings,
) -> None:
    """`list_of[mode][i]` is the list of `keys[i]`, which are distinct; `shown` are the texts of all queries."""
    trie = marisa_trie.Trie(keys)
    (folder / "keys.marisa").write_bytes(trie.tobytes())  # a full disk is told by Python, not by the library
    place = np.fromiter(map(trie.__getitem__, keys), np.int64, len(keys))
    for mode, numbers in list_of.items():
        ordered = np.empty(len(keys), np.uint32)
        ordered[place] = numbers
        np.save(folder / f"list_of_{mode}.npy", ordered, allow_pickle=False)
    for name in ("starts", "query", "score", "source"):
        np.save(folder / f"lists_{name}.npy", getattr(lists, name), allow_pickle=False)
    _lines(lists, shown).save(folder, "lines")


def _lines(lists: Lists, shown: Strings) -> Strings:
    """The first queries of each list, between line ends."""
    last = np.minimum(lists.starts[1:], lists.starts[:-1] + LINES)
    length = np.diff(shown.starts)[lists.query] + 1
    before = np.r_[0, np.cumsum(length)]
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.maximum(before[last] - before[lists.starts[:-1]] - 1, 0), out=starts[1:])
    data = np.full(int(starts[-1]), ord(LINE_END), np.uint8)
    _fill(data, starts, lists.starts, last, lists.query, shown.data, shown.starts)
    return Strings(data, starts)


@compiled
def _fill(data: Any, starts: Any, first: Any, last: Any, query: Any, text: Any, text_starts: Any) -> None:
    for i in range(len(last)):
        at = starts[i]
        for j in range(first[i], last[i]):
            for b in range(text_starts[query[j]], text_starts[query[j] + 1]):
                data[at] = text[b]
                at += 1
            at += 1


class FinishedLists:
    """What `write` wrote, mapped into memory. Only what is asked for is read from the disk."""

    def __init__(self, folder: Path, shown: Strings, modes: Sequence[str], kept: int) -> None:
        """`kept` is how many queries a list has at most: one of that length may go on."""
        self._shown, self._kept = shown, kept
        self._keys = marisa_trie.Trie()
        self._keys.mmap(str(folder / "keys.marisa"))
        lines = Strings.load(folder, "lines")
        starts = mapped(folder / "lists_starts.npy", np.int64)
        query, score = (
            mapped(folder / "lists_query.npy", np.int32),
            mapped(folder / "lists_score.npy", np.float32),
        )
        source = mapped(folder / "lists_source.npy", np.int8)
        list_of = {mode: mapped(folder / f"list_of_{mode}.npy", np.uint32) for mode in modes}
        check_starts(starts, len(query))
        check_starts(starts, len(score))
        check_numbers(query, len(shown))
        check_numbers(source, len(SOURCES))
        for numbers in list_of.values():
            check_numbers(numbers, len(starts) - 1)
        if len(lines) != len(starts) - 1 or len(source) != len(starts) - 1:
            raise ValueError(f"found lines of {len(lines)} lists, expected {len(starts) - 1}")
        if any(len(numbers) != len(self._keys) for numbers in list_of.values()):
            raise ValueError(f"found {len(self._keys)} texts, expected one list for each")
        self._list_of = {mode: numbers.data for mode, numbers in list_of.items()}
        self._starts, self._query, self._score = starts.data, query.data, score.data
        self._source = source.data
        self._line, self._line_starts = lines.data.data, lines.starts.data

    def __len__(self) -> int:
        """How many texts are known."""
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> list[str]:
        """All of them, sorted."""
        return sorted(self._keys.keys())

    def find(self, key: str, k: int, mode: str, hidden: Collection[int] = ()) -> list[Completion] | None:
        """At most k completions without the `hidden` queries; None if the text is not known, or its list too short."""
        number = self._keys.get(key)
        if number is None:
            return None
        chosen = self._list_of[mode][number]
        first, last = self._starts[chosen], self._starts[chosen + 1]
        if hidden or k > LINES:
            return self._some(chosen, first, last, k, hidden)
        if first == last:
            return []
        lines = str(self._line[self._line_starts[chosen] : self._line_starts[chosen + 1]], "utf-8")
        return list(
            map(
                Completion,
                lines.split(LINE_END),
                self._score[first : min(first + k, last)].tolist(),
                repeat(SOURCES[self._source[chosen]]),
            )
        )

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
