"""Completions in process, from an index: open it once, then ask as often as you like."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Generic, TypeVar

from wayword import __version__
from wayword.completion.completion import Completion
from wayword.completion.expected_utility import ANY, MODES
from wayword.errors import WaywordError
from wayword.index import versions
from wayword.index.index import Index
from wayword.index.overrides import FILE, Overrides
from wayword.store.workspace import Workspace
from wayword.text import normalise

MAX_PREFIX = 1000
"""So many characters of a typed text are looked at; nobody types more, and it bounds the work."""
MAX_COMPLETIONS = 1000
LOOK_EVERY = 0.25
"""Seconds between two looks at the pointer to the current version and at the overrides."""
TRY_AGAIN = 2.0
"""Seconds after which what could not be read is tried again."""
PINNED = "pinned"
Value = TypeVar("Value")
logger = logging.getLogger("wayword")


@dataclass(frozen=True, eq=False)
class Served:
    """What answers: replaced as a whole, so that no answer mixes two versions. Equal only to itself."""

    index: Index
    overrides: Overrides
    hidden: frozenset[int]
    """The numbers that the index gives to denied and deleted queries."""

    @classmethod
    def of(cls, index: Index, overrides: Overrides) -> "Served":
        """An index and what was decided by hand."""
        return cls(index, overrides, index.numbers(overrides.hidden))

    @property
    def tag(self) -> str:
        """Another one whenever an answer could be another."""
        return f"{self.index.version}-{self.overrides.tag}-{__version__}"

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
        key = typed = as_typed(prefix)
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
        return self.index.popular(as_typed(prefix), k, mode, context or {}, self.hidden)

    def known(self) -> list[tuple[str, dict[str, str]]]:
        """Every text, with the context it was typed in, that has a finished list or a pinned query."""
        keys = {*self.index.lists.keys(), *self.overrides.pin}
        return [self.index.columns.split(key) for key in sorted(keys)]


def as_typed(prefix: str) -> str:
    """A typed text as it is looked up: normalised, and not too long, before and after.

    >>> as_typed("TV  Stand!"), len(as_typed("ﷺ" * 5000))
    ('tv stand', 1000)
    """
    typed = normalise(prefix[:MAX_PREFIX])
    return typed if len(typed) <= MAX_PREFIX else normalise(typed[:MAX_PREFIX])


def check(k: int, mode: str) -> None:
    """Raise `WaywordError` for what cannot be asked."""
    if not 1 <= k <= MAX_COMPLETIONS:
        raise WaywordError(f"Found k = {k}; expected a number from 1 to {MAX_COMPLETIONS}.")
    if mode not in MODES:
        raise WaywordError(f"Found mode {mode[:100]!r}; expected one of {', '.join(MODES)}.")


class Completer:
    """Answers for typed texts. A new version, or other overrides, are taken over while it answers."""

    def __init__(self, root: Path) -> None:
        """`root` holds the versions and the pointer to the current one."""
        self.root = root
        self._index = _Watched(root / versions.CURRENT, self._open)
        self._overrides = _Watched(root / FILE, lambda _earlier: Overrides.load(root))
        self._served = Served.of(self._index.value, self._overrides.value)
        self._next_look = monotonic() + LOOK_EVERY
        self._looking = Lock()

    @classmethod
    def open(cls, path: Workspace | Path | str) -> "Completer":
        """Open the index of a workspace, or a folder of versions of an index."""
        path = path.path if isinstance(path, Workspace) else Path(path)
        return cls(path if (path / versions.CURRENT).exists() else path / versions.ROOT)

    @property
    def index(self) -> Index:
        """The version that answers."""
        return self._served.index

    @property
    def served(self) -> Served:
        """What answers now: an answer of it does not change with the disk."""
        return self._served

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

    def look(self) -> None:
        """Take over what has changed on disk; what cannot be read is told once, and what was there stays.

        What was decided by hand does not wait for a new version, nor depend on its being whole.
        """
        self._next_look = monotonic() + LOOK_EVERY
        if not self._looking.acquire(blocking=False):
            return  # another thread sees to it
        try:
            for watched in (self._overrides, self._index):
                if watched.look():
                    self._served = Served.of(self._index.value, self._overrides.value)
        finally:
            self._looking.release()

    def _open(self, earlier: Index | None) -> Index:
        """The current version: the earlier one, if it still is."""
        folder = versions.current(self.root)
        return earlier if earlier and earlier.version == folder.name else Index.open(folder)


class _Watched(Generic[Value]):
    """What a file says, read again when it was replaced or written."""

    def __init__(self, file: Path, load: Callable[[Value | None], Value]) -> None:
        self._file, self._load = file, load
        self._seen = _stamp(file)
        self._told: object = None
        self._again = 0.0
        self.value = load(None)

    def look(self) -> bool:
        """Whether there is another value now."""
        stamp = _stamp(self._file)
        if stamp == self._seen or (stamp == self._told and monotonic() < self._again):
            return False
        try:
            value = self._load(self.value)
        except WaywordError as problem:
            if stamp != self._told:
                logger.warning("%s Answers go on with what was there before.", problem)
            self._told, self._again = stamp, monotonic() + TRY_AGAIN
            return False
        self._seen, self._told = stamp, None
        changed = value is not self.value
        self.value = value
        return changed


def _stamp(file: Path) -> tuple[int, int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _with_pinned(found: list[Completion], pinned: tuple[str, ...], k: int) -> list[Completion]:
    """Pinned queries first, with the best score, each query once."""
    best = found[0].score if found else 1.0
    first = [Completion(query, best, PINNED) for query in pinned]
    known = set(map(normalise, pinned))
    return [*first, *(one for one in found if normalise(one.query) not in known)][:k]
