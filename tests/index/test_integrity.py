"""A version is hashed once, and again whenever anything of it has changed."""

import os
from pathlib import Path

import pytest

from wayword.index import integrity as verified
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
    assert verified.problem_of(version) is None
    assert sorted(seen) == ["one.npy", "two.npy"]
    seen.clear()
    return seen


def test_what_was_hashed_is_not_hashed_again(version: Path, hashed: list[str]) -> None:
    assert verified.problem_of(version) is None
    assert hashed == []


def test_a_changed_byte_is_found_though_the_times_were_set_back(version: Path, hashed: list[str]) -> None:
    file, content = version / "one.npy", b"One" + b"one" * 999
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "one.npy is not what was written" in str(verified.problem_of(version))
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
    assert verified.problem_of(version) is not None
    assert hashed or change in ("cut", "gone", "receipt")


def test_what_changed_a_moment_ago_is_not_trusted(version: Path) -> None:
    verified.stamp(version)
    assert not list(version.parent.glob(".verified*"))


def test_garbage_in_its_place_is_no_stamp(version: Path, hashed: list[str]) -> None:
    (stamp,) = version.parent.glob(".verified*")
    for garbage in (b"", b"[]", b"\xff", b'{"one.npy": 1}', b"[" * 100_000):
        stamp.write_bytes(garbage)
        hashed.clear()
        assert verified.problem_of(version) is None
        assert hashed
    verified.forget(version)
    assert not stamp.exists()
