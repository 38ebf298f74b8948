"""The event log: append-only files in which every acknowledged record is on disk.

Requests that arrive while the disk is busy are written together: one write and one flush for all of them. A failed
write leaves nothing in the file. Files may be moved or removed at any time: an acknowledged record is in the file that
was at the path after the flush. A record whose file was moved during the flush is written once more, to the next file.
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wayword.serving.event_file import EventFile

FOLDER = "events"
LARGEST = 64_000_000
"""Bytes after which the next file begins."""
ATTEMPTS = 8
"""Times that lines are written before a log whose files are moved or truncated at every write is given up."""


class EventLog:
    """Files of one process: `ubi-<time>-<process>-<number>.ndjson`. For many tasks of one thread."""

    def __init__(self, folder: Path, *, largest: int = LARGEST) -> None:
        self._folder, self._largest = folder, largest
        self._file: EventFile | None = None
        self._files = 0
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
        """Append to the current file, and to the next one if that was moved, removed or truncated meanwhile."""
        for _ in range(ATTEMPTS):
            try:
                if self._current(len(lines)).append(lines):
                    return
            except FileNotFoundError:  # the folder was moved while a file was made in it
                continue
        raise OSError("the files are moved or truncated as fast as they are written")

    def _current(self, more: int) -> EventFile:
        """The file at its path that has room for `more` bytes: the last one, or a new one."""
        file = self._file
        if file is not None and not file.broken and file.is_in_place():
            size = file.size
            if not size or size + more <= self._largest:
                return file
        return self._begin()

    def _begin(self) -> EventFile:
        self._close()
        self._folder.mkdir(parents=True, exist_ok=True)
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        while self._file is None:
            self._files += 1
            try:
                name = f"ubi-{when}-{os.getpid()}-{self._files}.ndjson"
                self._file = EventFile(self._folder / name)
            except FileExistsError:  # of another machine, or of before the clock was set back
                continue
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def close(self) -> None:
        """Close the file when the server stops."""
        self._disk.shutdown(wait=True)
        self._close()


def _settle(
    taken: list[tuple[bytes, "asyncio.Future[None]"]], tell: Callable[["asyncio.Future[None]"], None]
) -> None:
    for _, future in taken:
        if not future.done():  # a client that has gone does not wait
            tell(future)
