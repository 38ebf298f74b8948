"""A workspace: a folder of artefacts, one per stage, and a manifest that says which of them belong together.

    manifest.json                    what is current: stage → artefact, settings, format
    artefacts/<stage>-<key>/         a finished artefact; its `artefact.json` lists its files with their hashes
    artefacts/.unfinished-…/         what a killed run left; the next run removes it

A stage's key is a hash of all that it depends on. An artefact gets its name only when it is complete (one rename),
and the manifest is swapped only when all stages are. So a run that is killed at any moment leaves the last finished
result in place, and the next run goes on after the last finished stage.
"""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword import __version__
from wayword.errors import WorkspaceError
from wayword.progress import Reporter

FORMAT = 1
MANIFEST = "manifest.json"
RECEIPT = "artefact.json"
ARTEFACTS = "artefacts"
UNFINISHED = ".unfinished-"


def digest(value: Any) -> str:
    """A short hash of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A hash of a file's content."""
    if not path.is_file():
        raise WorkspaceError(f"There is no file {path}.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Workspace:
    """A finished workspace, open for reading."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> "Workspace":
        """Read the manifest and check that its artefacts are there and whole."""
        path = Path(path)
        workspace = cls(path, _read_manifest(path))
        for stage in workspace.manifest["stages"]:
            if problem := damage(workspace.folder(stage), thorough=False):
                raise WorkspaceError(
                    f"The workspace {path} is damaged: {problem}. Run `wayword run` again to repair it."
                )
        return workspace

    def folder(self, stage: str) -> Path:
        """Where a stage's files are."""
        try:
            return self.path / ARTEFACTS / str(self.manifest["stages"][stage])
        except KeyError:
            raise WorkspaceError(
                f"The workspace {self.path} has no artefact of the stage '{stage}'."
            ) from None

    def report(self, stage: str) -> dict[str, Any]:
        """What a stage had to say: counts and warnings."""
        report: dict[str, Any] = _receipt(self.folder(stage))["report"]
        return report


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.is_dir():
        raise WorkspaceError(f"There is no workspace {path}. Make one with `wayword run --out {path} …`.")
    if not file.exists():
        state = "is unfinished" if (path / ARTEFACTS).exists() else "is not a Wayword workspace"
        raise WorkspaceError(
            f"The folder {path} {state}: it has no {MANIFEST}. Run `wayword run --out {path} …`."
        )
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        written = int(manifest["format"])
        stages = {str(stage): str(name) for stage, name in manifest["stages"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise WorkspaceError(
            f"Cannot read {file}: {problem!r}. Run `wayword run` again to repair it."
        ) from problem
    if written > FORMAT:
        raise WorkspaceError(
            f"The workspace {path} was written by Wayword {manifest.get('wayword', '?')} in format {written}; this is "
            f"Wayword {__version__}, which reads formats up to {FORMAT}. Upgrade Wayword or choose another folder."
        )
    return {**manifest, "stages": stages}


def _receipt(folder: Path) -> dict[str, Any]:
    try:
        receipt: dict[str, Any] = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
        return receipt if isinstance(receipt["files"], dict) else {"files": {RECEIPT: {}}}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise WorkspaceError(
            f"Cannot read {folder / RECEIPT}: {problem!r}. Run `wayword run` again."
        ) from problem


def damage(folder: Path, *, thorough: bool) -> str | None:
    """What is wrong with an artefact, if anything: missing files or sizes, and with `thorough` their hashes."""
    try:
        files = _receipt(folder)["files"]
    except WorkspaceError as problem:
        return str(problem)
    for name, known in files.items():
        file = folder / name
        if not file.is_file():
            return f"{folder.name}/{name} is missing"
        if file.stat().st_size != known["bytes"]:
            return f"{folder.name}/{name} has {file.stat().st_size} bytes instead of {known['bytes']}"
        if thorough and digest_of_file(file) != known["sha256"]:
            return f"{folder.name}/{name} is not what was written"
    return None


@dataclass
class Build:
    """A run under way: makes artefacts, and at the end the manifest that points to them."""

    path: Path
    reporter: Reporter
    stages: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    """Where the files of the stages so far are."""

    def stage(
        self,
        name: str,
        inputs: dict[str, Any],
        make: Callable[[Path], dict[str, Any]],
        *,
        after: tuple[str, ...] = (),
    ) -> Path:
        """The artefact of a stage: an existing one for the same inputs, or what `make` writes into an empty folder."""
        depends = {
            "stage": name,
            "wayword": __version__,
            "inputs": inputs,
            "after": [self.stages[a] for a in after],
        }
        self.stages[name] = f"{name}-{digest(depends)}"
        folder = self.path / ARTEFACTS / self.stages[name]
        reused = folder.exists() and damage(folder, thorough=True) is None
        self.folders[name] = folder
        self.reporter.begin(name)
        started = time.monotonic()
        if not reused:
            shutil.rmtree(folder, ignore_errors=True)
            self._make(folder, make)
            self.made.append(name)
        self.reporter.end(name, reused=reused, seconds=time.monotonic() - started)
        return folder

    def _make(self, folder: Path, make: Callable[[Path], dict[str, Any]]) -> None:
        unfinished = folder.with_name(f"{UNFINISHED}{os.getpid()}-{folder.name}")
        unfinished.mkdir(parents=True)
        try:
            report = make(unfinished)
            _write_receipt(unfinished, report)
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def finish(self, settings: dict[str, Any]) -> Workspace:
        """Swap the manifest, then remove the artefacts that it no longer names."""
        manifest = {"format": FORMAT, "wayword": __version__, "stages": self.stages, "settings": settings}
        if not (self.path / MANIFEST).exists() or _read_manifest(self.path) != manifest:
            write_atomically(self.path / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        for folder in (self.path / ARTEFACTS).iterdir():
            if folder.name not in self.stages.values():
                shutil.rmtree(folder, ignore_errors=True)
        return Workspace.open(self.path)


def _write_receipt(folder: Path, report: dict[str, Any]) -> None:
    files = {
        str(file.relative_to(folder)): {"bytes": file.stat().st_size, "sha256": digest_of_file(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    for name in files:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    write_atomically(
        folder / RECEIPT, json.dumps({"files": files, "report": report}, indent=2, ensure_ascii=False) + "\n"
    )


def write_atomically(path: Path, text: str) -> None:
    """All of it or nothing: a new file, flushed to disk, then renamed over the old one."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def building(path: Path | str, reporter: Reporter) -> Iterator[Build]:
    """Open a folder for a run: created if need be, locked against a second run, rid of what a killed one left."""
    path = Path(path)
    _refuse_foreign(path)
    (path / ARTEFACTS).mkdir(parents=True, exist_ok=True)
    with (path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkspaceError(
                f"Another run is writing {path}. Wait for it, or choose another folder."
            ) from None
        for left in [*(path / ARTEFACTS).glob(f"{UNFINISHED}*"), *path.glob(f".{MANIFEST}.*.new")]:
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        yield Build(path, reporter)


def _refuse_foreign(path: Path) -> None:
    """A folder with something else in it is not ours to write to, nor is a workspace of a newer version."""
    if path.exists() and not path.is_dir():
        raise WorkspaceError(f"{path} is a file; expected a folder for the workspace.")
    if (path / MANIFEST).exists():
        try:
            _read_manifest(path)
        except WorkspaceError as problem:
            if "in format" in str(problem):
                raise
    elif path.exists() and any(path.iterdir()) and not (path / ARTEFACTS).exists():
        raise WorkspaceError(
            f"The folder {path} holds other files. Give an empty or new folder for the workspace."
        )
