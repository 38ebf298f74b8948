"""A workspace: a folder of artefacts, one per stage, and a manifest that names the current ones.

    manifest.json                    stage → current artefact, settings, format
    artefacts/<stage>-<key>/         a finished artefact; its `artefact.json` lists its files with their hashes
    artefacts/.unfinished-…/         left by a killed run; the next run removes it

A stage's key is a hash of all that it depends on. An artefact gets its name only when it is complete (one rename),
and the manifest is swapped only when all stages are. So a run that is killed at any moment leaves the last finished
result in place, and the next run continues after the last finished stage.
"""

import hashlib
import json
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword import __version__
from wayword.config import Config
from wayword.errors import WorkspaceError
from wayword.progress import Progress
from wayword.store import disk
from wayword.store.artefact import (
    UNFINISHED,
    damage,
    make_whole,
    read_object,
    report_of,
    unreadable,
    write_atomically,
)
from wayword.store.stage import Stage

FORMAT = 8
MANIFEST = "manifest.json"
ARTEFACTS = "artefacts"
_NAME = re.compile(r"([a-z][a-z0-9_@.]*)-[0-9a-f]{16}")
"""The name of an artefact: its stage and its key. Nothing else in a folder is read or removed."""


class _NewerFormat(WorkspaceError):
    """A workspace of a later version, which is left alone; a damaged one may be repaired."""


def digest(value: Any) -> str:
    """Hash plain values to 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


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
                raise WorkspaceError(_damaged(path, problem))
        return workspace

    @classmethod
    def of(cls, workspace: "Workspace | Path | str") -> "Workspace":
        """An open workspace as it is, or the one of a folder."""
        return workspace if isinstance(workspace, Workspace) else cls.open(workspace)

    def folder(self, stage: str) -> Path:
        """The folder of a stage's artefact."""
        try:
            return self.path / ARTEFACTS / str(self.manifest["stages"][stage])
        except KeyError:
            raise WorkspaceError(
                f"The workspace {self.path} has no artefact of the stage '{stage}'. "
                "Run `wayword run` again to repair it."
            ) from None

    def report(self, stage: str) -> dict[str, Any]:
        """The report of a stage: counts and warnings."""
        return report_of(self.folder(stage))

    @property
    def config(self) -> Config:
        """The settings with which the workspace was made."""
        return Config.parse(self.manifest["settings"])

    def check(self, *stages: str) -> None:
        """Raise `WorkspaceError` unless the artefacts of these stages are what was written, by their hashes."""
        for stage in stages:
            if problem := damage(self.folder(stage), thorough=True):
                raise WorkspaceError(_damaged(self.path, problem))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Name the damaged file if reading artefacts fails because of one."""
        try:
            yield
        except Exception as problem:
            try:
                self.check(*self.manifest["stages"])
            except WorkspaceError as damaged:
                raise damaged from problem
            raise


def _damaged(path: Path, problem: str) -> str:
    return f"The workspace {path} is damaged: {problem}. Run `wayword run` again to repair it."


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    disk.check_name(path)
    if not path.is_dir():
        raise WorkspaceError(
            f"There is no workspace {path}. Make one with `wayword run --out {shlex.quote(str(path))} …`."
        )
    if not file.exists():
        state = "is unfinished" if (path / ARTEFACTS).exists() else "is not a Wayword workspace"
        raise WorkspaceError(
            f"The folder {path} {state}: it has no {MANIFEST}. Run `wayword run --out {shlex.quote(str(path))} …`."
        )
    manifest = read_object(file)
    written = manifest.get("format")
    if isinstance(written, int) and written > FORMAT:
        raise _NewerFormat(
            f"The workspace {path} was written by Wayword {manifest.get('wayword', '?')} in format {written}; this is "
            f"Wayword {__version__}, which reads formats up to {FORMAT}. Upgrade Wayword or choose another folder."
        )
    if (wrong := _wrong_with(manifest)) is not None:
        raise WorkspaceError(unreadable(file, wrong))
    return manifest


def _wrong_with(manifest: dict[str, Any]) -> str | None:
    if manifest.get("format") is not FORMAT:
        return f"found format {manifest.get('format')!r}, expected {FORMAT}"
    for part in ("stages", "settings"):
        if not isinstance(manifest.get(part), dict):
            return f"found {part} = {manifest.get(part)!r}, expected an object"
    for stage, name in manifest["stages"].items():
        parts = _NAME.fullmatch(name) if isinstance(name, str) else None
        if parts is None or parts[1] != stage:
            return f"found the artefact {name!r} of the stage {stage!r}, expected {stage}-<16 hexadecimal digits>"
    return None


@dataclass
class Build:
    """A run under way: makes artefacts, and at the end the manifest that points to them."""

    path: Path
    reporter: Progress
    stages: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    """The folders of the stages so far."""

    def stage(self, name: str, stage: Stage) -> Path:
        """The artefact of a stage: an existing one for the same inputs, or what it makes in an empty folder."""
        depends = {
            "stage": name,
            "format": FORMAT,
            "wayword": __version__,
            "inputs": stage.inputs,
            "after": [self.stages[a] for a in stage.after],
        }
        self.stages[name] = f"{name}-{digest(depends)}"
        folder = self.path / ARTEFACTS / self.stages[name]
        reused = folder.exists() and damage(folder, thorough=True) is None
        self.folders[name] = folder
        self.reporter.begin(name)
        started = time.monotonic()
        if not reused:
            at = {earlier: self.folders[earlier] for earlier in stage.after}
            make_whole(folder, lambda new: stage.fill(new, at))
            self.made.append(name)
        seconds = time.monotonic() - started
        self.reporter.end(name, reused=reused, seconds=seconds)
        return folder

    def reuse(self, workspace: Workspace, *stages: str) -> None:
        """Take artefacts of the workspace as they are."""
        for name in stages:
            self.stages[name] = str(workspace.manifest["stages"][name])
            self.folders[name] = workspace.folder(name)

    def workspace(self, settings: dict[str, Any]) -> Workspace:
        """The stages so far, for reading; the manifest on disk stays as it is."""
        return Workspace(self.path, self._manifest(settings))

    def _manifest(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "wayword": __version__,
            "stages": dict(self.stages),
            "settings": settings,
        }

    def finish(self, settings: dict[str, Any], *, prune: bool = True) -> Workspace:
        """Swap the manifest, then remove the artefacts that it no longer names, unless others may want them."""
        manifest = self._manifest(settings)
        if not _holds(self.path, manifest):
            write_atomically(self.path / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        for folder in (self.path / ARTEFACTS).iterdir() if prune else ():
            if _NAME.fullmatch(folder.name) and folder.name not in self.stages.values():
                shutil.rmtree(folder, ignore_errors=True)
        return Workspace.open(self.path)


def _holds(path: Path, manifest: dict[str, Any]) -> bool:
    try:
        return _read_manifest(path) == manifest
    except WorkspaceError:
        return False


@contextmanager
def building(path: Path | str, reporter: Progress) -> Iterator[Build]:
    """Open a folder for a run: create it if needed, lock it against a second run, remove leftovers of a killed one.

    A full disk or a missing permission becomes a `WorkspaceError`, whichever library was writing.
    """
    path = Path(path)
    disk.check_name(path)
    try:
        _refuse_foreign(path)
        disk.make_folder(path / ARTEFACTS)
        with disk.locked(path) as free:
            if not free:
                raise WorkspaceError(f"Another run is writing {path}. Wait for it, or choose another folder.")
            for left in [*(path / ARTEFACTS).glob(f"{UNFINISHED}*"), *path.glob(f".{MANIFEST}.*.new")]:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            yield Build(path, reporter)
    except Exception as problem:
        if isinstance(problem, WorkspaceError) or (refusal := disk.refusal(problem)) is None:
            raise
        raise WorkspaceError(f"Cannot write the workspace {path}. {refusal}") from problem


def _refuse_foreign(path: Path) -> None:
    """Raise an error for a folder with other files, or a workspace of a newer version."""
    if path.exists() and not path.is_dir():
        raise WorkspaceError(f"{path} is a file; expected a folder for the workspace.")
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise WorkspaceError(f"{parent} is a file; expected a folder to hold the workspace {path.name}.")
    if not path.exists():
        return
    try:
        _read_manifest(path)
    except _NewerFormat:
        raise
    except WorkspaceError as problem:
        if not _begun(path):
            raise WorkspaceError(
                f"The folder {path} holds other files. Give an empty or new folder for the workspace."
            ) from problem


def _begun(path: Path) -> bool:
    """Whether a folder without a readable manifest is empty, or was left by an interrupted or damaged run."""
    if not (path / ARTEFACTS).is_dir():
        return not any(path.iterdir())
    names = [folder.name for folder in (path / ARTEFACTS).iterdir()]
    ours = all(name.startswith(UNFINISHED) or _NAME.fullmatch(name) for name in names)
    return ours and (bool(names) or not (path / MANIFEST).exists())
