"""Small files are hashed at every opening, large ones once before and then in the background; changes are noticed."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from servers import eventually
from wayword.index import integrity as verified
from wayword.index.integrity import Integrity
from wayword.store import artefact
from wayword.store.artefact import seal


@pytest.fixture
def version(tmp_path: Path) -> Path:
    folder = tmp_path / "0123456789abcdef"
    (folder / "inner").mkdir(parents=True)
    (folder / "one.npy").write_bytes(b"one" * 1000)
    (folder / "inner" / "two.npy").write_bytes(b"two" * 1000)
    seal(folder)
    return folder


@pytest.fixture
def hashed(version: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are hashed from now on, in a version that is old enough to be trusted once it was."""
    monkeypatch.setattr(verified, "TOO_YOUNG", 0)
    seen: list[str] = []
    digest = artefact.digest_of_file

    def told(path: Path) -> str:
        seen.append(path.name)
        return digest(path)

    monkeypatch.setattr(artefact, "digest_of_file", told)
    assert Integrity(version).problem is None
    assert sorted(seen) == ["one.npy", "two.npy"]
    seen.clear()
    return seen


def test_small_files_are_hashed_at_every_opening(version: Path, hashed: list[str]) -> None:
    assert Integrity(version).problem is None
    assert sorted(hashed) == ["one.npy", "two.npy"]


@pytest.fixture
def large(hashed: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on, every file is too large to be hashed at every opening."""
    monkeypatch.setattr(verified, "HASHED", 0)
    monkeypatch.setattr(verified, "LOOK_EVERY", 0.0)
    return hashed


def test_large_files_are_hashed_in_the_background(version: Path, large: list[str]) -> None:
    opened = Integrity(version)
    assert (opened.problem, large) == (None, [])
    assert opened.look() is None
    eventually(lambda: sorted(large) == ["one.npy", "two.npy"])
    opened.look()
    assert sorted(large) == ["one.npy", "two.npy"]


def test_a_trie_is_hashed_at_every_opening_however_large(tmp_path: Path, large: list[str]) -> None:
    other = tmp_path / "fedcba9876543210"
    other.mkdir()
    (other / "about.json").write_bytes(b"trie")
    seal(other)
    assert Integrity(other).problem is None
    _overwrite(other / "about.json", b"tree")
    _refresh_stamps(other)
    large.clear()
    assert "about.json is not what was written" in str(Integrity(other).problem)
    assert large == ["about.json"]


def test_a_byte_that_changed_behind_the_stamps_is_found_in_the_background(
    version: Path, large: list[str]
) -> None:
    _overwrite(version / "one.npy", b"One")
    _refresh_stamps(version)
    opened = Integrity(version)
    assert (opened.problem, large) == (None, [])
    assert "one.npy is not what was written" in eventually(opened.look)


@pytest.mark.parametrize("change", ["written", "cut"])
def test_a_file_that_is_written_to_while_it_is_open_is_found(
    change: str, version: Path, large: list[str]
) -> None:
    opened = Integrity(version)
    large.clear()
    _overwrite(version / "one.npy", b"One") if change == "written" else os.truncate(version / "one.npy", 10)
    assert "one.npy" in str(opened.look())


def test_a_touched_file_is_hashed_and_stays_in_use(version: Path, hashed: list[str]) -> None:
    opened = Integrity(version)
    hashed.clear()
    os.utime(version / "one.npy")
    opened.compare()
    assert (opened.problem, hashed) == (None, ["one.npy"])
    opened.compare()
    assert hashed == ["one.npy"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("change", ["file deleted", "folder deleted", "file replaced"])
def test_what_is_deleted_or_replaced_stays_open(change: str, version: Path) -> None:
    opened = Integrity(version)
    if change == "file deleted":
        (version / "one.npy").unlink()
    elif change == "folder deleted":
        shutil.rmtree(version)
    else:
        (version.parent / "new").write_bytes(b"something else")
        (version.parent / "new").replace(version / "one.npy")
    assert opened.look() is None
    assert "deleted or replaced" in str(opened.notice)
    assert not opened.whole
    for thread in threading.enumerate():
        if thread.name == "wayword-hash":
            thread.join()
    assert opened.problem is None


def test_another_name_of_a_file_does_not_make_its_stamp_invalid(version: Path, large: list[str]) -> None:
    opened = Integrity(version)
    os.link(version / "one.npy", version.parent / "linked.npy")
    assert Integrity(version).problem is None
    opened.compare()
    assert (large, opened.whole) == ([], True)


def _overwrite(file: Path, content: bytes) -> None:
    """Write the first bytes in place."""
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.write(content)


def _refresh_stamps(folder: Path) -> None:
    """As if the files had been written before they were hashed: a disk does not tell the time of its mistakes."""
    verified.stamp(folder)


def test_a_changed_byte_is_found_though_the_times_were_set_back(version: Path, hashed: list[str]) -> None:
    file, content = version / "one.npy", b"One" + b"one" * 999
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "one.npy is not what was written" in str(Integrity(version).problem)
    assert "one.npy" in hashed


@pytest.mark.parametrize("change", ["cut", "gone", "more", "receipt", "replaced"])
def test_any_change_is_looked_at(change: str, version: Path, hashed: list[str]) -> None:
    file = version / "inner" / "two.npy"
    if change == "cut":
        os.truncate(file, 10)
    elif change == "gone":
        file.unlink()
    elif change == "more":
        (version / "three.npy").write_bytes(b"3")
    elif change == "receipt":
        (version / artefact.RECEIPT).write_text("{}")
    else:
        file.write_bytes(b"owt" * 1000)
    assert Integrity(version).problem is not None
    assert hashed or change in ("cut", "gone", "receipt")


def test_what_changed_a_moment_ago_is_not_trusted(version: Path) -> None:
    verified.stamp(version)
    assert not list(version.parent.glob(".verified*"))


def test_garbage_in_its_place_is_no_stamp(version: Path, hashed: list[str]) -> None:
    (stamp,) = version.parent.glob(".verified*")
    for garbage in (b"", b"[]", b"\xff", b'{"one.npy": 1}', b"[" * 100_000):
        stamp.write_bytes(garbage)
        hashed.clear()
        assert Integrity(version).problem is None
        assert hashed
    verified.forget(version)
    assert not stamp.exists()
