"""An index that must not be read any more."""

from collections.abc import Callable, Collection
from typing import Any, NoReturn

from wayword.errors import WorkspaceError
from wayword.index.index import Index, Part


class Withdrawn(Index):
    """Version, settings and age of an index, without its files: everything else raises the reason."""

    def __init__(self, index: Index, reason: str) -> None:
        plain = {
            name: value for name, value in vars(index).items() if isinstance(value, bool | int | float | str)
        }
        vars(self).update(
            plain,
            about=index.about,
            report=index.report,
            integrity=index.integrity,
            loaded=index.loaded,
            _reason=reason,
        )

    def __getattr__(self, _name: str) -> NoReturn:
        raise WorkspaceError(self.reason)

    @property
    def reason(self) -> str:
        """Why it was withdrawn, and what to do."""
        return str(vars(self)["_reason"])

    def _part(self, _read: Callable[[], Part]) -> NoReturn:
        raise WorkspaceError(self.reason)

    def numbers(self, _texts: Collection[str]) -> frozenset[int]:
        """No query has a number."""
        return frozenset()

    def check(self, _context: Any) -> NoReturn:
        """Raise `WorkspaceError`."""
        raise WorkspaceError(self.reason)
