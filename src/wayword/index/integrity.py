"""Verified versions: what was compared with its hashes is not compared again until one of its files changes.

Hashing takes as long as the index is large. So when it was done, the size, inode and times of every file are kept
beside the version; as long as they are the same, nothing was written to the files since. The time of an inode's last
change cannot be set back by a program that has no control of the clock.
"""

import json
from pathlib import Path
from time import time_ns

from wayword.store.artefact import RECEIPT, damage, write_atomically

TOO_YOUNG = 50_000_000
"""Nanoseconds: a file that changed so shortly before it was stamped could have changed again in the same tick."""
Stamps = dict[str, list[int]]


def problem_of(folder: Path) -> str | None:
    """What is wrong with a version, if anything; hashes are compared unless that was done since its last change."""
    found = _stamps(folder)
    if found and found == _known(folder) and damage(folder, thorough=False) is None:
        return None
    if problem := damage(folder, thorough=True):
        return problem
    _keep(folder, found)
    return None


def stamp(folder: Path) -> None:
    """For a version whose hashes were just taken: it need not be hashed to be opened."""
    _keep(folder, _stamps(folder))


def forget(folder: Path) -> None:
    """For a version that is removed."""
    _file(folder).unlink(missing_ok=True)


def _stamps(folder: Path) -> Stamps:
    """What changes with any change of a file, for every file; the receipt of what they should be is among them."""
    found = {}
    try:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                of = path.stat()
                found[path.relative_to(folder).as_posix()] = [
                    of.st_size,
                    of.st_mtime_ns,
                    of.st_ctime_ns,
                    of.st_ino,
                    of.st_dev,
                ]
    except OSError:
        return {}
    return found if RECEIPT in found else {}


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
        return  # a folder that cannot be written to is hashed each time


def _file(folder: Path) -> Path:
    return folder.with_name(f".verified-{folder.name}.json")
