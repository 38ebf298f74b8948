"""A server whose index is damaged, deleted or fatal serves the version before, or says that it has none."""

import logging
import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runs import Made
from servers import Server, eventually, serving
from wayword.config import IndexConfig
from wayword.index import integrity, versions
from wayword.index.build import build
from wayword.index.overrides import Overrides
from wayword.serving.completer import Completer
from wayword.serving.experiment import Experiment
from wayword.store.workspace import Workspace


@pytest.fixture
def copied(undisturbed: Made, tmp_path: Path) -> Path:
    return undisturbed.copy(tmp_path / "workspace")


@pytest.fixture
def two(copied: Path) -> tuple[str, str]:
    """The names of two versions, the earlier one and the current one."""
    earlier = versions.current(copied / "index").name
    return earlier, build(Workspace.open(copied), IndexConfig(kept=13))[0].name


def _workers(server: Server) -> list[int]:
    parent = server.process.pid
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _asked(server: Server, wanted: Callable[[Server], bool]) -> Callable[[], bool]:
    """Ask a server that may just have lost its worker."""

    def ask() -> bool:
        assert server.process.poll() is None, server.errors
        try:
            return wanted(server)
        except OSError:
            return False

    return ask


def _serves(version: str) -> Callable[[Server], bool]:
    return lambda server: server.get("/complete", prefix="vi").json.get("index") == version


def _truncate(workspace: Path, version: str) -> None:
    for file in (workspace / "index" / version).rglob("*.npy"):
        os.truncate(file, 0)  # in place, where it is mapped


@pytest.mark.slow
def test_files_cut_while_a_server_maps_them_bring_the_version_before(
    copied: Path, two: tuple[str, str]
) -> None:
    earlier, current = two
    with serving(copied) as server:
        assert _serves(current)(server)
        _truncate_only(copied, current, earlier)
        eventually(_asked(server, lambda server: bool(server.queries("vidoe")) and _serves(earlier)(server)))
        health = server.get("/healthz")
        assert (health.status, health.json["status"]) == (200, "degraded")
        assert health.json["indexes"] == {"a": earlier}
        assert current in health.json["reasons"][0]
        assert "withdrawn" in server.errors


def _truncate_only(workspace: Path, version: str, other: str) -> None:
    """Cut the files that no other version shares."""
    index = workspace / "index"
    kept = {file.stat().st_ino for file in (index / other).rglob("*.npy")}
    for file in (index / version).rglob("*.npy"):
        if file.stat().st_ino not in kept:
            os.truncate(file, 0)


@pytest.mark.slow
def test_without_another_version_the_answer_is_503_until_there_is_one(copied: Path) -> None:
    name = versions.current(copied / "index").name
    with serving(copied) as server:
        before = server.queries("vi")
        _truncate(copied, name)
        eventually(_asked(server, lambda server: server.get("/complete", prefix="vi").status == 503))
        health = server.get("/healthz")
        assert (health.status, health.json["status"]) == (503, "failing")
        assert any(name in reason for reason in health.json["reasons"])
        assert server.get("/complete", prefix="vi").json["error"].endswith("/healthz has the reasons.")
        assert server.get("/metrics").status == 200
        folder, made = build(Workspace.open(copied), IndexConfig())
        assert (folder.name, made) == (name, True)
        eventually(_asked(server, lambda server: server.get("/healthz").json["status"] == "ok"))
        assert server.queries("vi") == before


@pytest.mark.slow
def test_workers_that_crash_again_and_again_bring_the_version_before(
    copied: Path, two: tuple[str, str]
) -> None:
    earlier, current = two
    with serving(copied) as server:
        for _ in range(3):
            assert _serves(current)(server)
            (worker,) = _workers(server)
            os.kill(worker, signal.SIGSEGV)
            eventually(_asked(server, lambda server, dead=worker: _workers(server) not in ([], [dead])))  # type: ignore[misc]
            eventually(_asked(server, lambda server: server.get("/healthz").status == 200))
        eventually(_asked(server, _serves(earlier)))
        health = server.get("/healthz").json
        assert health["status"] == "degraded"
        assert "crashed again and again" in health["reasons"][0]
        assert f"not served any more: {current}" in server.errors
        another = build(Workspace.open(copied), IndexConfig(kept=12))[0].name
        eventually(_asked(server, _serves(another)))
        assert server.get("/healthz").json["status"] == "ok"


def test_a_pipe_in_the_place_of_a_small_file_stops_nothing(copied: Path) -> None:
    root = copied / "index"
    name = versions.current(root).name
    with serving(copied) as server:
        first = server.queries("vi")[0]
        (root / versions.CURRENT).unlink()
        os.mkfifo(root / versions.CURRENT)
        eventually(lambda: server.get("/healthz").json["status"] == "degraded")
        assert "expected a regular file" in server.get("/healthz").json["reasons"][0]
        Overrides.parse({"deny": [first]}).save(root)
        eventually(lambda: server.queries("vi")[0] != first)
        (root / "overrides.json").unlink()
        os.mkfifo(root / "overrides.json")
        eventually(lambda: len(server.get("/healthz").json["reasons"]) == 2)
        (root / "overrides.json").unlink()
        versions.point(root, name)
        eventually(lambda: server.get("/healthz").json["status"] == "ok")
        eventually(lambda: server.queries("vi")[0] == first)


def test_a_deleted_index_is_served_on_and_reported(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "LOOK_EVERY", 0.0)
    experiment = Experiment(copied)
    before = experiment.now.arms["a"].complete("vidoe")
    shutil.rmtree(versions.current(copied / "index"))
    experiment.completers["a"].look()
    assert experiment.now.arms["a"].complete("vidoe") == before
    assert "was deleted or replaced on disk" in experiment.problems[0]
    build(Workspace.open(copied), IndexConfig())
    experiment.completers["a"].look()
    assert experiment.problems == []


def test_a_difference_that_the_background_check_finds_brings_the_version_before(
    undisturbed: Made,
    copied: Path,
    two: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    earlier, current = two
    for name, value in (("HASHED", 0), ("LOOK_EVERY", 0.0), ("TOO_YOUNG", 0)):
        monkeypatch.setattr(integrity, name, value)
    flipped = _flip(copied / "index" / current)
    integrity.stamp(copied / "index" / current)
    experiment = Experiment(copied)
    assert experiment.now.arms["a"].index.version == current
    assert experiment.problems == []
    with caplog.at_level(logging.ERROR, "wayword"):
        _looked(experiment)
    assert experiment.now.arms["a"].index.version == earlier
    assert experiment.now.arms["a"].complete("vi") == Completer.open(undisturbed.path).complete("vi")
    assert f"{flipped} is not what was written" in experiment.problems[0]
    assert f"The version {earlier} is served instead" in caplog.text


def _looked(experiment: Experiment) -> None:
    for _ in range(2):
        experiment.completers["a"].look()
        for thread in threading.enumerate():
            if thread.name == "wayword-hash":
                thread.join()
    experiment.completers["a"]._next_look = 0.0
    experiment.look()


def _flip(folder: Path) -> str:
    """Change a bit in the largest file of a version; the name of the file."""
    file = max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    return file.name


def test_a_server_starts_with_the_version_before_a_damaged_one(copied: Path, two: tuple[str, str]) -> None:
    earlier, current = two
    _flip(copied / "index" / current)
    experiment = Experiment(copied)
    assert experiment.now.arms["a"].index.version == earlier
    assert "is not what was written" in experiment.problems[0]


def test_the_watcher_has_a_heartbeat(copied: Path) -> None:
    experiment = Experiment(copied)
    before = experiment.looked
    experiment.watch()
    eventually(lambda: experiment.looked > before)
    experiment.stop()
