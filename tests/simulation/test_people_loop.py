"""The closed loop: a server shows lists, people take from them, their events become a log, and the log a new index.

Everything is the real thing but the people: the HTTP server, which is also killed, `wayword ubi`, `acceptance` and
`run`. After the first round one query is pinned to every text, so that many take it who intended another.
"""

import json
import signal
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served_people import AT_ONCE, Connection, Told, Visitors, texts_typed

from commands import wayword
from servers import TOKEN, Server, eventually, serving
from shop import make_world
from wayword.completion.acceptance_learning import LEARNED
from wayword.completion.popular import popularity
from wayword.engines import tables
from wayword.simulation import typing_sessions
from wayword.simulation.people import KINDS, expected_outcomes
from wayword.simulation.simulate import write_world
from wayword.store.workspace import Workspace

pytestmark = pytest.mark.slow

KIND, PUSHED = "lenient", "lamp small"
FIRST_CLICKS, LISTS_SHOWN, ROUNDS = 400, 4000, 3
SEARCH = ["search_id", "query", "document", "rank", "prefix"]
LIST = ["typing_session", "position_in_session", "prefix", "shown", "taken", "query", "search_id"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """Exact expectations over all people: what they find and type."""

    found: float
    typed: float

    @classmethod
    def of(cls, visitors: Visitors) -> "Found":
        """With the lists that the server gives now."""
        typing = visitors.typing
        queries = typing.queries
        intended = np.flatnonzero(queries.probability)
        outcomes = expected_outcomes(typing.people, intended, *typing.typed(intended))
        people, finding = queries.probability[intended], queries.own[intended]
        return cls(
            float(finding @ outcomes.found / finding.sum()),
            float(people @ outcomes.typed / (people @ outcomes.length)),
        )


@dataclass(frozen=True)
class Round:
    """What one round left."""

    log: Path
    """What `wayword ubi` reads from all events so far."""
    told: Told
    """What people did so far."""
    acceptance: Row
    """What `wayword acceptance --json` prints."""
    issued: float
    """The share of the pushed query among the searches of the joined log."""
    intended: float
    """The same by what was probably intended."""


@dataclass(frozen=True)
class Rounds:
    """All rounds, and what people find with the first and the last index, without the push."""

    rounds: list[Round]
    first: Found
    last: Found
    true_share: float
    """Of people who intend the pushed query."""
    stopped: int
    """The exit code of the server."""


class Loop:
    """A workspace that learns from the people at its server."""

    def __init__(self, folder: Path, visitors: Visitors) -> None:
        self._folder, self._visitors = folder, visitors
        self._connection = visitors.lists.connection
        self._told: list[Told] = []

    def round(self, seed: int, *, killed: bool) -> Round:
        """Serve people, learn from their events, and publish a new index."""
        self._serve_people(seed, killed)
        workspace, log = self._folder / "workspace", self._folder / f"log-{seed}"
        command("ubi", workspace / "events", "--out", log)
        learned = json.loads(command("acceptance", workspace, log / "completions.parquet", "--json"))
        self._publish(log)
        return Round(log, Told.together(self._told), learned, *shares(Workspace.open(workspace)))

    def _serve_people(self, seed: int, killed: bool) -> None:
        first, shown = sum(told.searches.num_rows for told in self._told), 0
        for records, told in self._visitors.visit(LISTS_SHOWN, seed, first):
            self._told.append(told)
            shown += told.lists.num_rows
            if killed and shown > LISTS_SHOWN / 2:
                self._connection.post_and_kill(records)
                killed = False
            else:
                self._connection.post(records)

    def _publish(self, log: Path) -> None:
        """Run on the first log and the people's, joined; the server, which goes on, switches to the new index."""
        before = self._connection.complete("l")["index"]
        joined = self._folder / "joined.parquet"
        join(self._folder / "first/clicks.parquet", log / "clicks.parquet", joined)
        run(self._folder, joined, "--completions", log / "completions.parquet")
        eventually(lambda: self._connection.complete("l")["index"] != before)


def command(*arguments: object) -> bytes:
    """Run a command that succeeds, and return what it prints."""
    done = wayword(*arguments)
    assert done.code == 0, done.err
    return done.out


def run(folder: Path, log: Path, *options: object) -> None:
    """`wayword run`, with the rankings of the first log: the result pages stay the same."""
    settings = folder / "wayword.toml"
    settings.write_text("[evaluation]\nbootstrap = 20\n")
    given = ["--log", log, "--rankings", folder / "first/rankings.parquet", "--config", settings]
    command("run", *given, *options, "--out", folder / "workspace")


def join(first: Path, events: Path, out: Path) -> None:
    """Join two logs; the searches of one have numbers, those of the other names."""
    earlier, later = pq.read_table(first), pq.read_table(events)
    texts = earlier.set_column(0, "search_id", earlier["search_id"].cast(pa.string()))
    pq.write_table(pa.concat_tables([texts, later], promote_options="default"), out)


def shares(workspace: Workspace) -> tuple[float, float]:
    """The share of the pushed query by issue and by what was intended."""
    rankings = workspace.folder("rankings")
    number = tables.read(rankings, "queries")["text"].to_pylist().index(PUSHED)
    issued = popularity(rankings, "retriever", "ranker")
    intended = popularity(rankings, "retriever", "ranker", acceptance=workspace.folder("acceptance"))
    return float(issued[number] / issued.sum()), float(intended[number] / intended.sum())


def push(server: Server, pins: dict[str, list[str]]) -> None:
    """Pin queries to texts, and wait until they are served."""
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert server.ask("PUT", "/overrides", json.dumps({"pin": pins}).encode(), bearer).status == 200
    eventually(lambda: (server.queries("l")[0] == PUSHED) == bool(pins))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    folder, world = tmp_path_factory.mktemp("loop"), make_world()
    data = write_world(world, clicks=FIRST_CLICKS, out=folder / "first")
    run(folder, data / "clicks.parquet")
    options = ("--rate", 0, "--public-events")
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(folder / "workspace", *options, WAYWORD_TOKEN=TOKEN) as server,
        closing(Connection(server)) as connection,
    ):
        patch.setattr(typing_sessions, "CHUNK", AT_ONCE)
        visitors = Visitors(world, KIND, connection)
        first = Found.of(visitors)
        loop = Loop(folder, visitors)
        rounds = [loop.round(0, killed=True)]
        push(server, {text: [PUSHED] for text in texts_typed(world)})
        rounds += [loop.round(seed, killed=False) for seed in range(1, ROUNDS)]
        push(server, {})
        last, queries = Found.of(visitors), visitors.typing.queries
        true_share = float(queries.probability[queries.texts.index(PUSHED)])
        stopped = server.stop(signal.SIGTERM)
    return Rounds(rounds, first, last, true_share, stopped)


def rows(table: pa.Table, names: list[str]) -> list[str]:
    """Rows that can be compared."""
    return sorted(json.dumps(row) for row in table.select(names).to_pylist())


def test_the_log_is_what_the_people_did_though_the_server_was_killed(made: Rounds) -> None:
    for one in made.rounds:
        searches, lists = (pq.read_table(one.log / f"{name}.parquet") for name in ("clicks", "completions"))
        assert rows(searches, SEARCH) == rows(one.told.searches, SEARCH)
        assert rows(lists, LIST) == rows(one.told.lists, LIST)
    assert made.rounds[-1].told.lists.num_rows >= ROUNDS * LISTS_SHOWN
    assert made.stopped == 0


def test_the_people_of_each_round_are_served_another_index(made: Rounds) -> None:
    lists = pq.read_table(made.rounds[-1].log / "completions.parquet", columns=["index"])
    assert len(set(lists["index"].to_pylist())) == ROUNDS


def test_acceptance_is_learned_from_the_lists(made: Rounds) -> None:
    true = KINDS[KIND].first
    for one in made.rounds:
        held_out = one.acceptance["reliability"]
        (first,) = (row for row in one.acceptance["parameters"] if row["name"] == "reading 1")
        print(f"reading: {first}, held-out gain: {held_out['gain']}")
        assert one.acceptance["learned"]
        assert one.acceptance["counts"]["lists"] == one.told.lists.num_rows
        assert 0 < held_out["gain"][0] < held_out["fitted"] - held_out["prior"]
        assert abs(first["value"] - true) < 4 * (first["high"] - first["low"]) / (2 * 1.96) < 0.15
        assert first["learned"] > LEARNED  # the interval is that of the lists, not of the prior


def test_what_is_pushed_is_issued_more_and_not_taken_for_wanted(made: Rounds) -> None:
    issued, intended = ([getattr(one, name) for one in made.rounds] for name in ("issued", "intended"))
    print(f"true: {made.true_share:.4f}, issued: {issued}, intended: {intended}")
    noise = np.sqrt(made.true_share / made.rounds[-1].told.searches.num_rows)
    assert issued[-1] > issued[1] > issued[0] + 10 * noise
    assert intended[-1] < intended[0] + 3 * noise
    assert made.true_share / 1.5 < min(intended) < max(intended) < 1.5 * made.true_share


def test_people_find_more_with_the_index_that_learned_from_them(made: Rounds) -> None:
    print(made.first, made.last)
    assert made.last.found > made.first.found
    assert made.last.typed < 1.2 * made.first.typed  # its keystroke value was chosen on few held-out searches
