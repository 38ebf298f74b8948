"""A sealed folder opens only as it was written."""

from pathlib import Path

import pytest

from wayword.errors import WorkspaceError
from wayword.sealing import SEAL, check_seal, seal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.bin").write_bytes(b"abc")
    (tmp_path / "deep" / "b.bin").write_bytes(b"")
    seal(tmp_path)
    return tmp_path


def test_untouched_folder_passes(folder: Path) -> None:
    check_seal(folder)


def test_sealing_twice_gives_the_same_seal(folder: Path) -> None:
    before = (folder / SEAL).read_bytes()
    seal(folder)
    assert (folder / SEAL).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bin", b"ab", r"a\.bin has 2 bytes; expected 3"),
        ("a.bin", b"abd", r"a\.bin was changed"),
        ("a.bin", None, r"a\.bin is missing"),
        ("deep/new.bin", b"x", r"new\.bin, which is no part"),
        (SEAL, None, r"no readable files\.json"),
        (SEAL, b"{", r"no readable files\.json"),
        (SEAL, b"[1]", r"does not list files"),
        (SEAL, b'{"a.bin": 3}', r"does not list files"),
    ],
)
def test_damage_is_named(folder: Path, name: str, content: bytes | None, message: str) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(WorkspaceError, match=message):
        check_seal(folder)
