"""Completions in process, from an index that stays open."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from wayword import __version__
from wayword.completion.completion import Completion
from wayword.index import block_list, versions
from wayword.index.block_list import BlockList
from wayword.index.index import Index
from wayword.index.overrides import FILE, Overrides
from wayword.request import ANY, MAX_COMPLETIONS, MAX_PREFIX, MODES, check_request
from wayword.serving.current_index import CurrentIndex
from wayword.serving.responses import ScoreMeaning, score_meaning
from wayword.serving.watched_file import WatchedFile
from wayword.store.workspace import Workspace
from wayword.text import normalise, normalise_within

LOOK_EVERY = 0.25
"""Seconds between two checks of the current version and of the overrides."""
PINNED = "pinned"


@dataclass(frozen=True, eq=False)
class Served:
    """An index with its overrides and block lists, replaced as a whole, so that no list mixes two versions.

    Equal only to itself.
    """

    index: Index
    overrides: Overrides
    hidden: frozenset[int]
    """The numbers that the index gives to denied, deleted and blocked queries."""
    blocked: str = ""
    """Checksums of the block lists."""

    @classmethod
    def of(cls, index: Index, overrides: Overrides, *blocks: BlockList) -> "Served":
        """An index with overrides and block lists. Blocked queries cannot be pinned."""
        hidden = index.numbers(overrides.hidden)
        for block in filter(None, blocks):
            hidden |= frozenset(block.places(index.texts))
            overrides = overrides.without_pins(block.matches)
        return cls(index, overrides, hidden, "".join(block.tag for block in blocks))

    @cached_property
    def score_is(self) -> ScoreMeaning:
        """The meaning of the scores."""
        return score_meaning(self.index.about)

    @cached_property
    def tag(self) -> str:
        """Identifies the index, the overrides, the block lists and the version of Wayword."""
        return f"{self.index.version}-{self.overrides.tag}{self.blocked}-{__version__}"

    def complete(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """See `Completer.complete`."""
        return self.answer(prefix, k, context, mode)[0]

    def answer(
        self, prefix: str, k: int, context: Mapping[str, Any] | None, mode: str
    ) -> tuple[list[Completion], bool]:
        """The completions, and whether there was a finished list."""
        if type(prefix) is not str or type(k) is not int or not 0 < k <= MAX_COMPLETIONS or mode not in MODES:
            check_request(prefix, k, mode)
        lists, hidden, typed = self.index.lists, self.hidden, prefix
        completions = None
        if not context and prefix.isprintable():  # separators of context values are not
            completions = lists.find(prefix, k, mode, hidden)  # known texts are in their normal form
        if completions is None:
            key = typed = as_typed(prefix)
            if context:
                self.index.check(context)
                key = self.index.columns.key(typed, context)
            completions = lists.find(key, k, mode, hidden)
        finished = completions is not None
        if completions is None:
            completions = self.index.live(typed, k, mode, context or {}, hidden)
        pinned = self.overrides.pin.get(typed)
        return (_with_pinned(completions, pinned, k) if pinned else completions), finished

    def popular(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """Most popular completion, to compare: the same list as the policy `popular` of the workspace."""
        check_request(prefix, k, mode)
        self.index.check(context or {})
        return self.index.popular(as_typed(prefix), k, mode, self.hidden)

    def known(self) -> list[tuple[str, dict[str, str]]]:
        """Every text, with the context it was typed in, that has a finished list or a pinned query."""
        keys = {*self.index.lists.keys(), *self.overrides.pin}
        return [self.index.columns.split(key) for key in sorted(keys)]


def as_typed(prefix: str) -> str:
    """Normalise a typed text and limit its length, before and after.

    >>> as_typed("TV  Stand!"), len(as_typed("ﷺ" * 5000))
    ('tv stand', 1000)
    """
    return normalise_within(prefix, MAX_PREFIX)


class Completer:
    """Completes typed texts, and switches to a new version of the index or other overrides by itself."""

    def __init__(self, root: Path, *, fall_back: bool = False, condemned: Container[str] = ()) -> None:
        """`root` holds the versions and the pointer to the current one; see `CurrentIndex` for the options."""
        self.root = root
        self._index = CurrentIndex(root, fall_back=fall_back, condemned=condemned)
        self._overrides = WatchedFile(root / FILE, lambda _earlier: Overrides.load(root))
        beside = root / block_list.FILE
        self._beside = WatchedFile(beside, lambda _earlier: BlockList.load(beside))
        self._block_file, self._block = "", self._beside
        self._watch_block()
        self._served = self._together()
        self._next_look = monotonic() + LOOK_EVERY
        self._looking = Lock()

    @classmethod
    def open(
        cls, path: Workspace | Path | str, *, fall_back: bool = False, condemned: Container[str] = ()
    ) -> "Completer":
        """Open the index of a workspace, or a folder of versions of an index."""
        path = path.path if isinstance(path, Workspace) else Path(path)
        root = path if (path / versions.CURRENT).exists() else path / versions.ROOT
        return cls(root, fall_back=fall_back, condemned=condemned)

    @property
    def problems(self) -> list[str]:
        """Reasons why something else than the current files is served."""
        return [reason for watched in self._watched for reason in watched.problems]

    @property
    def preferred(self) -> str | None:
        """See `CurrentIndex.preferred`."""
        return self._index.preferred

    @property
    def index(self) -> Index:
        """The current version."""
        return self._served.index

    @property
    def served(self) -> Served:
        """The current index and overrides: its lists do not change with the disk."""
        return self._served

    def complete(
        self, prefix: str, k: int = 10, *, context: Mapping[str, Any] | None = None, mode: str = ANY
    ) -> list[Completion]:
        """At most k completions of a typed text, best first; `context` gives the log's extra columns, if known.

        Mode "prefix" returns only queries that begin with the typed text (or its correction), "any" every query that
        leads there.
        """
        if monotonic() >= self._next_look:
            self.look()
        return self._served.answer(prefix, k, context, mode)[0]

    def look_in_time(self) -> None:
        """Check the disk, unless that was done just now."""
        if monotonic() >= self._next_look:
            self.look()

    def look(self) -> None:
        """Switch to files that have changed on disk; an unreadable one is reported once, and the earlier value stays.

        Overrides do not wait for a new version, nor depend on its being complete.
        """
        self._next_look = monotonic() + LOOK_EVERY
        self.index.prefault()
        if not self._looking.acquire(blocking=False):
            return  # another thread does it
        try:
            for watched in self._watched:
                if watched.look():
                    self._watch_block()
                    self._served = self._together()
        finally:
            self._looking.release()

    @property
    def _watched(self) -> list[WatchedFile[Any]]:
        return [self._overrides, *self._blocks, self._index]

    @property
    def _blocks(self) -> "list[WatchedFile[BlockList]]":
        """The block list beside the index, and the one that its settings name."""
        return [self._beside] if self._block is self._beside else [self._beside, self._block]

    def _watch_block(self) -> None:
        """Watch the block list that the settings of the current index name."""
        named = str(self._index.value.about.get("block", ""))
        if named != self._block_file:
            self._block_file = named
            self._block = (
                WatchedFile(block_list.file_of(named), lambda _earlier: BlockList.named(named))
                if named
                else self._beside
            )

    def _together(self) -> Served:
        return Served.of(
            self._index.value, self._overrides.value, *(watched.value for watched in self._blocks)
        )


def _with_pinned(completions: list[Completion], pinned: tuple[str, ...], k: int) -> list[Completion]:
    """Pinned queries first, with the score of the first that follows, each query once."""
    known = set(map(normalise, pinned))
    others = [one for one in completions if normalise(one.query) not in known]
    best = others[0].score if others else 1.0
    return [*(Completion(query, best, PINNED) for query in pinned), *others][:k]
