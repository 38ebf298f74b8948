"""An artefact opens only as it was written."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wayword.errors import WorkspaceError
from wayword.store.artefact import (
    RECEIPT,
    check,
    damage,
    make_whole,
    report_of,
    seal,
    write_atomically,
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


def test_threads_that_write_one_file_do_not_mix(tmp_path: Path) -> None:
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            list(pool.map(lambda text: write_atomically(tmp_path / "file", text), texts))
            assert (tmp_path / "file").read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere"), Path.touch])
def test_whatever_has_the_name_of_an_artefact_is_replaced(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "log")
    make_whole(tmp_path / "log", lambda _folder: {"rows": 1})
    assert report_of(tmp_path / "log") == {"rows": 1}
