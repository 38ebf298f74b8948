"""The evaluation beside an index: read as it was written, bounded, replaced as a whole, and no part of a version."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import wayword
from runs import Made
from wayword.config import IndexConfig
from wayword.errors import WorkspaceError
from wayword.index import versions
from wayword.index.build import build
from wayword.index.evaluation_file import FILE, LARGEST, CurvePoint, Evaluation, PolicyPoint
from wayword.store.workspace import Workspace

NUMBERS = st.floats(0, 2)
EVALUATIONS = st.builds(
    Evaluation,
    st.lists(st.builds(PolicyPoint, st.text(max_size=20), NUMBERS, NUMBERS), min_size=1, max_size=8),
    st.lists(st.builds(CurvePoint, NUMBERS, NUMBERS, NUMBERS), max_size=8),
    st.none() | NUMBERS,
    st.lists(st.text(max_size=100), max_size=4),
)
ONE = Evaluation([PolicyPoint("popular", 0.9, 0.3)], [CurvePoint(0.8, 0.95, 0.35)], 0.8, ["No difference."])


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@given(EVALUATIONS)
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, evaluation: Evaluation
) -> None:
    folder = tmp_path_factory.mktemp("index")
    evaluation.save(folder)
    assert Evaluation.load(folder) == evaluation
    assert _names(folder) == [FILE]


def test_the_file_is_what_programs_expect(tmp_path: Path) -> None:
    ONE.save(tmp_path)
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8")) == {
        "policies": [{"policy": "popular", "found": 0.9, "keystrokes": 0.3}],
        "curve": [{"keystroke_value": 0.8, "found": 0.95, "keystrokes": 0.35}],
        "keystroke_value": 0.8,
        "verdict": ["No difference."],
    }


def test_without_policies_there_is_no_file(tmp_path: Path) -> None:
    Evaluation().save(tmp_path)
    assert Evaluation.load(tmp_path) is None
    ONE.save(tmp_path)
    Evaluation().save(tmp_path)
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"policies": [{"policy": "popular", "found": NaN, "keystrokes": 1}]}',
        b'{"policies": [{"policy": "popular"}]}',
        b'{"policies": 3}',
        b'{"other": 3}',
        b"[" * 50_000,
        b" " * (LARGEST + 1),
    ],
)
def test_a_file_that_is_something_else_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(WorkspaceError, match=r"evaluation\.json.*`wayword index WORKSPACE` writes it anew"):
        Evaluation.load(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_neither_a_folder_nor_a_pipe_is_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / FILE)
    with pytest.raises(WorkspaceError, match="expected a regular file"):
        Evaluation.load(tmp_path)


def test_a_write_that_fails_leaves_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ONE.save(tmp_path)

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        Evaluation([PolicyPoint("other", 1, 1)]).save(tmp_path)
    assert Evaluation.load(tmp_path) == ONE
    assert _names(tmp_path) == [FILE]


def test_an_evaluation_changes_neither_the_version_nor_its_files(undisturbed: Made, tmp_path: Path) -> None:
    workspace = Workspace.open(undisturbed.copy(tmp_path / "workspace"))
    root = workspace.path / versions.ROOT
    folder, _ = build(workspace, IndexConfig())
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    (root / f".{FILE}.0123456789abcdef.new").write_text("of a process that was killed")
    assert build(workspace, IndexConfig(), evaluation=ONE) == (folder, False)
    assert Evaluation.load(root) == ONE
    assert versions.current(root) == folder
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before
    assert list(root.glob("*.new")) + list(root.glob(".*.new")) == []
    build(workspace, IndexConfig())
    assert Evaluation.load(root) == ONE


def test_run_writes_it_and_index_writes_it_anew(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    root = workspace / versions.ROOT
    written = Evaluation.load(root)
    assert written
    assert {"popular", "expected", "wayword"} <= {point.policy for point in written.policies}
    current = versions.current(root)
    (root / FILE).write_text("broken")
    assert wayword("index", workspace).code == 0
    assert Evaluation.load(root) == written
    assert versions.current(root) == current
