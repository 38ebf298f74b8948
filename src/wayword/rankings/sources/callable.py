"""A Python function as a source."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from wayword.rankings.sources.source import Answer, Busy, Refused, listed

Search = Callable[[str, int], Iterable[str | int]]
"""(query, depth) → identifiers of documents, best first. It may raise `Busy` and `Refused`; any other error stops."""


class Function:
    """A function that is asked for one query at a time, by several threads at once."""

    batch = most_batch = 1
    most_threads = 64

    def __init__(self, search: Search, identity: str | None = None) -> None:
        self._search = search
        self._identity = identity or f"{search.__module__}.{search.__qualname__}"

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {"function": self._identity}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: str, depth: int) -> Answer:
        try:
            return listed(self._search(query, depth), depth)
        except (TimeoutError, ConnectionError) as problem:
            return Busy(f"{type(problem).__name__}: {problem}")
        except (Busy, Refused) as problem:
            return problem

    def close(self) -> None:
        """See `Source.close`."""
