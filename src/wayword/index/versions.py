"""Versions of an index: sibling folders, and a pointer to the current one that is swapped atomically.

    current                  name of the served version
    previous                 name of the version that was served before it
    overrides.json           manual decisions, for all versions
    evaluation.json          what people find and type with each policy, for the page
    <16 hexadecimal digits>/ a version, sealed: its `artefact.json` lists every file with its hash

A version gets its name when it is complete, so a killed build leaves nothing that could be served.
"""

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

from wayword.errors import WorkspaceError
from wayword.index import evaluation_file, integrity
from wayword.index.evaluation_file import Evaluation
from wayword.store import disk
from wayword.store.artefact import (
    RECEIPT,
    UNFINISHED,
    damage,
    make_whole,
    remove,
    write_atomically,
)
from wayword.store.regular_file import read_regular

ROOT = "index"
"""Folder of the versions in a workspace."""
CURRENT, PREVIOUS = "current", "previous"
LONGEST_POINTER = 1000
"""Bytes."""
_NAME = re.compile(r"[0-9a-f]{16}")


def current(root: Path) -> Path:
    """The folder of the current version."""
    try:
        name = read_regular(root / CURRENT, LONGEST_POINTER).strip()
    except FileNotFoundError:
        raise WorkspaceError(
            f"There is no index in {root}. Build one with `wayword index WORKSPACE`."
        ) from None
    except (OSError, ValueError) as problem:
        raise WorkspaceError(
            f"Cannot read {root / CURRENT}: {problem}. `wayword index WORKSPACE` repairs it."
        ) from problem
    if not _NAME.fullmatch(name):
        raise WorkspaceError(
            f"Found {name[:40]!r} in {root / CURRENT}; expected the name of a version. "
            "`wayword index WORKSPACE` repairs it."
        )
    return root / name


def publish(
    root: Path,
    version: str,
    make: Callable[[Path], dict[str, Any]],
    *,
    keep: int,
    evaluation: Evaluation | None = None,
    current: bool = True,
) -> tuple[Path, bool]:
    """Write a version unless it exists, and make it `current`. Returns its folder and whether it was written.

    The evaluation, if one is given, is written beside it.
    """
    folder = root / version
    try:
        with _locked(root):
            made = damage(folder, thorough=True) is not None
            if made:
                make_whole(folder, make)
                _make_read_only(folder)
                sleep(integrity.TOO_YOUNG / 1e9)  # files that were just sealed would not be stamped
                integrity.stamp(folder)
            if current and (made or not _is_current(root, version)):
                point(root, version)
            if current:
                _prune(root, version, keep)
            if evaluation is not None:
                evaluation.save(root)
    except Exception as problem:
        if isinstance(problem, WorkspaceError) or (said := disk.refusal(problem)) is None:
            raise
        raise WorkspaceError(f"Cannot write the index {root}. {said}") from problem
    return folder, made


def _is_current(root: Path, version: str) -> bool:
    try:
        return current(root).name == version
    except WorkspaceError:
        return False


def point(root: Path, version: str) -> None:
    """Make an existing version current, for example to roll back."""
    if not _NAME.fullmatch(version):
        raise WorkspaceError(f"Found the version {version[:40]!r}; expected 16 hexadecimal digits.")
    if problem := damage(root / version, thorough=False):
        raise WorkspaceError(
            f"The version {version} cannot be served: {problem}. Build it again with `wayword index WORKSPACE`."
        )
    with suppress(WorkspaceError):
        if (served := current(root).name) != version:
            write_atomically(root / PREVIOUS, served + "\n")
    if (root / CURRENT).is_dir() and not (root / CURRENT).is_symlink():
        remove(root / CURRENT)
    write_atomically(root / CURRENT, version + "\n")


def previous(root: Path) -> str | None:
    """The version that was served before the current one; None if there is none that can be served."""
    try:
        name = read_regular(root / PREVIOUS, LONGEST_POINTER).strip()
    except (OSError, ValueError):
        return None
    return name if _NAME.fullmatch(name) and damage(root / name, thorough=False) is None else None


def versions(root: Path) -> list[str]:
    """Names of all complete versions, the newest last."""
    made = []
    for path in root.iterdir() if root.is_dir() else ():
        with suppress(OSError):  # removed meanwhile
            if _NAME.fullmatch(path.name) and (path / RECEIPT).exists():
                made.append((path.stat().st_mtime_ns, path.name))
    return [name for _, name in sorted(made)]


def by_preference(root: Path) -> list[str]:
    """The current version, if there is a pointer to one, then the others, the newest first."""
    others = versions(root)[::-1]
    try:
        preferred = current(root).name
    except WorkspaceError:
        return others
    return [preferred, *(name for name in others if name != preferred)]


def _make_read_only(folder: Path) -> None:
    """Make all files read-only: servers map them into memory and would crash if one were truncated.

    Files that are so already are left alone: another version may share them, whose stamps would change.
    """
    for path in folder.rglob("*"):
        if path.is_file() and stat.S_IMODE(path.stat().st_mode) != 0o444:
            path.chmod(0o444)


def _prune(root: Path, version: str, keep: int) -> None:
    """Remove the oldest versions. A server that has one open can read it until it closes it."""
    for old in [name for name in versions(root) if name != version][: -(keep - 1) or None]:
        if _is_current(root, old) or (keep > 1 and old == previous(root)):
            continue  # somebody rolled back meanwhile, or may do so
        remove(root / old)
        integrity.forget(root / old)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the build lock, and remove the remains of killed builds."""
    disk.make_folder(root)
    with disk.locked(root) as free:
        if not free:
            raise WorkspaceError(f"Another process is writing {root}. Try again when it has finished.")
        written = (f".{name}.*.new" for name in (CURRENT, PREVIOUS, evaluation_file.FILE, ".verified-*"))
        for remains in (f"{UNFINISHED}*", *written):
            for left in root.glob(remains):
                remove(left)
        yield


def discard(root: Path, version: str) -> None:
    """Remove a version that is not served."""
    with _locked(root):
        if not _is_current(root, version):
            remove(root / version)
            integrity.forget(root / version)


def prune(root: Path, keep: int) -> None:
    """Remove the oldest versions but for the current one, the one before it, and as many as are kept."""
    with _locked(root):
        _prune(root, current(root).name, keep)
