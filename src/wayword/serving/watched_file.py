"""The content of a file that may change at any time."""

import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

from wayword.errors import WaywordError
from wayword.store.regular_file import stamp_of

TRY_AGAIN = 2.0
"""Seconds after which an unreadable file is tried again."""
Value = TypeVar("Value")
logger = logging.getLogger("wayword")


class WatchedFile(Generic[Value]):
    """The content of a file, read again when it was replaced or written."""

    def __init__(self, file: Path, load: Callable[[Value | None], Value]) -> None:
        self._file, self._load = file, load
        self._seen = stamp_of(file)
        self._reported: tuple[int, ...] | None = None
        self._again = 0.0
        self._problem: str | None = None
        self.value = load(None)

    @property
    def problems(self) -> list[str]:
        """Reasons why the value is not the content of the file."""
        return [self._problem] if self._problem else []

    def look(self) -> bool:
        """Read the file again if it has changed; whether there is another value."""
        stamp = stamp_of(self._file)
        if stamp == self._seen:
            self._reported, self._problem = None, None
            return False
        if stamp == self._reported and monotonic() < self._again:
            return False
        try:
            value = self._load(self.value)
        except WaywordError as problem:
            if stamp != self._reported:
                logger.warning("%s The earlier version stays in use.", problem)
            self._reported, self._again, self._problem = stamp, monotonic() + TRY_AGAIN, str(problem)
            return False
        self._seen, self._reported, self._problem = stamp, None, None
        changed = value is not self.value
        self.value = value
        return changed
