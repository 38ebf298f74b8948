"""The contract of a source: a search engine that is asked for the documents of queries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from wayword.errors import EngineError
from wayword.rankings.sources.credentials import Credentials

Documents = list[str | None]
"""Identifiers of documents by rank; None where the document at a rank is not known."""
LONGEST_NAME = 10_000
"""Characters of a document's identifier."""


class Refused(EngineError):
    """The engine cannot answer this query, however often it is asked."""


class Busy(EngineError):
    """The engine may answer later, after so many seconds if it says so."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


Answer = Documents | Refused | Busy


@dataclass(frozen=True)
class Options:
    """What a source may need to know; each member says which of these it uses."""

    endpoint: str | None = None
    index: str | None = None
    template: Path | None = None
    json_path: str | None = None
    documents: Path | None = None
    language: str | None = None
    credentials: Credentials | None = None
    ca: Path | None = None
    timeout: float = 30.0


class Source(Protocol):
    """A search engine. Several threads may ask at once."""

    batch: int
    """Number of queries in a request, unless the user says another."""
    most_batch: int
    """Largest number of queries in a request; 1 where the engine takes one at a time."""
    most_threads: int
    """Number of threads that may ask at once."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the answers depend on, without secrets: with another identity, every query is asked again."""
        ...

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """Answer each query with its documents in the engine's order, `Refused` or `Busy`. Raise one of the two if no
        query can be answered, and `EngineError` if it is of no use to ask anything else."""
        ...

    def close(self) -> None:
        """Close connections and files."""
        ...


def listed(found: Iterable[Any], depth: int) -> Documents:
    """The first `depth` identifiers, as text; one that repeats an earlier one leaves its rank empty.

    >>> listed(["vlc", 7, 7.0, "vlc", "mpv"], 4)
    ['vlc', '7', None, None]
    """
    documents: dict[str, int] = {}
    names: Documents = []
    for rank, value in zip(range(1, depth + 1), found, strict=False):
        name = _name(value, rank)
        names.append(name if documents.setdefault(name, rank) == rank else None)
    return names


def _name(value: Any, rank: int) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    name = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(
            f"Found {str(value)[:100]!r} as the document at rank {rank}; expected an identifier: printable text of at "
            f"most {LONGEST_NAME:,} characters, or a number."
        )
    return name
