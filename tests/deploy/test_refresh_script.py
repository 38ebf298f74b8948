"""Each night, what was searched since the last time becomes a log that `wayword refresh` is given, once."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from recipes import DEPLOY

from runs import Made
from servers import serving

pytestmark = pytest.mark.slow

WAYWORD = """\
#!/bin/sh
# `ubi` is real; others note what they were given.
if [ "$1" != ubi ]; then
    echo "$@" >> asked
    exit "$(cat code)"
fi
exec {python} -m wayword "$@"
"""


@dataclass(frozen=True)
class State:
    """The folder of a server, and its nights."""

    path: Path

    def night(self, *options: str, code: int = 0, **settings: str) -> int:
        """Run the script; commands but `ubi` end with the code."""
        (self.path / "code").write_text(str(code), encoding="utf-8")
        environment = os.environ | {"PATH": f"{self.path}/bin:{os.environ['PATH']}"} | settings
        command: list[Path | str] = [DEPLOY / "refresh.sh", self.path, *options]
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    @property
    def asked(self) -> list[str]:
        """What `wayword refresh` was given."""
        file = self.path / "asked"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def search(self, number: int) -> None:
        """Events of a search, as the server writes them."""
        record = {"user_query": "video player", "query_id": str(number), "query_response_hit_ids": ["vlc"]}
        file = self.path / f"workspace/events/ubi-20261119T0000{number:02d}Z-1-1.ndjson"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            '{"index": {"_index": "ubi_queries"}}\n' + json.dumps(record) + "\n", encoding="utf-8"
        )

    def searches(self, log: str) -> list[str]:
        """The ids of the searches in a log."""
        (file,) = self.path.glob(f"{log}/clicks.parquet")
        return sorted(pq.read_table(file).column("search_id").to_pylist())


@pytest.fixture
def state(tmp_path: Path) -> State:
    program = tmp_path / "bin/wayword"
    program.parent.mkdir()
    program.write_text(WAYWORD.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    return State(tmp_path)


def test_without_events_nothing_is_done(state: State) -> None:
    assert state.night() == 0
    assert not state.asked


def test_new_searches_are_learned_once(state: State) -> None:
    state.search(1)
    assert state.night("--promote", "never") == 0
    assert state.asked == ["refresh workspace --log log/clicks.parquet --promote never"]
    assert state.searches("learned/*/log") == ["1"]
    assert len(list(state.path.glob("learned/*/new/*.ndjson"))) == 1
    assert not list(state.path.glob("workspace/events/*"))
    assert state.night() == 0
    assert len(state.asked) == 1


def test_the_engine_is_asked_about_new_queries_where_the_settings_say_so(state: State) -> None:
    state.search(1)
    assert state.night(RANKINGS="--from solr --endpoint http://127.0.0.1:1") == 0
    assert state.asked == [
        "rankings --from solr --endpoint http://127.0.0.1:1 --queries log/clicks.parquet --out rankings.parquet",
        "refresh workspace --log log/clicks.parquet --rankings rankings.parquet",
    ]


def test_a_night_that_fails_is_made_up_for_by_the_next(state: State) -> None:
    state.search(1)
    assert state.night(code=3) == 3
    state.search(2)
    assert state.night() == 0
    assert state.searches("learned/*/log") == ["1", "2"]


def test_events_that_a_server_is_writing_are_moved_and_the_next_are_kept(
    undisturbed: Made, state: State
) -> None:
    shutil.copytree(undisturbed.path, state.path / "workspace")
    record = {"user_query": "video player", "query_response_hit_ids": ["vlc"]}
    with serving(state.path / "workspace") as server:
        assert server.post(record | {"query_id": "before"}).status == 200
        assert state.night() == 0
        assert server.post(record | {"query_id": "after"}).status == 200
    assert state.searches("learned/*/log") == ["before"]
    assert [one["query_id"] for one in server.records()] == ["after"]
