"""What was hashed is what was read, or the run stops."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inputs import click, write
from wayword.config import Config
from wayword.engines import tables
from wayword.errors import LogError
from wayword.plan import Inputs, learning_stages
from wayword.progress import Progress
from wayword.store.input_file import InputFile
from wayword.store.workspace import Workspace, building


def _titles(path: Path, word: str) -> Path:
    """Documents of the log; titles of one word give files of one size."""
    return write(path, [{"document": f"00{n}", "title": f"{word} {n}"} for n in range(4)])


def _rewritten(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def _rewritten_with_its_time(path: Path, other: Path) -> None:
    before = path.stat()
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _rewritten_and_restored(path: Path, other: Path) -> None:
    content, before = path.read_bytes(), path.stat()
    path.write_bytes(other.read_bytes())
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _renamed_over(path: Path, other: Path) -> None:
    shutil.copy2(other, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def _linked_to_another(path: Path, other: Path) -> None:
    path.unlink()
    path.symlink_to(other)


def _removed(path: Path, _other: Path) -> None:
    path.unlink()


CHANGES = [
    _rewritten,
    _rewritten_with_its_time,
    _rewritten_and_restored,
    _renamed_over,
    _linked_to_another,
    _removed,
]


class _Changing(Progress):
    """Does something when a stage begins and when it ends."""

    def __init__(self, stage: str, change: Callable[[], object], restore: Callable[[], object]) -> None:
        self._stage, self._change, self._restore = stage, change, restore

    def begin(self, stage: str) -> None:
        if stage == self._stage:
            self._change()

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:  # noqa: ARG002
        if stage == self._stage:
            self._restore()


def _inputs(folder: Path) -> dict[str, Path]:
    clicks = [click(n) for n in range(24)]
    ranked = [
        {"query": f"Query {q}", "document": f"00{d}", "rank": d + 1} for q in range(3) for d in range(4)
    ]
    files = {
        "log": write(folder / "clicks.csv", clicks),
        "rankings": write(folder / "rankings.jsonl", ranked),
        "documents": _titles(folder / "documents.parquet", "right"),
    }
    time.sleep(0.02)  # change times have the resolution of the kernel's clock
    return files


def _run(folder: Path, files: dict[str, Path], progress: Progress) -> list[str]:
    """The two stages that read files; the titles that they give."""
    planned = learning_stages(Config(), Inputs.at(*files.values()), progress)
    with building(folder, progress) as build:
        for name in ("log", "rankings"):
            build.stage(name, planned[name])
        build.finish({})
    at = Workspace.open(folder).folder("rankings")
    titles: list[str] = tables.read(at, "documents")["title"].to_pylist()
    return titles


RIGHT = [f"right {n}" for n in range(4)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["log", "rankings", "documents"])
def test_a_file_that_changes_during_a_run_stops_it_and_leaves_nothing(
    name: str, change: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    files = _inputs(tmp_path)
    other = _titles(tmp_path / "other.parquet", "wrong") if name == "documents" else files[name]
    kept, stage = shutil.copy2(files[name], tmp_path / "kept"), "log" if name == "log" else "rankings"
    progress = _Changing(stage, lambda: change(files[name], other), lambda: None)
    with pytest.raises(LogError, match=f"{files[name].name} changed during the run"):
        _run(tmp_path / "w", files, progress)
    assert not list((tmp_path / "w" / "artefacts").glob(f"*{stage}-*"))
    files[name].unlink(missing_ok=True)
    shutil.copy2(kept, files[name])
    assert _run(tmp_path / "w", files, Progress()) == RIGHT


def test_a_link_that_leads_elsewhere_for_a_while_changes_nothing(tmp_path: Path) -> None:
    files = _inputs(tmp_path)
    right, wrong = files["documents"], _titles(tmp_path / "other.parquet", "wrong")
    files["documents"] = link = tmp_path / "link.parquet"
    link.symlink_to(right)

    def lead_to(target: Path) -> None:
        link.unlink()
        link.symlink_to(target)

    planned = learning_stages(Config(), Inputs.at(*files.values()), Progress())
    reading = planned["rankings"].make
    lead_to(wrong)
    new = tmp_path / "new"
    with building(tmp_path / "w", Progress()) as build:
        at = {"log": build.stage("log", planned["log"])}
        new.mkdir()
        reading(new, at)
    lead_to(right)
    assert tables.read(new, "documents")["title"].to_pylist() == RIGHT


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.csv")
    with pytest.raises(LogError, match=r"log\.csv is a pipe or device"):
        InputFile(tmp_path / "log.csv")


def test_the_descriptor_is_closed_with_the_input(tmp_path: Path) -> None:
    file = InputFile(write(tmp_path / "log.csv", [click(0)]))
    opened = file.opened
    assert opened.exists()
    del file
    assert not opened.exists() or opened.resolve().parent != tmp_path
