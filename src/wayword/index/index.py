"""An open index: precomputed lists for known keys, the retriever for other texts."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wayword.completion.completion import Completion
from wayword.errors import WaywordError, WorkspaceError
from wayword.index.completion_lists import StoredLists
from wayword.index.integrity import Integrity
from wayword.index.keys import Columns
from wayword.request import MODES
from wayword.store.arrays import load_array
from wayword.store.artefact import read_object, report_of
from wayword.store.strings import Strings

if TYPE_CHECKING:
    from wayword.completion.expected_utility import ExpectedUtilityRetriever
    from wayword.completion.list_policy import ListPolicy
    from wayword.completion.policies import Expected
    from wayword.completion.popular import PopularRetriever
    from wayword.index.pages import Pages

FORMAT = 8
ABOUT, LIVE, PAGES, SEARCHES = "about.json", "live", "pages", "searches.npy"
MANY = 20
_OPENING = Lock()
"""NumPy reads the header of a file with `ast`, which Python 3.11 cannot do in two threads (python/cpython#106905)."""
POPULAR = "popular"
MAX_CANDIDATES = 2000
"""Maximum number of candidates per request, however many queries are hidden."""


Part = TypeVar("Part")


class Index:
    """One version of an index: read-only, shared between threads, and between processes through the page cache.

    Precomputed lists need NumPy and msgspec only. The retriever and the result pages are loaded on first use, because
    importing Numba alone takes longer than the rest of a command.
    """

    def __init__(self, folder: Path, integrity: Integrity) -> None:
        about = read_object(folder / ABOUT)
        if about.get("format") != FORMAT:
            raise WorkspaceError(
                f"The index {folder} has the format {about.get('format')!r}; this version of Wayword reads {FORMAT}. "
                "Build it again with `wayword index`."
            )
        self.version, self.about, self._folder, self.integrity = folder.name, about, folder, integrity
        self.made = (folder / ABOUT).stat().st_mtime
        self.report: dict[str, Any] = report_of(folder)
        self.columns = Columns(dict(about["columns"]))
        self.shown = Strings.load(folder, "shown")
        self.texts = Strings.load(folder, "texts", len(self.shown))
        self.lists = StoredLists(folder, self.shown, MODES, int(about["kept"]))
        self.popularity = load_array(folder / "popularity.npy", np.float64, shape=(len(self.texts),))
        self._prefaulted = False

    @classmethod
    def open(cls, folder: Path) -> "Index":
        """Open a version after an integrity check; a changed or truncated file raises `WorkspaceError`."""
        integrity = Integrity(folder)
        if integrity.problem:
            raise WorkspaceError(
                f"The index {folder} is damaged: {integrity.problem}. Build it again with `wayword index`."
            )
        return _opened(folder, lambda: cls(folder, integrity))

    def _part(self, read: Callable[[], Part]) -> Part:
        """Load a part that was checked when the index was opened, unless its files have changed since."""
        self.integrity.compare()
        if problem := self.integrity.problem or self.integrity.notice:
            raise WorkspaceError(f"The index {self._folder} has changed since it was opened: {problem}.")
        return _opened(self._folder, read)

    @cached_property
    def pages(self) -> "Pages":
        """The first results of each query."""
        from wayword.index.pages import Pages

        return self._part(lambda: Pages.load(self._folder / PAGES, len(self.shown)))

    @cached_property
    def retriever(self) -> "ExpectedUtilityRetriever":
        """The retriever that computes lists that are not stored."""
        from wayword.completion import retriever_io as saved

        return self._part(lambda: saved.load(self._folder / LIVE, self.texts, self._searches()))

    def _searches(self) -> NDArray[np.float64]:
        """The searches of each query, with those of private queries that count as searches of it."""
        counted = self._folder / LIVE / SEARCHES
        if not counted.exists():
            return self.popularity
        return load_array(counted, np.float64, shape=(len(self.texts),))

    @cached_property
    def _most_popular(self) -> "PopularRetriever":
        from wayword.completion.popular import PopularRetriever

        return PopularRetriever(self.texts, self.popularity, cached=0)

    @cached_property
    def policy(self) -> "ListPolicy | Expected":
        """The policy that computes lists that are not stored."""
        from wayword.completion import list_policy_io
        from wayword.completion.policies import Expected

        retriever = self.retriever
        if self.about["policy"] == "expected":
            return Expected(retriever)
        return self._part(lambda: list_policy_io.load(self._folder / LIVE, retriever))

    @property
    def loaded(self) -> tuple[str, ...]:
        """The parts that were loaded."""
        return tuple(part for part in ("pages", "retriever", "policy") if part in vars(self))

    def like(self, earlier: "Index") -> "Index":
        """Load the parts that the earlier version had loaded, so that no request waits for them. Returns itself."""
        for part in earlier.loaded:
            getattr(self, part)
        if earlier._prefaulted:
            self.prefault()
        return self

    def prefault(self) -> None:
        """See `StoredLists.prefault`; done once, when the index is in use for longer than one command."""
        if not self._prefaulted:
            self._prefaulted = True
            self.lists.prefault()

    def check(self, context: Mapping[str, Any]) -> None:
        """Raise `WaywordError` for a context column that the log did not have; uninformative columns are accepted."""
        if unknown := [name for name in context if name not in self.about["context"]]:
            known = ", ".join(self.about["context"]) or "none"
            raise WaywordError(f"Found context {', '.join(unknown)}; the log's context columns are: {known}.")

    def numbers(self, texts: Collection[str]) -> frozenset[int]:
        """The numbers of normalised queries; queries that are not in the index are skipped."""
        if len(texts) * MANY > len(self.texts):  # a scan is faster than many binary searches
            wanted = frozenset(texts)
            return frozenset(number for number, text in enumerate(self.texts) if text in wanted)
        places = ((text, bisect_left(self.texts, text)) for text in texts)
        return frozenset(
            place for text, place in places if place < len(self.texts) and self.texts[place] == text
        )

    def popular(self, typed: str, k: int, mode: str, hidden: Collection[int] = ()) -> list[Completion]:
        """Most popular completion, as evaluated; a score is the share of the searches that start with the text.

        Context columns are ignored.
        """
        from wayword.completion.policies import PrefixFiltered, RetrieverPolicy

        most = min(k + len(hidden), max(k, MAX_CANDIDATES))
        policy = PrefixFiltered(RetrieverPolicy(self._most_popular), self.texts, most + 1)
        candidates = policy.complete(self.columns.table([typed], {}), most, mode=mode)
        rows = zip(candidates.query.tolist(), candidates.score.tolist(), strict=True)
        total = self._most_popular.total(typed)
        return [
            Completion(self.shown[query], count / total, POPULAR)
            for query, count in rows
            if query not in hidden
        ][:k]

    def continuations(
        self, typed: str, k: int, mode: str, context: Mapping[str, Any], hidden: Collection[int] = ()
    ) -> list[Completion]:
        """The most probable queries for a typed text, misspelt ones included; a score is the probability."""
        matches = self.retriever.intents(self.columns.table([typed], context))
        accepted = self.retriever.most_probable(matches, min(k + len(hidden), max(k, MAX_CANDIDATES)), mode)
        rows = zip(accepted.query.tolist(), accepted.score.tolist(), strict=True)
        return [
            Completion(self.shown[query], share, POPULAR) for query, share in rows if query not in hidden
        ][:k]

    def live(
        self, typed: str, k: int, mode: str, context: Mapping[str, Any], hidden: Collection[int] = ()
    ) -> list[Completion]:
        """Compute a list with the retriever."""
        most = min(k + len(hidden), max(k, MAX_CANDIDATES))
        if self.about["policy"] == "expected" and not any(
            context.get(column) is not None for column in self.columns.values
        ):
            candidates = self.retriever.retrieve_text(typed, most, mode)
        else:
            candidates = self.policy.complete(self.columns.table([typed], context), most, mode=mode)
        rows = zip(candidates.query.tolist(), candidates.score.tolist(), candidates.sources(), strict=True)
        return [
            Completion(self.shown[query], score, source)
            for query, score, source in rows
            if query not in hidden
        ][:k]


def _opened(folder: Path, read: Callable[[], Part]) -> Part:
    """Load a part of an index; raise `WorkspaceError` if it cannot be read."""
    try:
        with _OPENING:
            return read()
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as problem:
        raise WorkspaceError(
            f"The index {folder} cannot be opened: {problem}. Build it again with `wayword index`."
        ) from problem
