"""Integrity checks of index versions: hashes are compared once, and again only after a file has changed.

Hashing time grows with the size of the index. After a comparison, the size, inode and times of every file are
stored beside the version; while these are equal, no file was written since. The change time of an inode (ctime)
cannot be set back by a program that does not control the clock.
"""

import json
from pathlib import Path
from time import time_ns

from wayword.store.artefact import RECEIPT, damage, write_atomically

TOO_YOUNG = 50_000_000
"""Nanoseconds. A file changed this recently could change again within the same clock tick, so it is not stamped."""
Stamps = dict[str, list[int]]


def problem_of(folder: Path) -> str | None:
    """Describe the damage of a version, or None. Hashes are compared unless the stored stamps are up to date."""
    stamps = _stamps(folder)
    if stamps and stamps == _known(folder) and damage(folder, thorough=False) is None:
        return None
    if problem := damage(folder, thorough=True):
        return problem
    _keep(folder, stamps)
    return None


def stamp(folder: Path) -> None:
    """Store the stamps of a version that was just hashed, so that opening it needs no hashing."""
    _keep(folder, _stamps(folder))


def forget(folder: Path) -> None:
    """Delete the stamps of a removed version."""
    _file(folder).unlink(missing_ok=True)


def _stamps(folder: Path) -> Stamps:
    """Size, times and inode of every file of a version, the receipt included; empty if one cannot be read."""
    stamps = {}
    try:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                of = path.stat()
                stamps[path.relative_to(folder).as_posix()] = [
                    of.st_size,
                    of.st_mtime_ns,
                    of.st_ctime_ns,
                    of.st_ino,
                    of.st_dev,
                ]
    except OSError:
        return {}
    return stamps if RECEIPT in stamps else {}


def _known(folder: Path) -> Stamps | None:
    try:
        known = json.loads(_file(folder).read_text(encoding="utf-8"))
        return {str(name): list(stamps) for name, stamps in known.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _keep(folder: Path, stamps: Stamps) -> None:
    if not stamps or time_ns() - max(changed for _, _, changed, *_ in stamps.values()) < TOO_YOUNG:
        return
    try:
        write_atomically(_file(folder), json.dumps(stamps) + "\n")
    except OSError:
        return  # a version in a read-only folder is hashed each time


def _file(folder: Path) -> Path:
    return folder.with_name(f".verified-{folder.name}.json")
