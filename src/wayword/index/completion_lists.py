"""Precomputed completion lists: a key (typed text and context values) leads to one record that holds its list.

slots_<mode>.npy       hash table of the keys (`key_table`): where the record of each is
records_<mode>         records as MessagePack; keys that follow each other and have the same list share one

A look-up reads one slot and one record, so it waits for memory twice.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, PAGESIZE, mmap
from pathlib import Path
from typing import Annotated, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.completion import GRAPH, Completion
from wayword.errors import WorkspaceError
from wayword.index.key_table import HASH_BITS, HASH_MASK, SIZE_BITS, SIZE_MASK, START_SHIFT, UNIT, slots_for
from wayword.store.arrays import load_array
from wayword.store.compressed_rows import WeightedRows
from wayword.store.strings import Strings

LINES = 10
"""Number of queries of a list that are stored as text; further ones are looked up by number."""
AT_MOST = msgspec.Meta(max_length=LINES)
"""Checked before memory is allocated: a damaged record cannot ask for gigabytes."""
HEAD = b"wayword\n"
"""The first bytes of the records; `UNIT` of them, so that no record is in place 0."""


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


class Record(msgspec.Struct, array_like=True, gc=False):
    """The list of some keys: the first completions.

    Its keys are `key` and shorter beginnings of it, of at least `shortest` characters.
    """

    key: str
    shortest: int
    completions: Annotated[list[Completion], AT_MOST]


class WholeRecord(Record, array_like=True, gc=False):
    """A record with the numbers of all its queries (int32), the scores of those without text (float32), and the place
    of the source in `SOURCES`."""

    numbers: bytes
    further_scores: bytes
    source: int


def write(
    folder: Path,
    keys: Sequence[str],
    list_of: Mapping[str, NDArray[np.integer]],
    lists: Lists,
    shown: Strings,
) -> None:
    """Write all files. `list_of[mode][i]` is the list of `keys[i]` (distinct); `shown` are the texts of all queries."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    keys = [keys[place] for place in order]
    follows = np.array([key.startswith(before) for before, key in pairwise(keys)], bool)
    for mode, numbers in list_of.items():
        in_order = np.asarray(numbers, np.int64)[order]
        shared = follows & (in_order[1:] == in_order[:-1])
        first = np.flatnonzero(np.r_[True, ~shared][: len(keys)])
        last = np.r_[first[1:], len(keys)][: len(first)] - 1
        records, start, size = _records(
            Strings.of(keys[place] for place in last.tolist()),
            np.array([len(keys[place]) for place in first.tolist()], np.int64),
            in_order[first],
            lists,
            shown,
        )
        (folder / f"records_{mode}").write_bytes(records.data)
        record_of = np.repeat(np.arange(len(first)), last - first + 1)
        np.save(
            folder / f"slots_{mode}.npy",
            slots_for(keys, start[record_of], size[record_of]),
            allow_pickle=False,
        )


def _records(
    keys: Strings, shortest: NDArray[np.int64], list_of: NDArray[np.int64], lists: Lists, shown: Strings
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """All records, where each starts, and its size."""
    from wayword.index.record_bytes import fill, sizes

    queries, texts = lists.queries, shown.encoded
    source = lists.source, Strings.of("" if name == GRAPH else name for name in SOURCES).encoded.arrays
    size = sizes(keys.encoded.arrays, shortest, list_of, source, queries.arrays, texts.arrays, LINES)
    end = len(HEAD) + np.cumsum(-(-size // UNIT) * UNIT)
    start = end - -(-size // UNIT) * UNIT
    records = np.zeros(int(end[-1]) if len(end) else len(HEAD), np.uint8)
    records[: len(HEAD)] = np.frombuffer(HEAD, np.uint8)
    in_bytes = (
        queries.values.astype("<i4").view(np.uint8),
        queries.weights.astype("<f4").view(np.uint8),
        queries.weights.astype(">f4").view(np.uint8),
    )
    fill(
        records,
        start,
        keys.encoded.arrays,
        shortest,
        list_of,
        source,
        (*queries.indexed, *in_bytes),
        texts.arrays,
        LINES,
    )
    return records, start, size


class WholeList(NamedTuple):
    """The numbers and scores of all queries of a list, best first, and the place of its source in `SOURCES`."""

    numbers: NDArray[np.int32]
    scores: NDArray[np.float32]
    source: int


class StoredLists:
    """Completion lists mapped into memory from the files of `write`; pages are read from disk on demand."""

    def __init__(self, folder: Path, shown: Strings, modes: Sequence[str], kept: int) -> None:
        """`kept` is the maximum length of a stored list; a list of that length may be truncated."""
        self._folder, self._shown, self._kept = folder, shown, kept
        self._slots = {mode: _slots(folder / f"slots_{mode}.npy") for mode in modes}
        self._records = {mode: _records_in(folder / f"records_{mode}") for mode in modes}
        self._of_mode = {
            mode: (slots.data, int(slots[0]), self._records[mode]) for mode, slots in self._slots.items()
        }
        self._any_mode = modes[0]

    def __len__(self) -> int:
        """Number of keys."""
        return int(np.count_nonzero(self._slots[self._any_mode])) - 1

    def __contains__(self, key: str) -> bool:
        return self.find(key, 1, self._any_mode) is not None

    def keys(self) -> list[str]:
        """All keys, sorted."""
        slots, records = self._slots[self._any_mode][1:], self._records[self._any_mode]
        found: list[str] = []
        for place in np.unique(slots[slots > 0] >> np.uint64(HASH_BITS)).tolist():
            start = (place >> SIZE_BITS) * UNIT
            record = _decode(records[start : start + (place & SIZE_MASK)])
            cuts = (record.key[:length] for length in range(record.shortest, len(record.key) + 1))
            found += [cut for cut in cuts if cut in self]
        return sorted(found)

    def prefault(self) -> None:
        """Map all pages of the lists now, unless they are more than a quarter of the machine's memory.

        The first access to a page that is not mapped takes longer than the rest of a look-up.
        """
        sizes = sum(map(len, self._records.values())) + sum(slots.nbytes for slots in self._slots.values())
        if sizes > os.sysconf("SC_PHYS_PAGES") * PAGESIZE // 4:
            return
        for mode, records in self._records.items():
            records[::PAGESIZE]
            self._slots[mode][:: PAGESIZE // 8].max()

    def whole(self, key: str, mode: str) -> "WholeList | None":
        """The whole list of a key; None if the key is unknown."""
        content = self._content(key, mode)
        if content is None:
            return None
        record = _decode_whole(content)
        scores = np.array([one.score for one in record.completions], np.float32)
        further = np.frombuffer(record.further_scores, "<f4").astype(np.float32)
        return WholeList(np.frombuffer(record.numbers, "<i4"), np.r_[scores, further], record.source)

    def _content(self, key: str, mode: str) -> bytes | None:
        """The record of a key."""
        slots, homes, records = self._of_mode[mode]
        hashed = crc32(key.encode())
        place = 1 + (hashed * homes >> 32)
        while slot := slots[place]:
            if not (slot ^ hashed) & HASH_MASK:
                start = (slot >> START_SHIFT) * UNIT
                content = records[start : start + (slot >> HASH_BITS & SIZE_MASK)]
                record = _decode(content)
                if record.key.startswith(key) and len(key) >= record.shortest:
                    return content
            place += 1
        return None

    def find(self, key: str, k: int, mode: str, hidden: Collection[int] = ()) -> list[Completion] | None:
        """At most k completions without `hidden` queries; None if the key is unknown or its list too short."""
        slots, homes, records = self._of_mode[mode]
        hashed = crc32(key.encode())
        place = 1 + (hashed * homes >> 32)
        try:
            while slot := slots[place]:
                if not (slot ^ hashed) & HASH_MASK:
                    start = (slot >> START_SHIFT) * UNIT
                    content = records[start : start + (slot >> HASH_BITS & SIZE_MASK)]
                    record = _decode(content)
                    if record.key.startswith(key) and len(key) >= record.shortest:
                        if hidden or k > LINES:
                            return self._some(content, k, hidden)
                        return record.completions[:k]
                place += 1
        except (msgspec.MsgspecError, ValueError, IndexError, MemoryError, RecursionError) as problem:
            raise WorkspaceError(
                f"The index {self._folder} is damaged: {problem}. Build it again with `wayword index`."
            ) from problem
        return None

    def _some(self, content: bytes, k: int, hidden: Collection[int]) -> list[Completion] | None:
        record = _decode_whole(content)
        numbers = np.frombuffer(record.numbers, "<i4").tolist()
        scores = [
            *(one.score for one in record.completions),
            *np.frombuffer(record.further_scores, "<f4").tolist(),
        ]
        rows = [row for row in zip(numbers, scores, strict=True) if row[0] not in hidden]
        if len(rows) < k and len(numbers) == self._kept:
            return None
        return [Completion(self._shown[number], score, SOURCES[record.source]) for number, score in rows[:k]]


_decode = msgspec.msgpack.Decoder(Record).decode
_decode_whole = msgspec.msgpack.Decoder(WholeRecord).decode


def _slots(path: Path) -> NDArray[np.uint64]:
    slots = load_array(path, np.uint64)
    if slots.ndim != 1 or len(slots) < 3 or slots[-1] or not 0 < slots[0] <= len(slots) - 2:
        raise ValueError(f"found no hash table in {path.name}")
    return slots


def _records_in(path: Path) -> mmap:
    with path.open("rb") as file:
        records = mmap(file.fileno(), 0, access=ACCESS_READ)
    if records[: len(HEAD)] != HEAD:
        raise ValueError(f"found no records in {path.name}")
    return records
