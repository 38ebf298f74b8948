"""A backup that is made while the server stores events, nights move them and builds swap the workspace is whole."""

import json
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from recipes import DEPLOY, program

from commands import wayword
from runs import Made
from servers import Server, eventually, serving
from wayword.index import versions
from wayword.serving.completer import Completer
from wayword.store.artefact import damage
from wayword.store.workspace import Workspace

pytestmark = pytest.mark.slow


def back_up(state: Path, copies: Path) -> Path:
    """Run the script; the copy that it made."""
    program("rsync")
    time.sleep(1.1)  # copies are named by the second
    before = set(copies.iterdir())
    done = subprocess.run([DEPLOY / "backup.sh", state, copies], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = set(copies.iterdir()) - before
    return made


def ids(state: Path) -> set[str]:
    """The ids of all query records on disk, moved or not; a last line may be cut off."""
    found = set()
    for file in [*state.glob("workspace/events/*.ndjson"), *state.glob("new/*.ndjson")]:
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
            found.add(json.loads(line).get("query_id"))
    return found


@contextmanager
def meanwhile(*work: Callable[[], object]) -> Iterator[None]:
    """Do each again and again in a thread of its own until the block is done."""
    over = threading.Event()
    problems: list[BaseException] = []

    def repeat(one: Callable[[], object]) -> None:
        try:
            while not over.is_set():
                one()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=repeat, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not problems, problems


class Life:
    """What goes on in a folder while it is backed up."""

    def __init__(self, state: Path, server: Server, builds: list[Made]) -> None:
        self.state, self.server, self.builds = state, server, builds
        self.acknowledged: set[str] = set()
        self.nights, self.built = 0, 0

    def search(self) -> None:
        """Post a search; its id is noted once the server has stored it."""
        name = f"search {len(self.acknowledged)}"
        record = {"user_query": "video player", "query_id": name, "query_response_hit_ids": ["vlc"]}
        assert self.server.post(record).status == 200
        self.acknowledged.add(name)

    def night(self) -> None:
        """Move the events, as `refresh.sh` does."""
        (self.state / "new").mkdir(exist_ok=True)
        for file in (self.state / "workspace/events").glob("*.ndjson"):
            file.rename(self.state / "new" / file.name)
        self.nights += 1
        time.sleep(1)

    def build(self) -> None:
        """Run with the settings of the other: every artefact and the index are new, and the old ones go."""
        made = self.builds[self.built % len(self.builds)]
        done = wayword(*made.arguments, self.state / "workspace")
        assert done.code == 0, done.err
        self.built += 1


@pytest.fixture
def state(undisturbed: Made, tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    undisturbed.copy(tmp_path / "state" / "workspace")
    return tmp_path / "state"


def test_backups_made_while_everything_changes_are_whole_and_are_restored(
    state: Path, tmp_path: Path, undisturbed: Made, earlier: Made
) -> None:
    copies = tmp_path / "copies"
    with serving(state / "workspace", "--rate", 0) as server:
        life = Life(state, server, [earlier, undisturbed])
        for work in ((life.search,), (life.search, life.night), (life.search, life.build)):
            with meanwhile(*work):
                eventually(lambda: len(life.acknowledged) > 20)
                if life.build in work:
                    eventually(lambda: (state / "workspace/artefacts").is_dir() and life.built >= 1)
                known = set(life.acknowledged)
                copy = back_up(state, copies)
            check(copy, known)
        assert life.nights > 0
        assert life.built > 1
        restored = tmp_path / "restored"
        last = back_up(state, copies)
        subprocess.run(["cp", "--archive", last, restored], check=True)
        with serving(restored / "workspace") as again:
            assert again.get("/healthz").json["status"] == "ok"
            texts = random.Random(1).sample(Completer.open(state / "workspace").index.lists.keys(), 100)
            for text in [*texts, "vidoe pla", "zzz"]:
                asked = {"prefix": text, "k": 10}
                assert again.get("/complete", **asked).json == server.get("/complete", **asked).json
            again.post({"user_query": "after the restore", "query_id": "restored"})
        assert "restored" in ids(restored)
    assert wayword("evaluate", restored / "workspace").code == 0


def check(copy: Path, acknowledged: set[str]) -> None:
    """Every artefact that is named is whole, by its hashes; so is the index; no acknowledged event is missing."""
    workspace = Workspace.open(copy / "workspace")
    workspace.check(*workspace.manifest["stages"])
    assert damage(versions.current(copy / "workspace/index"), thorough=True) is None
    assert acknowledged <= ids(copy)


def test_what_has_not_changed_is_stored_once_and_old_copies_go(state: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    for day in range(1, 16):
        (copies / f"202611{day:02d}T000000Z").mkdir()
    (copies / "of-another").mkdir()
    first = back_up(state, copies)
    second = copies / "20991231T000000Z"
    back_up(state, copies).rename(second)
    files = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
    assert files
    assert all((first / file).samefile(second / file) for file in files)
    assert len(list(copies.glob("*Z"))) == 14
    assert (copies / "of-another").is_dir()


def test_a_copy_that_cannot_be_made_takes_no_name(state: Path, tmp_path: Path) -> None:
    shutil.rmtree(state / "workspace/index")
    done = subprocess.run(
        [DEPLOY / "backup.sh", state, tmp_path / "copies"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "index/current" in done.stderr
    assert [one.name for one in (tmp_path / "copies").iterdir() if not one.name.startswith(".")] == []


def test_a_build_that_ends_while_it_copies_is_copied_as_well(state: Path, tmp_path: Path) -> None:
    """`rsync` here lets a build end, and the night move the events, as soon as it has copied once."""
    swap = f"""#!/bin/sh
{program("rsync")} "$@" || exit $?
[ ! -e {tmp_path}/swapped ] || exit 0
touch {tmp_path}/swapped
mkdir {state}/workspace/artefacts/new-0123456789abcdef {state}/new
echo "the next" > {state}/workspace/artefacts/new-0123456789abcdef/file
mv {state}/workspace/events/ubi-1.ndjson {state}/new
"""
    (tmp_path / "rsync").write_text(swap, encoding="utf-8")
    (tmp_path / "rsync").chmod(0o755)
    events = state / "workspace/events"
    events.mkdir()
    (events / "ubi-1.ndjson").write_text("{}\n", encoding="utf-8")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([DEPLOY / "backup.sh", state, tmp_path / "copies"], env=environment, check=True)
    (copy,) = (tmp_path / "copies").iterdir()
    assert (copy / "workspace/artefacts/new-0123456789abcdef/file").read_text(
        encoding="utf-8"
    ) == "the next\n"
    assert (copy / "new/ubi-1.ndjson").exists()
    assert not (copy / "workspace/events/ubi-1.ndjson").exists()
