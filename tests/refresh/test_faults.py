"""A refresh that is killed, and a server that runs meanwhile."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from commands import wayword
from drifting_days import Days
from runs import hashes
from servers import eventually, serving
from wayword.index.versions import ROOT, current
from wayword.refresh.refresh import refresh
from wayword.store.artefact import UNFINISHED
from wayword.store.workspace import Workspace


@pytest.fixture
def workspace(days: Days, tmp_path: Path) -> Path:
    return days.copy(tmp_path / "workspace")


def _begins(workspace: Path, stage: str, known: set[str]) -> bool:
    """Whether an artefact of a stage is made or begun that was not there."""
    names = {path.name for path in workspace.glob("artefacts/*")} - known
    return any(stage in name for name in names)


@pytest.mark.slow
def test_a_killed_refresh_leaves_the_last_good_state_and_the_same_command_resumes(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    (log,), (rankings,) = days.next_day(tmp_path)
    undisturbed = days.copy(tmp_path / "undisturbed")
    wanted = refresh(undisturbed, [log], [rankings])
    before, served = (workspace / "manifest.json").read_bytes(), current(workspace / ROOT).name
    command = [sys.executable, "-m", "wayword", "refresh", workspace, "--log", log, "--rankings", rankings]
    for stage in ("log-", "demand-", "completion-", "estimates-"):
        process = subprocess.Popen(
            [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        known = {path.name for path in workspace.glob("artefacts/*")}
        eventually(partial(_begins, workspace, stage, known))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert (workspace / "manifest.json").read_bytes() == before
        assert current(workspace / ROOT).name == served
        Workspace.open(workspace)
    done = wayword(*command[3:])
    assert done.code == 0, done.err
    assert current(workspace / ROOT).name == wanted.candidate
    assert hashes(workspace) == hashes(undisturbed)
    assert not list(workspace.glob(f"artefacts/{UNFINISHED}*"))


def test_a_refresh_that_ended_after_promotion_is_completed(
    days: Days, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,), (rankings,) = days.next_day(tmp_path)

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("wayword.store.workspace.Build.finish", die)
        with pytest.raises(Killed):
            refresh(workspace, [log], [rankings])
    promoted = current(workspace / ROOT).name
    done = refresh(workspace, [log], [rankings])
    assert done.decision.promoted
    assert done.current == promoted == current(workspace / ROOT).name
    assert done.lines[-1].endswith("it had been promoted before.")
    assert refresh(workspace, [log]).lines[0].startswith("Nothing is new")


@pytest.mark.slow
def test_a_running_server_takes_the_new_version_over_and_back(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    files = days.next_day(tmp_path)
    first = current(workspace / ROOT).name

    def serves(version: str) -> bool:
        return bool(server.get("/complete", prefix="vi").json["index"] == version)

    with serving(workspace) as server:
        assert serves(first)
        done = refresh(workspace, *files)
        assert done.candidate != first
        eventually(lambda: serves(done.candidate))
        back = wayword("refresh", workspace, "--rollback", "--json")
        assert back.code == 0, back.err
        eventually(lambda: serves(first))


def test_the_command_prints_the_decision(days: Days, workspace: Path, tmp_path: Path) -> None:
    (log,), (rankings,) = days.next_day(tmp_path)
    done = wayword("refresh", workspace, "--log", log, "--rankings", rankings, "--promote", "never")
    assert done.code == 0, done.err
    assert b"is not promoted" in done.out
    assert b" found (" in done.out
    both = wayword("refresh", workspace, "--log", log, "--rollback")
    assert both.code == 2
    assert wayword("refresh", workspace).code == 2
