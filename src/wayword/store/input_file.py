"""Input files: opened once, so that the bytes that are hashed are the bytes that are read."""

import os
import stat
import sys
import weakref
from functools import cached_property
from pathlib import Path

from wayword.errors import LogError
from wayword.store import disk
from wayword.store.artefact import digest_of_file
from wayword.store.regular_file import stamp_of


class InputFile:
    """A regular file, held open. Read it as `opened`; `str` gives the path that the user knows.

    On Linux, `opened` names the open file itself: if another takes its place, by a rename or in a symbolic link on the
    way, the open one is read. Elsewhere it is the path, and `check` notices the other one.
    """

    def __init__(self, path: Path) -> None:
        disk.check_name(path)
        self.path = path
        handle = _open(path)
        weakref.finalize(self, os.close, handle)
        self.opened = Path(f"/proc/self/fd/{handle}") if sys.platform == "linux" else path.absolute()
        self._written = stamp_of(self.opened)

    def __str__(self) -> str:
        return str(self.path)

    @classmethod
    def of(cls, path: "Path | InputFile") -> "InputFile":
        """An input file as it is, or the one at a path."""
        return path if isinstance(path, InputFile) else cls(path)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.opened.stat().st_size

    @cached_property
    def digest(self) -> str:
        """The hash of the content."""
        return digest_of_file(self.opened)

    def check(self) -> None:
        """Raise `LogError` if the file was written or replaced since it was opened and hashed.

        A write updates the change time, which no program can set, even if the former bytes and times are restored.
        A write through a memory map may not, so the content is hashed again.
        """
        stamps = {stamp_of(self.path), stamp_of(self.opened), self._written}
        if len(stamps) > 1 or digest_of_file(self.opened) != self.digest:
            raise LogError(
                f"{self} changed during the run: another program wrote or replaced it while it was read. Nothing made "
                "from it is kept. Run the same command again when the file is complete."
            )


def _open(path: Path) -> int:
    """A descriptor of a regular file; a named pipe does not block."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LogError(f"There is no file {path}.") from None
    except OSError as problem:
        raise LogError(f"Cannot read {path}: {problem.strerror}.") from problem
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    found = "a folder" if stat.S_ISDIR(mode) else "a pipe or device, which can be read only once"
    raise LogError(f"{path} is {found}; expected a file.")
