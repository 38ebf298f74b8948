"""Integrity of index versions: sizes and small files are checked at every opening, large files before or after it.

Hashing time grows with the size of the index: 0.6 s per gigabyte. After a comparison of all hashes, the size, inode
and times of every file are stored beside the version. While these are equal, large files are opened at once and hashed
in the background: a disk can change bytes without changing a time. Small files, and those that a library maps without
checking them, are hashed at every opening.

A version is never written to once it is sealed. If a file changes while it is mapped, the version is hashed again, and
withdrawn if it differs; a file that was deleted or replaced stays mapped as it was.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from threading import Thread, get_native_id
from time import monotonic, time_ns
from typing import NamedTuple

from wayword.store.artefact import RECEIPT, damage, write_atomically
from wayword.store.regular_file import read_regular

TOO_YOUNG = 50_000_000
"""Nanoseconds. A file changed this recently could change again within the same clock tick, so it is not stamped."""
HASHED = 64_000_000
"""Bytes, smallest files first, that are hashed at every opening: 0.04 s."""
UNCHECKED = (".json",)
"""Files that are hashed at every opening, of any size: nothing else would notice a changed value in them."""
LOOK_EVERY = 2.0
"""Seconds between two comparisons of the times of an open version's files."""


class Stamp(NamedTuple):
    """Size, times, identity and number of names of a file."""

    size: int
    modified: int
    changed: int
    inode: int
    device: int
    names: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """The stamp of a file as it is now."""
        now = path.stat()
        return cls(now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino, now.st_dev, now.st_nlink)

    def is_same_file(self, other: "Stamp | None") -> bool:
        """Whether this is the same file on disk, changed or not."""
        return other is not None and (self.inode, self.device) == (other.inode, other.device)

    def is_unchanged(self, other: "Stamp") -> bool:
        """Whether no program wrote to the file in between.

        A new or removed name (hard link) sets the change time of a file too, which cannot be set back otherwise.
        """
        named = self.changed == other.changed or self.names != other.names
        return (
            self.is_same_file(other) and (self.size, self.modified) == (other.size, other.modified) and named
        )


Stamps = dict[str, Stamp]


class Integrity:
    """The integrity of a version, before it is opened and while it is open.

    `problem` describes a damage, after which no file may be read. `notice` says that a file was deleted or replaced,
    which does not concern the one that is open.
    """

    def __init__(self, folder: Path) -> None:
        """Check what has to be checked before a file is opened."""
        self._folder, self._stamps = folder, _stamps(folder)
        self.notice: str | None = None
        stamped = _unchanged(_known(folder), self._stamps)
        self._unhashed = _large(self._stamps) if stamped else frozenset()
        if stamped:
            small = self._stamps.keys() - self._unhashed
            self.problem = damage(folder, thorough=False) or damage(folder, thorough=True, only=small)
        else:
            self.problem = damage(folder, thorough=True)
            if self.problem is None:
                _keep(folder, self._stamps)
        self._next_look = 0.0

    @property
    def whole(self) -> bool:
        """Whether the folder still holds what was opened, as far as is known."""
        return self.problem is None and self.notice is None

    def look(self) -> str | None:
        """Return the problem, if any; now and then look for one, in the background as far as that takes long."""
        if self.problem is None and monotonic() >= self._next_look:
            self._next_look = monotonic() + LOOK_EVERY
            self.compare()
            if self.problem is None and self._unhashed:
                Thread(target=self._hash, args=(self._unhashed,), name="wayword-hash", daemon=True).start()
                self._unhashed = frozenset()
        return self.problem

    def compare(self) -> None:
        """Compare the stamps of all files, and hash those that were written to."""
        now = _stamps(self._folder, self._stamps)
        gone = [name for name, stamp in self._stamps.items() if not stamp.is_same_file(now.get(name))]
        self.notice = f"{self._folder.name}/{gone[0]} was deleted or replaced on disk" if gone else None
        there = {name: stamp for name, stamp in now.items() if name not in gone}
        written = [name for name, stamp in there.items() if not self._stamps[name].is_unchanged(stamp)]
        if written:
            self.problem = damage(self._folder, thorough=True, only=written) or self.problem
        self._stamps.update(there)

    def _hash(self, names: Iterable[str]) -> None:
        """Hash files that are open already, the smallest first, with low priority."""
        with suppress(OSError, AttributeError):  # not every system has a priority for each thread
            os.setpriority(os.PRIO_PROCESS, get_native_id(), 10)
        for name in sorted(names, key=lambda name: self._stamps[name].size):
            problem = damage(self._folder, thorough=True, only=[name])
            if problem and self._stamps[name].is_same_file(_stamps(self._folder, [name]).get(name)):
                self.problem = problem
                return


def stamp(folder: Path) -> None:
    """Store the stamps of a version that was just hashed, so that opening it hashes small files only."""
    _keep(folder, _stamps(folder))


def forget(folder: Path) -> None:
    """Delete the stamps of a removed version."""
    _file(folder).unlink(missing_ok=True)


def _large(stamps: Stamps) -> frozenset[str]:
    """The names of the files that are not hashed at every opening."""
    ascending = sorted(stamps, key=lambda name: stamps[name].size)
    total = accumulate(stamps[name].size for name in ascending)
    beyond = (name for name, size in zip(ascending, total, strict=True) if size > HASHED)
    return frozenset(name for name in beyond if not name.endswith(UNCHECKED))


def _stamps(folder: Path, names: Iterable[str] | None = None) -> Stamps:
    """The stamps of the named files, or of all; a file that cannot be read has none."""
    if names is None:
        names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    stamps = {}
    for name in names:
        with suppress(OSError):
            stamps[name] = Stamp.of(folder / name)
    return stamps


def _unchanged(known: Stamps, now: Stamps) -> bool:
    return (
        RECEIPT in now
        and known.keys() == now.keys()
        and all(known[name].is_unchanged(stamp) for name, stamp in now.items())
    )


def _known(folder: Path) -> Stamps:
    """The stored stamps; empty if there are none that can be read."""
    try:
        known = json.loads(read_regular(_file(folder)))
        return {str(name): Stamp(*map(int, numbers)) for name, numbers in known.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _keep(folder: Path, stamps: Stamps) -> None:
    """Store stamps, unless a file is too young. A version in a read-only folder is hashed each time."""
    if RECEIPT in stamps and time_ns() - max(one.changed for one in stamps.values()) >= TOO_YOUNG:
        with suppress(OSError):
            write_atomically(_file(folder), json.dumps(stamps) + "\n")


def _file(folder: Path) -> Path:
    return folder.with_name(f".verified-{folder.name}.json")
