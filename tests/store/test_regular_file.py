"""A small file is read only if it is one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wayword.errors import WaywordError, WorkspaceError
from wayword.index import versions
from wayword.index.overrides import FILE, Overrides
from wayword.store.artefact import RECEIPT, damage, read_object, seal
from wayword.store.regular_file import read_regular
from wayword.store.workspace import MANIFEST, Workspace


def test_a_file_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("café", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file") == read_regular(tmp_path / "link") == "café"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_other_things_are_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "thing")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="expected a regular file"):
        read_regular(tmp_path / "thing")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == read_regular(tmp_path / "file", None) == "12345"
    with pytest.raises(OSError, match="at most 4 bytes"):
        read_regular(tmp_path / "file", 4)


def test_no_reader_waits_for_a_pipe(tmp_path: Path) -> None:
    """The pointer, overrides, receipts, manifests and any JSON object."""
    folder = tmp_path / "0123456789abcdef"
    folder.mkdir()
    seal(folder)
    (folder / RECEIPT).unlink()
    for file in (tmp_path / versions.CURRENT, tmp_path / FILE, tmp_path / MANIFEST, folder / RECEIPT):
        os.mkfifo(file)
    with pytest.raises(WorkspaceError, match="expected a regular file"):
        versions.current(tmp_path)
    with pytest.raises(WaywordError, match="expected a regular file"):
        Overrides.load(tmp_path)
    with pytest.raises(WorkspaceError, match="expected a regular file"):
        Workspace.open(tmp_path)
    with pytest.raises(WorkspaceError, match="expected a regular file"):
        read_object(folder / RECEIPT)
    assert "cannot be read" in str(damage(folder, thorough=True))
