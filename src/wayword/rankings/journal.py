"""A journal of answers: an append-only file beside the output, from which a killed run goes on.

Its first line says whose answers they are; every other is the answer to one query. Lines are on disk before they count.
A line that a crash cut off, and what follows it, is dropped.
"""

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wayword.errors import EngineError
from wayword.store import disk

Line = dict[str, Any]
"""query, time (seconds since 1970), documents (by rank)."""
LONGEST_LINE = 1 << 28


class Journal:
    """An open journal. No other run can open it."""

    def __init__(self, path: Path, identity: str) -> None:
        disk.check_name(path)
        self.path = path
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        self._file = os.fdopen(handle, "r+b")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise EngineError(
                f"Another run writes {path}. Wait for its end, or choose another --out."
            ) from None
        self.times: dict[str, float] = {}
        self.dropped = 0
        """Number of answers that were dropped because they are of another source."""
        end = self._read(identity)
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._write([{"identity": identity}])
            disk.to_disk(path.parent)

    def _read(self, identity: str) -> int:
        """Fill `times`; return the position after the last whole line, or 0 if the answers are of another source."""
        end, same = 0, False
        while line := self._file.readline(LONGEST_LINE):
            found = _parsed(line)
            if found is None:
                break
            if not end:
                same = found.get("identity") == identity
            elif same:
                self.times[found["query"]] = found["time"]
            else:
                self.dropped += 1
            end += len(line)
        return end if same else 0

    def append(self, answers: Iterable[Line]) -> None:
        """Write answers, and flush them to disk."""
        lines = list(answers)
        self._write(lines)
        self.times.update((line["query"], line["time"]) for line in lines)

    def _write(self, lines: list[Line]) -> None:
        self._file.write(b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Delete the file: its answers are in the output."""
        self.path.unlink()
        disk.to_disk(self.path.parent)

    def close(self) -> None:
        """Close the file, for another run to go on."""
        self._file.close()


def _parsed(line: bytes) -> Line | None:
    """A whole line; None if it was cut off or damaged."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    answered = isinstance(found.get("query"), str) and isinstance(found.get("time"), float)
    return found if "identity" in found or (answered and isinstance(found.get("documents"), list)) else None
