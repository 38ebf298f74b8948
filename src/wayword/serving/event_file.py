"""One file of the event log: open, append-only, and compared with its path at every write.

Whoever rotates the log moves the file, or its whole folder, to another name. The open file then is no longer the file
at the path, and its new owner may read and delete it at any time; so lines count as written only if the file was still
at its path after they were flushed.
"""

import os
from contextlib import suppress
from pathlib import Path

from wayword.store.artefact import to_disk


class EventFile:
    """A new file at `path`; a file, link, pipe or device that is there already raises `FileExistsError`."""

    def __init__(self, path: Path) -> None:
        self.path, self.broken = path, False
        self._handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o640)
        try:
            to_disk(path.parent)  # the name of the file
            to_disk(path.parent.parent)  # the name of the folder
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return os.fstat(self._handle).st_size

    def is_in_place(self) -> bool:
        """Whether the path still names this very file."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self._handle))
        except OSError:
            return False

    def append(self, lines: bytes) -> bool:
        """Append lines and flush them to disk; whether they are in the file at the path then.

        They are not if the file was moved, removed or truncated meanwhile. A failed write raises `OSError` and leaves
        nothing in the file. After a failed flush the file is `broken`: the next flush would succeed without having
        written anything.
        """
        start = self.size
        try:
            left = memoryview(lines)
            while left:
                left = left[os.write(self._handle, left) :]
        except OSError:
            self._truncate(start)
            raise
        try:
            os.fdatasync(self._handle)
        except OSError:
            self.broken = True
            self._truncate(start)
            raise
        return self.size >= start + len(lines) and self.is_in_place()

    def _truncate(self, size: int) -> None:
        """Remove a partial write; never lengthen a file that somebody else has truncated."""
        try:
            if self.size > size:
                os.ftruncate(self._handle, size)
        except OSError:
            self.broken = True

    def close(self) -> None:
        """Close the file, and remove it if nothing was written."""
        with suppress(OSError):
            if not self.size and self.is_in_place():
                self.path.unlink()
        os.close(self._handle)
