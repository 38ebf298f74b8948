"""Completions in process, from an index: open it once, then ask as often as you like."""

import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from wayword.completion import Completion
from wayword.errors import WaywordError
from wayword.index import versions
from wayword.index.index import Index
from wayword.index.overrides import FILE, Overrides
from wayword.retrieval.graph import ANY, MODES
from wayword.text import normalise
from wayword.workspace import Workspace

MAX_PREFIX = 1000
"""So many characters of a typed text are looked at; nobody types more, and it bounds the work."""
MAX_COMPLETIONS = 1000
LOOK_EVERY = 0.25
"""Seconds between two looks at the pointer to the current version and at the overrides."""
TRY_AGAIN = 2.0
"""Seconds after which what could not be read is tried again."""
PINNED = "pinned"
logger = logging.getLogger("wayword")


@dataclass(frozen=True, eq=False)
class Served:
    """What answers: replaced as a whole, so that no answer mixes two versions. Equal only to itself."""

    index: Index
    overrides: Overrides
    hidden: frozenset[int]
    """The numbers that the index gives to denied and deleted queries."""

    @classmethod
    def of(cls, root: Path, earlier: Index | None = None) -> "Served":
        """What a folder says now; the earlier index, if it is still the current one."""
        folder = versions.current(root)
        index = earlier if earlier and earlier.version == folder.name else Index.open(folder)
        overrides = Overrides.load(root)
        return cls(index, overrides, index.numbers(overrides.hidden))

    @cached_property
    def tag(self) -> str:
        """Another one whenever an answer could be another."""
        return (
            f"{self.index.version}-{zlib.crc32(repr(self.overrides.plain()).encode('utf-8', 'replace')):08x}"
        )

    def complete(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """See `Completer.complete`."""
        return self.answer(prefix, k, context, mode)[0]

    def answer(
        self, prefix: str, k: int, context: Mapping[str, Any] | None, mode: str
    ) -> tuple[list[Completion], bool]:
        """The completions, and whether there was a finished list."""
        check(k, mode)
        index, hidden = self.index, self.hidden
        key = typed = normalise(prefix[:MAX_PREFIX])
        if context:
            index.check(context)
            key = index.columns.key(typed, context)
        found = index.lists.find(key, k, mode, hidden)
        finished = found is not None
        if found is None:
            found = index.live(typed, k, mode, context or {}, hidden)
        pinned = self.overrides.pin.get(typed)
        return (_with_pinned(found, pinned, k) if pinned else found), finished

    def popular(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """What people who type this go on to most often: what ordinary completion shows."""
        check(k, mode)
        self.index.check(context or {})
        return self.index.popular(normalise(prefix[:MAX_PREFIX]), k, mode, context or {}, self.hidden)

    def known(self) -> list[tuple[str, dict[str, str]]]:
        """Every text, with the context it was typed in, that has a finished list or a pinned query."""
        keys = {*self.index.lists.keys(), *self.overrides.pin}
        return [self.index.columns.split(key) for key in sorted(keys)]


def check(k: int, mode: str) -> None:
    """Raise `WaywordError` for what cannot be asked."""
    if not 1 <= k <= MAX_COMPLETIONS:
        raise WaywordError(f"Found k = {k}; expected a number from 1 to {MAX_COMPLETIONS}.")
    if mode not in MODES:
        raise WaywordError(f"Found mode {mode!r}; expected one of {', '.join(MODES)}.")


class Completer:
    """Answers for typed texts. A new version, or other overrides, are taken over while it answers."""

    def __init__(self, root: Path) -> None:
        """`root` holds the versions and the pointer to the current one."""
        self.root = root
        self._seen = self._state()
        self._served = Served.of(root)
        self._next_look = monotonic() + LOOK_EVERY
        self._looking = Lock()
        self._told: object = None

    @classmethod
    def open(cls, path: Workspace | Path | str) -> "Completer":
        """Open the index of a workspace, or a folder of versions of an index."""
        path = path.path if isinstance(path, Workspace) else Path(path)
        return cls(path if (path / versions.CURRENT).exists() else path / versions.ROOT)

    @property
    def index(self) -> Index:
        """The version that answers."""
        return self._served.index

    def complete(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """At most k completions of a typed text, best first; `context` gives the log's extra columns, if known.

        Mode "prefix" shows only queries that go on from the typed text (or its correction), "any" every query that
        leads there.
        """
        self.look_in_time()
        return self._served.complete(prefix, k, context=context, mode=mode)

    def look_in_time(self) -> None:
        """Look at the disk, unless that was done just now."""
        if monotonic() >= self._next_look:
            self.look()

    @property
    def served(self) -> Served:
        """What answers now: an answer of it does not change with the disk."""
        return self._served

    def look(self) -> None:
        """Take over what has changed on disk; what cannot be read is told once, and what was there stays."""
        self._next_look = monotonic() + LOOK_EVERY
        if (state := self._state()) == self._seen or not self._looking.acquire(blocking=False):
            return  # nothing new, or another thread sees to it
        try:
            self._served = Served.of(self.root, self._served.index)
            self._seen = state
        except WaywordError as problem:
            self._next_look = monotonic() + TRY_AGAIN
            if state != self._told:
                logger.warning("%s Answers go on with what was there before.", problem)
            self._told = state
        finally:
            self._looking.release()

    def _state(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Changes whenever one of the two files is replaced or written."""
        return tuple(map(_stamp, (self.root / versions.CURRENT, self.root / FILE)))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _with_pinned(found: list[Completion], pinned: tuple[str, ...], k: int) -> list[Completion]:
    """Pinned queries first, with the best score, each query once."""
    best = found[0].score if found else 1.0
    first = [Completion(query, best, PINNED) for query in pinned]
    known = set(map(normalise, pinned))
    return [*first, *(one for one in found if normalise(one.query) not in known)][:k]
