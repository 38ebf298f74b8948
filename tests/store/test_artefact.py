"""An artefact opens only as it was written."""

from pathlib import Path

import pytest

from wayword.errors import WorkspaceError
from wayword.store.artefact import (
    RECEIPT,
    check,
    damage,
    report_of,
    seal,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.bin").write_bytes(b"abc")
    (tmp_path / "deep" / "b.bin").write_bytes(b"")
    seal(tmp_path, {"rows": 3})
    return tmp_path


def test_untouched_folder_passes(folder: Path) -> None:
    check(folder)
    assert report_of(folder) == {"rows": 3}


def test_a_quick_look_compares_sizes_only(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"abd")
    assert damage(folder, thorough=False) is None
    assert damage(folder, thorough=True) == f"{folder.name}/a.bin is not what was written"


def test_sealing_twice_gives_the_same_seal(folder: Path) -> None:
    before = (folder / RECEIPT).read_bytes()
    seal(folder, {"rows": 3})
    assert (folder / RECEIPT).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bin", b"ab", r"a\.bin has 2 bytes instead of 3"),
        ("a.bin", b"abd", r"a\.bin is not what was written"),
        ("a.bin", None, r"a\.bin is missing"),
        ("deep/new.bin", b"x", r"new\.bin is no part of it"),
        (RECEIPT, None, r"artefact\.json is missing or cannot be read"),
        (RECEIPT, b"{", r"artefact\.json is missing or cannot be read"),
        (RECEIPT, b"[1]", r"artefact\.json is missing or cannot be read"),
        (RECEIPT, b'{"files": {"a.bin": 3}, "report": {}}', r"artefact\.json is missing or cannot be read"),
    ],
)
def test_damage_is_named(folder: Path, name: str, content: bytes | None, message: str) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(WorkspaceError, match=message):
        check(folder)
