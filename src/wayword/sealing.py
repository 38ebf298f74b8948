"""Folders that native code will read: sealed when written, checked before they are opened.

A C++ reader that meets a truncated file ends the process, and a memory-mapped one may do so minutes later. So
the size and SHA-256 of every file stand in `files.json`, and nothing is handed over before they agree.
"""

import hashlib
import json
from pathlib import Path

from wayword.errors import WorkspaceError

SEAL = "files.json"


def seal(folder: Path) -> None:
    """Record every file of the folder; the same files always give the same seal."""
    records = {name: _record(folder / name) for name in _files(folder)}
    (folder / SEAL).write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def check_seal(folder: Path) -> None:
    """Raise `WorkspaceError`, naming the file, unless the folder holds exactly what `seal` recorded."""
    records = _read_seal(folder)
    for name in sorted(records.keys() | set(_files(folder))):
        if name not in records:
            raise WorkspaceError(f"Found {folder / name}, which is no part of the model. {_ADVICE}")
        if not (folder / name).is_file():
            raise WorkspaceError(f"{folder / name} is missing. {_ADVICE}")
        size = (folder / name).stat().st_size
        if size != records[name]["bytes"]:
            raise WorkspaceError(
                f"{folder / name} has {size} bytes; expected {records[name]['bytes']}. {_ADVICE}"
            )
        if _record(folder / name) != records[name]:
            raise WorkspaceError(f"{folder / name} was changed after it was written. {_ADVICE}")


_ADVICE = "Delete the folder and build it again."


def _read_seal(folder: Path) -> dict[str, dict[str, str | int]]:
    try:
        records = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise WorkspaceError(f"{folder} holds no readable {SEAL}: {problem}. {_ADVICE}") from problem
    if not isinstance(records, dict) or not all(
        isinstance(r, dict) and r.keys() == {"bytes", "sha256"} for r in records.values()
    ):
        raise WorkspaceError(f"{folder / SEAL} does not list files with bytes and sha256. {_ADVICE}")
    return records


def _files(folder: Path) -> list[str]:
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in paths if name != SEAL)


def _record(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
