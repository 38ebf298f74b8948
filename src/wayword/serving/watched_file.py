"""The content of a file that may change at any time."""

import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

from wayword.errors import WaywordError

TRY_AGAIN = 2.0
"""Seconds after which an unreadable file is tried again."""
Value = TypeVar("Value")
_NOTHING = object()
"""No stamp: None is that of a missing file."""
logger = logging.getLogger("wayword")


class WatchedFile(Generic[Value]):
    """The content of a file, read again when it was replaced or written."""

    def __init__(self, file: Path, load: Callable[[Value | None], Value]) -> None:
        self._file, self._load = file, load
        self._seen = _stamp(file)
        self._reported: object = _NOTHING
        self._again = 0.0
        self._problem: str | None = None
        self.value = load(None)

    @property
    def problems(self) -> list[str]:
        """Reasons why the value is not the content of the file."""
        return [self._problem] if self._problem else []

    def look(self) -> bool:
        """Read the file again if it has changed; whether there is another value."""
        stamp = _stamp(self._file)
        if stamp == self._seen:
            self._reported, self._problem = _NOTHING, None
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
        self._seen, self._reported, self._problem = stamp, _NOTHING, None
        changed = value is not self.value
        self.value = value
        return changed


def _stamp(file: Path) -> tuple[int, int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
