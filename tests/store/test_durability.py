"""What has its name is on disk, and what is written goes where it was meant to."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wayword.errors import WorkspaceError
from wayword.index import versions
from wayword.progress import Progress
from wayword.store import disk
from wayword.store.artefact import make_whole, replacing, write_atomically
from wayword.store.stage import Stage
from wayword.store.workspace import building

Event = tuple[str, Path, Path | None]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Event]]:
    """The flushes and renames of a test, in their order; each is done too."""
    seen: list[Event] = []
    on_disk: set[Path] = set()
    fsync, rename, replace = os.fsync, Path.rename, Path.replace

    def flushed(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").resolve()
        seen.append(("flush", path, None))
        on_disk.add(path)
        fsync(handle)

    def moved(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def recorded(path: Path, target: Path) -> Path:
            files = {path, *path.rglob("*")}
            assert files <= on_disk, f"renamed before they are on disk: {files - on_disk}"
            on_disk.update(target / file.relative_to(path) for file in files)
            seen.append(("move", path, target))
            return move(path, target)

        return recorded

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "rename", moved(rename))
    monkeypatch.setattr(Path, "replace", moved(replace))
    yield seen
    moves = [(place, target) for place, (kind, _, target) in enumerate(seen) if kind == "move" and target]
    assert moves
    for place, target in moves:
        assert ("flush", target.parent, None) in seen[place:], f"the new name of {target} is not on disk"


def _fill(folder: Path) -> dict[str, Any]:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.bin").write_bytes(b"a")
    (folder / "b.bin").write_bytes(b"b")
    return {}


def test_an_artefact_is_on_disk_before_and_after_it_gets_its_name(
    tmp_path: Path, events: list[Event]
) -> None:
    make_whole(tmp_path / "artefact", _fill)
    assert events[-1] == ("flush", tmp_path, None)


def test_a_run_and_an_index_are_on_disk_with_the_names_of_their_new_folders(
    tmp_path: Path, events: list[Event]
) -> None:
    workspace = tmp_path / "new" / "workspace"
    with building(workspace, Progress()) as build:
        build.stage("log", Stage({}, lambda folder, _: _fill(folder)))
        build.finish({})
    versions.publish(workspace / "index", "0" * 16, _fill, keep=2)
    flushed = [path for kind, path, _ in events if kind == "flush"]
    assert {tmp_path, tmp_path / "new", workspace, workspace / "artefacts", workspace / "index"} <= {*flushed}
    assert [target.name for _, _, target in events if target][-1] == "current"


def test_files_that_are_moved_together_are_on_disk(tmp_path: Path, events: list[Event]) -> None:
    with disk.filled(tmp_path / "data") as unfinished:
        (unfinished / "clicks.parquet").write_bytes(b"a")
        (unfinished / "rankings.parquet").write_bytes(b"b")
    assert events[-1] == ("flush", tmp_path / "data", None)


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for folder, write in (
        (tmp_path / "w", lambda: building(tmp_path / "w", Progress()).__enter__()),
        (tmp_path / "i", lambda: versions.publish(tmp_path / "i", "0" * 16, _fill, keep=2)),
    ):
        (folder / "artefacts").mkdir(parents=True)
        (folder / ".lock").symlink_to(precious)
        with pytest.raises(WorkspaceError, match="symbolic link"):
            write()
    assert precious.read_text() == "kept"


def test_a_new_file_has_a_name_that_nobody_can_foresee(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        with replacing(tmp_path / "export.jsonl") as file:
            names.append(file.name)
    assert len({*names}) == 2
    assert all(len(Path(name).name.split(".")[-2]) == 16 for name in names)


def test_a_prepared_link_does_not_direct_a_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "foreseen")
    (tmp_path / "precious").write_text("kept")
    (tmp_path / ".current.foreseen.new").symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "current", "text")
    assert (tmp_path / "precious").read_text() == "kept"
