"""Versions of an index: sibling folders, and a pointer to the current one that is swapped atomically.

    current                  name of the served version
    overrides.json           manual decisions, for all versions
    <16 hexadecimal digits>/ a version, sealed: its `artefact.json` lists every file with its hash

A version gets its name when it is complete, so a killed build leaves nothing that could be served.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wayword.errors import WorkspaceError
from wayword.index import integrity
from wayword.store import disk
from wayword.store.artefact import (
    RECEIPT,
    UNFINISHED,
    damage,
    make_whole,
    write_atomically,
)

ROOT = "index"
"""Folder of the versions in a workspace."""
CURRENT = "current"
_NAME = re.compile(r"[0-9a-f]{16}")


def current(root: Path) -> Path:
    """The folder of the current version."""
    name = _read_pointer(root)
    if name is None:
        raise WorkspaceError(f"There is no index in {root}. Build one with `wayword index WORKSPACE`.")
    if not _NAME.fullmatch(name):
        raise WorkspaceError(
            f"Found {name[:40]!r} in {root / CURRENT}; expected the name of a version. "
            "`wayword index WORKSPACE` repairs it."
        )
    return root / name


def _read_pointer(root: Path) -> str | None:
    """Content of the pointer file, unchecked; None if it cannot be read."""
    try:
        return (root / CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


def publish(
    root: Path, version: str, make: Callable[[Path], dict[str, Any]], *, keep: int
) -> tuple[Path, bool]:
    """Write a version unless it exists, and make it current. Returns its folder and whether it was written."""
    folder = root / version
    try:
        with _locked(root):
            made = damage(folder, thorough=True) is not None
            if made:
                make_whole(folder, make)
                _make_read_only(folder)
                integrity.stamp(folder)
            if made or _read_pointer(root) != version:
                point(root, version)
            _prune(root, version, keep)
    except Exception as problem:
        if isinstance(problem, WorkspaceError) or (said := disk.refusal(problem)) is None:
            raise
        raise WorkspaceError(f"Cannot write the index {root}. {said}") from problem
    return folder, made


def point(root: Path, version: str) -> None:
    """Make an existing version current, for example to roll back."""
    if not _NAME.fullmatch(version):
        raise WorkspaceError(f"Found the version {version[:40]!r}; expected 16 hexadecimal digits.")
    if problem := damage(root / version, thorough=False):
        raise WorkspaceError(
            f"The version {version} cannot be served: {problem}. Build it again with `wayword index WORKSPACE`."
        )
    write_atomically(root / CURRENT, version + "\n")


def versions(root: Path) -> list[str]:
    """Names of all complete versions, the newest last."""
    complete = [path for path in root.iterdir() if _NAME.fullmatch(path.name) and (path / RECEIPT).exists()]
    return [path.name for path in sorted(complete, key=lambda path: (path.stat().st_mtime_ns, path.name))]


def _make_read_only(folder: Path) -> None:
    """Make all files read-only: servers map them into memory and would crash if one were truncated."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o444)


def _prune(root: Path, version: str, keep: int) -> None:
    """Remove the oldest versions. A server that has one open can read it until it closes it."""
    for old in [name for name in versions(root) if name != version][: -(keep - 1) or None]:
        shutil.rmtree(root / old, ignore_errors=True)
        integrity.forget(root / old)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the build lock, and remove the remains of killed builds."""
    disk.make_folder(root)
    with disk.locked(root) as free:
        if not free:
            raise WorkspaceError(f"Another process is writing {root}. Try again when it has finished.")
        for left in root.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
