"""The event log: append-only files in which every acknowledged record is on disk.

Requests that arrive while the disk is busy are written together: one write and one flush for all of them. A failed
write leaves nothing in the file.
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wayword.store.artefact import to_disk

FOLDER = "events"
LARGEST = 64_000_000
"""Bytes after which the next file begins."""


class EventLog:
    """Files of one process: `ubi-<time>-<process>-<number>.ndjson`. For many tasks of one thread."""

    def __init__(self, folder: Path, *, largest: int = LARGEST) -> None:
        self._folder, self._largest = folder, largest
        self._file: int | None = None
        self._size = self._files = 0
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="wayword-events")

    async def append(self, lines: bytes) -> None:
        """Return when the lines are on disk; raise `OSError` if they cannot be written."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()
        self._waiting.append((lines, written))
        if self._writing is None or self._writing.done():
            self._writing = loop.create_task(self._write_all())
        await written

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(self._disk, self._write, b"".join(lines for lines, _ in taken))
                _settle(taken, lambda future: future.set_result(None))
            except BaseException as problem:
                failure = problem if isinstance(problem, OSError) else OSError(str(problem))
                _settle(taken, lambda future, failure=failure: future.set_exception(failure))  # type: ignore[misc]

    def _write(self, lines: bytes) -> None:
        """Append to the file, and once more to a new one if it was removed meanwhile."""
        for _ in range(2):
            file = self._file
            if file is None or self._size + len(lines) > self._largest or _is_gone(file):
                file = self._begin()
            self._append(file, lines)
            if not _is_gone(file):
                return
        raise OSError("files are removed as they are written")

    def _append(self, file: int, lines: bytes) -> None:
        try:
            left = memoryview(lines)
            while left:
                left = left[os.write(file, left) :]
            os.fdatasync(file)
            self._size += len(lines)
        except OSError:
            self._truncate(file)
            raise

    def _begin(self) -> int:
        self._close()
        self._files += 1
        if not self._folder.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            to_disk(self._folder.parent)
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = self._folder / f"ubi-{when}-{os.getpid()}-{self._files}.ndjson"
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o640)
        self._size = 0
        to_disk(self._folder)
        return self._file

    def _truncate(self, file: int) -> None:
        """Truncate a partial write; if even that fails, begin another file next."""
        try:
            os.ftruncate(file, self._size)
        except OSError:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close(self) -> None:
        """Close the file when the server stops."""
        self._disk.shutdown(wait=True)
        self._close()


def _is_gone(file: int) -> bool:
    """Whether the file has no name any more."""
    return os.fstat(file).st_nlink == 0


def _settle(
    taken: list[tuple[bytes, "asyncio.Future[None]"]], tell: Callable[["asyncio.Future[None]"], None]
) -> None:
    for _, future in taken:
        if not future.done():  # a client that has gone does not wait
            tell(future)
