"""Files that a person, or another program, may replace at any time: by another file, a pipe, a folder, gigabytes."""

import errno
import os
import stat
from pathlib import Path

LARGEST = 50_000_000
"""Bytes of the largest file that is read as one text."""


def read_regular(path: Path, largest: int | None = LARGEST) -> str:
    """Read a file in UTF-8; raise `OSError` unless it is a regular file of at most `largest` bytes.

    Opening a named pipe would wait for a writer, perhaps for ever; with O_NONBLOCK it does not.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "expected a regular file", str(path))
        if largest is not None and status.st_size > largest:
            raise OSError(errno.EFBIG, f"expected at most {largest:,} bytes", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(status.st_size).decode("utf-8")
    finally:
        os.close(handle)


def stamp_of(path: Path) -> tuple[int, ...]:
    """Identity, size and times of a file, which change when it is written or replaced; empty if it is gone."""
    try:
        of = path.stat()
    except OSError:
        return ()
    return (of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns)
