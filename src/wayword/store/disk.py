"""Errors of the disk (full, no permission) as one message each, whichever library was writing."""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wayword.errors import WaywordError, WorkspaceError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL_MESSAGE = re.compile(
    "No space left on device"  # DuckDB's and Arrow's quote of the system
    "|failed to offload data block"  # DuckDB, which looks at the free space before it spills
    "|FileStream.Write incomplete"  # XGBoost
    r"|\d+ requested and \d+ written"  # NumPy
)
ROOM = 1 << 20
"""Bytes that must still fit when a stage has written its files; see `prove_room`."""


def refusal(problem: BaseException) -> str | None:
    """Describe a problem that a disk caused: full, no permission, or no place for a folder; None for other problems.

    >>> refusal(OSError(errno.ENOSPC, "No space left on device", "model.ubj"))
    'The disk is full: model.ubj. Free some space and run the same command again; nothing was overwritten.'
    >>> refusal(ValueError("3 columns instead of 4"))
    """
    causes = list(_causes(problem))
    if any(_is_full(cause) for cause in causes):
        return (
            f"The disk is full{_where(causes)}. Free some space and run the same command again; "
            "nothing was overwritten."
        )
    for cause in causes if not isinstance(problem, WaywordError) else []:
        if isinstance(cause, OSError) and cause.errno is not None:
            where = _where([cause])
            if cause.errno in _FORBIDDEN:
                return f"No permission{where} ({cause.strerror}). Choose a place that you may write to."
            return f"Cannot use a file or folder{where} ({cause.strerror})."
    return None


def check_name(path: Path) -> None:
    """Raise an error for a path that is not UTF-8 or has a NUL: the libraries that read and write take no other."""
    try:
        name = str(path.absolute()).encode()
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise WorkspaceError(
            f"Found the path {str(path)!r}; expected one in UTF-8 and without NUL. Rename the file or folder."
        )


def prove_room(folder: Path) -> None:
    """Write and remove a file, which fails if the disk filled up while a stage wrote.

    A C library may lose the last buffer of a file when it closes it and report no error: XGBoost's `save_model` does.
    """
    probe = folder / ".room"
    try:
        with probe.open("wb") as file:
            file.write(bytes(ROOM))
            file.flush()
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)


def to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, so that they survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, and flush their names to disk."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        to_disk(folder.parent)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; yields whether it was free. Neither is a link in the place of the
    lock file followed, nor a pipe waited for."""
    with open(folder / ".lock", "a", opener=_open_no_link) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _open_no_link(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, whose files are moved to `folder` when the block is done, and only then."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as problem:
        raise WaywordError(f"Cannot write into {folder}: it is a file; expected a folder.") from problem
    with TemporaryDirectory(prefix=".unfinished-", dir=folder) as unfinished:
        yield Path(unfinished)
        made = sorted(Path(unfinished).iterdir())
        for path in made:
            to_disk(path)
        for path in made:
            path.replace(folder / path.name)
        to_disk(folder)


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _is_full(problem: BaseException) -> bool:
    if isinstance(problem, OSError) and problem.errno is not None:
        return problem.errno in _FULL
    return _FULL_MESSAGE.search(str(problem)) is not None


def _where(problems: list[BaseException]) -> str:
    names = [p.filename for p in problems if isinstance(p, OSError) and p.filename]
    return f": {names[0]}" if names else ""
