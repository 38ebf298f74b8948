"""Versions share files with artefacts and with each other, and stay independent."""

import os
import shutil
from pathlib import Path

import pytest

from runs import Made
from wayword.config import IndexConfig
from wayword.errors import WorkspaceError
from wayword.index import integrity, versions
from wayword.index.build import build
from wayword.index.integrity import Integrity
from wayword.serving.completer import Completer
from wayword.store import artefact
from wayword.store.artefact import check
from wayword.store.workspace import Workspace


@pytest.fixture
def workspace(undisturbed: Made, tmp_path: Path) -> Workspace:
    """A copy whose index was built in its place."""
    path = undisturbed.copy(tmp_path / "workspace")
    shutil.rmtree(path / "index")
    build(Workspace.open(path), IndexConfig())
    return Workspace.open(path)


def _inodes(folder: Path) -> set[int]:
    return {path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def test_the_retriever_is_on_disk_once(workspace: Workspace) -> None:
    """Its arrays are those of the artefacts; JSON files are small."""
    live = versions.current(workspace.path / "index") / "live"
    shared = _inodes(workspace.folder("demand")) | _inodes(workspace.folder("completion"))
    arrays = list(live.rglob("*.npy"))
    assert len(arrays) > 15
    assert [path.name for path in arrays if path.stat().st_ino not in shared] == []


def test_another_version_leaves_stamps_artefacts_and_readers_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "TOO_YOUNG", 0)
    monkeypatch.setattr(integrity, "HASHED", 0)
    first = versions.current(workspace.path / "index")
    integrity.stamp(first)
    served = Completer.open(workspace).served
    before = served.complete("vidoe")
    second, made = build(workspace, IndexConfig(kept=13))
    assert made
    hashed = list[str]()
    digest = artefact.digest_of_file

    def noted(path: Path) -> str:
        hashed.append(path.name)
        return digest(path)

    monkeypatch.setattr(artefact, "digest_of_file", noted)
    assert Integrity(first).problem is None
    assert [name for name in hashed if name.endswith(".npy")] == []
    served.index.integrity.compare()
    assert served.index.integrity.whole
    assert served.complete("vidoe") == before
    for stage in ("demand", "completion"):
        check(workspace.folder(stage))
    shutil.rmtree(first)
    check(second)
    for stage in ("demand", "completion"):
        shutil.rmtree(workspace.folder(stage))
    check(second)
    assert Completer(workspace.path / "index").complete("vidoe") == before


def test_an_artefact_that_is_made_again_leaves_the_index_alone(workspace: Workspace) -> None:
    folder = workspace.folder("demand")

    def make(new: Path) -> dict[str, int]:
        return {"bytes": (new / "demand.values.npy").write_bytes(b"other")}

    artefact.make_whole(folder, make)
    check(versions.current(workspace.path / "index"))


def test_a_version_that_is_rolled_back_to_is_not_pruned(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace.path / "index"
    first = versions.current(root).name
    point = versions.point

    def interrupted(at: Path, version: str) -> None:
        point(at, version)
        point(at, first)  # by another person, before the oldest version is removed

    monkeypatch.setattr(versions, "point", interrupted)
    build(workspace, IndexConfig(kept=13, versions=1))
    assert first in versions.versions(root)
    assert versions.current(root).name == first


@pytest.mark.parametrize("thing", ["pipe", "folder", "dangling link", "version is a pipe"])
def test_building_again_repairs_the_pointer(thing: str, workspace: Workspace) -> None:
    root = workspace.path / "index"
    name = versions.current(root).name
    place = root / (name if thing.startswith("version") else versions.CURRENT)
    artefact.remove(place)
    if "pipe" in thing:
        os.mkfifo(place)
    elif thing == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    folder, _ = build(workspace, IndexConfig())
    assert versions.current(root) == folder
    check(folder)


def test_the_current_version_is_preferred_then_the_newest(workspace: Workspace) -> None:
    root = workspace.path / "index"
    first = versions.current(root).name
    second, third = (build(workspace, IndexConfig(kept=kept))[0].name for kept in (12, 13))
    assert versions.by_preference(root) == [third, second, first]
    versions.point(root, first)
    assert versions.by_preference(root) == [first, third, second]
    (root / versions.CURRENT).unlink()
    assert versions.by_preference(root) == [third, second, first]


def test_building_does_not_wait_for_a_pipe_in_the_place_of_the_lock(workspace: Workspace) -> None:
    lock = workspace.path / "index" / ".lock"
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(WorkspaceError, match=r"\.lock"):
        build(workspace, IndexConfig(kept=13))


def test_a_new_version_is_stamped(workspace: Workspace) -> None:
    version = versions.current(workspace.path / "index")
    assert version.with_name(f".verified-{version.name}.json").is_file()
