"""Artefacts: folders whose files are checked against the sizes and hashes with which they were written.

`artefact.json` holds the size and SHA-256 of every file, and the report of the stage that wrote them. A C++ reader ends
the process on a truncated file, and a memory-mapped one may do so minutes later; so sizes, or hashes where it matters,
are compared before a file is opened.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from wayword.errors import WorkspaceError
from wayword.store import disk
from wayword.store.regular_file import read_regular

RECEIPT = "artefact.json"
UNFINISHED = ".unfinished-"
"""Prefix of the name of a folder that is being filled; one that a killed process left may be removed."""


def digest_of_file(path: Path) -> str:
    """Hash the content of a file."""
    if not path.is_file():
        problem = f"{path} is a folder; expected a file." if path.is_dir() else f"There is no file {path}."
        raise WorkspaceError(problem)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Receipt:
    """Sizes and hashes of an artefact's files, and the report of its stage."""

    sizes: dict[str, int]
    hashes: dict[str, str]
    report: dict[str, Any]


def _receipt(folder: Path) -> Receipt:
    file = folder / RECEIPT
    content = read_object(file)
    try:
        files = content["files"].items()
        sizes = {str(name): int(known["bytes"]) for name, known in files}
        hashes = {str(name): str(known["sha256"]) for name, known in files}
        receipt = Receipt(sizes, hashes, dict(content["report"]))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as problem:
        raise WorkspaceError(unreadable(file, f"{problem!r}")) from problem
    for name in sizes:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise WorkspaceError(
                unreadable(file, f"found the file {name!r}, expected one inside the artefact")
            )
    return receipt


def damage(folder: Path, *, thorough: bool, only: Collection[str] | None = None) -> str | None:
    """Describe the damage of an artefact: a missing file, a size, or with `thorough` a hash; None if it is whole.

    With `only`, other files are not looked at.
    """
    try:
        receipt = _receipt(folder)
    except WorkspaceError:
        return f"{folder.name}/{RECEIPT} is missing or cannot be read"
    for name, size in receipt.sizes.items():
        if only is not None and name not in only:
            continue
        file = folder / name
        try:
            if not file.is_file():
                return f"{folder.name}/{name} is missing"
            if file.stat().st_size != size:
                return f"{folder.name}/{name} has {file.stat().st_size:,} bytes instead of {size:,}"
            if thorough and digest_of_file(file) != receipt.hashes[name]:
                return f"{folder.name}/{name} is not what was written"
        except OSError as problem:
            return f"{folder.name}/{name} cannot be read ({problem.strerror})"
    extra = _files(folder) - receipt.sizes.keys() if thorough and only is None else None
    return f"{folder.name}/{min(extra)} is no part of it" if extra else None


def check(folder: Path) -> None:
    """Raise `WorkspaceError`, naming the file, unless a folder holds exactly the files that were sealed."""
    if problem := damage(folder, thorough=True):
        raise WorkspaceError(f"{folder} is damaged: {problem}. Delete the folder and build it again.")


def report_of(folder: Path) -> dict[str, Any]:
    """Read the report of the stage that wrote an artefact."""
    return _receipt(folder).report


def _files(folder: Path) -> set[str]:
    """The names of all files but the receipt itself."""
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return names - {RECEIPT}


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON object, or raise an error that names the file."""
    try:
        content = json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError) as problem:
        raise WorkspaceError(unreadable(file, str(problem))) from problem
    if not isinstance(content, dict):
        raise WorkspaceError(unreadable(file, f"found {type(content).__name__}, expected an object"))
    return content


def unreadable(file: Path, reason: str) -> str:
    """The message about a file that cannot be read."""
    return f"Cannot read {file}: {reason}. Run `wayword run` again to repair it."


def seal(folder: Path, report: dict[str, Any] | None = None) -> None:
    """Record every file of a folder and flush all to disk. The same files give the same receipt."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": digest_of_file(folder / name)}
        for name in sorted(_files(folder))
    }
    for path in sorted(folder.rglob("*")):
        to_disk(path)
    receipt = json.dumps({"files": files, "report": report or {}}, indent=2, ensure_ascii=False)
    write_atomically(folder / RECEIPT, receipt + "\n")


def make_whole(folder: Path, make: Callable[[Path], dict[str, Any]]) -> None:
    """Let `make` fill a new folder, which gets its name only when it is complete, sealed and on disk."""
    unfinished = folder.with_name(f"{UNFINISHED}{os.getpid()}-{folder.name}")
    try:
        unfinished.mkdir(parents=True)
        report = make(unfinished)
        disk.prove_room(unfinished)
        seal(unfinished, report)
        remove(folder)  # a damaged one, if any
        unfinished.rename(folder)
        to_disk(folder.parent)
    except BaseException:
        remove(unfinished)
        raise


def remove(path: Path) -> None:
    """Remove a folder with its content, or whatever else has that name, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Yield a new file. When the block is done, and only then, it is flushed to disk and takes the name `path`.

    Its own name cannot be foreseen, and an existing file or link is never opened, so that nobody who may write into a
    shared folder can direct the text elsewhere.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with new.open("x", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        to_disk(path.parent)
    finally:
        new.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a new file, flush it to disk, then rename it over the old one."""
    with replacing(path) as file:
        file.write(text)


to_disk = disk.to_disk
