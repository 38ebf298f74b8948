"""The version of an index that is served: the current one, or another if that is damaged."""

import logging
from collections.abc import Container
from pathlib import Path

from wayword.errors import WorkspaceError
from wayword.index import versions
from wayword.index.index import Index
from wayword.index.withdrawn import Withdrawn
from wayword.serving.watched_file import WatchedFile

logger = logging.getLogger("wayword")


class CurrentIndex(WatchedFile[Index]):
    """Follows the pointer to the current version. A version that turns out to be damaged is replaced by another.

    After that, only a new pointer leads to another version: `wayword index` writes one.
    """

    def __init__(self, root: Path, *, fall_back: bool = False, condemned: Container[str] = ()) -> None:
        """Open the current version; with `fall_back` another one if it is damaged. `condemned` ones are not opened."""
        self._root, self._fall_back, self._condemned = root, fall_back, condemned
        self._replaced: str | None = None
        super().__init__(root / versions.CURRENT, self._open)

    @property
    def problems(self) -> list[str]:
        """Reasons why not the current version is served, or why a restart would not serve it."""
        reasons = (self._replaced, *super().problems, self.value.integrity.notice)
        return [reason for reason in reasons if reason]

    @property
    def preferred(self) -> str | None:
        """The first version that is not condemned, the current one before others."""
        names = (name for name in versions.by_preference(self._root) if name not in self._condemned)
        return next(names, None)

    def look(self) -> bool:
        """Open another version if the pointer has changed or the open one is damaged; whether that was so."""
        changed = super().look()
        if isinstance(self.value, Withdrawn):
            return changed
        damaged, advice = self.value.integrity.look(), "Build it again with `wayword index`."
        if self.value.version in self._condemned:
            damaged = f"workers that served {self.value.version} crashed again and again"
            advice = "Publish another version, or restart the server."
        if damaged:
            self._withdraw(f"The index {self._root} was withdrawn: {damaged}. {advice}")
        return changed or bool(damaged)

    def _withdraw(self, reason: str) -> None:
        self._replaced = reason
        other = self._other(self.value.version, self.value)
        if other is None:
            logger.error("%s There is no other version; no completions are served.", reason)
        else:
            logger.error("%s The version %s is served instead.", reason, other.version)
        self.value = other or Withdrawn(self.value, reason)

    def _open(self, earlier: Index | None) -> Index:
        """The current version: the earlier one, if it is still current and on disk."""
        folder = versions.current(self._root)
        if earlier and earlier.version == folder.name and earlier.integrity.whole:
            if not isinstance(earlier, Withdrawn):
                self._replaced = None
            return earlier
        try:
            opened = self._opened(folder, earlier)
        except WorkspaceError as problem:
            other = self._other(folder.name, None) if earlier is None and self._fall_back else None
            if other is None:
                raise
            self._replaced = str(problem)
            logger.error("%s The version %s is served instead.", problem, other.version)
            return other
        self._replaced = None
        return opened

    def _opened(self, folder: Path, earlier: Index | None) -> Index:
        if folder.name in self._condemned:
            raise WorkspaceError(f"The index {folder} is not opened: workers that served it crashed.")
        opened = Index.open(folder)
        return opened.like(earlier) if earlier else opened

    def _other(self, version: str, earlier: Index | None) -> Index | None:
        """The newest other version that can be opened."""
        for name in versions.by_preference(self._root):
            if name != version:
                try:
                    return self._opened(self._root / name, earlier)
                except WorkspaceError as problem:
                    logger.warning("%s", problem)
        return None
