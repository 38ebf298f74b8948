"""Today's events are tomorrow's log: people are served, what they do is learned from, and they are served better.

The world is simulated, so what each person wants is known, and so is how well a list serves them. The server, the
events, the log that is read from them and the training are the real ones.
"""

import http.client
import json
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import wayword
from runs import SETTINGS
from servers import Server, serving
from wayword.simulation.simulate import simulate
from wayword.text import cuts, normalise

PEOPLE, TESTED, SHOWN = 12_000, 3000, 5


class World:
    """Who wants what, and what the search engine returns."""

    def __init__(self, data: Path) -> None:
        truth = pq.read_table(data / "truth.parquet")
        self._queries, self._documents = truth["query"].to_pylist(), truth["document"].to_pylist()
        self._mass = truth["mass"].to_numpy() / truth["mass"].to_numpy().sum()
        self.pages: dict[str, dict[str, int]] = {}
        for row in pq.read_table(data / "rankings.parquet").to_pylist():
            self.pages.setdefault(row["query"], {})[row["document"]] = row["rank"]

    def people(self, count: int, seed: int) -> list[tuple[str, str, str]]:
        """What each would search for, which document they want, and how far they have typed."""
        draw = np.random.default_rng(seed)
        chosen = draw.choice(len(self._mass), count, p=self._mass)
        found = []
        for place, share in zip(chosen.tolist(), draw.random(count).tolist(), strict=True):
            typed = cuts(normalise(self._queries[place]))
            if typed:
                found.append((self._queries[place], self._documents[place], typed[int(share * len(typed))]))
        return found

    def seen(self, query: str, document: str) -> float:
        """How surely who wants the document sees it on the query's page."""
        rank = self.pages.get(query, {}).get(document)
        return 1.0 / rank if rank else 0.0


class Asking:
    """One connection for many questions."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def close(self) -> None:
        self._connection.close()

    def complete(self, prefix: str) -> dict[str, Any]:
        asked = urlencode({"prefix": prefix, "k": SHOWN})
        self._connection.request("GET", f"/complete?{asked}")
        return dict(json.loads(self._connection.getresponse().read()))

    def post(self, records: list[dict[str, Any]]) -> None:
        self._connection.request("POST", "/events", json.dumps(records))
        answer = self._connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"stored": len(records)})


def _live(world: World, server: Server, seed: int) -> int:
    """People type, look at completions, pick, search and click; everything is posted. Returns the clicks."""
    with closing(Asking(server)) as asking:
        return _lived(world, asking, seed)


def _lived(world: World, asking: Asking, seed: int) -> int:
    draw, clicks, waiting = np.random.default_rng(seed), 0, list[dict[str, Any]]()
    for number, (query, document, typed) in enumerate(world.people(PEOPLE, seed)):
        name = {"query_id": f"q{number}", "client_id": f"person {number}"}
        answer = asking.complete(typed)
        shown = [one["query"] for one in answer["completions"]]
        told = {field: answer[field] for field in ("prefix", "mode", "policy", "index", "arm")} | {
            "shown": shown
        }
        searched = query
        for place, suggested in enumerate(shown, start=1):
            if draw.random() < world.seen(suggested, document) / place:
                searched = suggested
                picked = {"object": {"object_id": suggested, "object_id_type": "query"}}
                attributes = {**picked, "position": {"ordinal": place}, "completion": told}
                waiting.append({"action_name": "completion_picked", **name, "event_attributes": attributes})
                break
        page = world.pages.get(searched, {})
        waiting.append(
            {"user_query": searched, **name, "query_response_hit_ids": sorted(page, key=page.__getitem__)}
        )
        if draw.random() < world.seen(searched, document):
            where = {"object": {"object_id": document}, "position": {"ordinal": page[document]}}
            waiting.append(
                {"action_name": "click", **name, "user_query": searched, "event_attributes": where}
            )
            clicks += 1
        if len(waiting) > 300:
            asking.post(waiting)
            waiting = []
    asking.post(waiting)
    return clicks


def _utility(world: World, server: Server) -> tuple[np.ndarray, set[str]]:
    """Of the served list, for each of the same people; and the versions that answered."""
    values, versions = [], set()
    with closing(Asking(server)) as asking:
        for _, document, typed in world.people(TESTED, seed=99):
            answer = asking.complete(typed)
            versions.add(answer["index"])
            values.append(sum(world.seen(one["query"], document) for one in answer["completions"]) / SHOWN)
    return np.array(values), versions


@pytest.mark.slow
def test_what_people_do_with_completions_makes_them_better(tmp_path: Path) -> None:
    data = simulate("packages", clicks=4000, depth=20, out=tmp_path / "data", seed=3)
    early = tmp_path / "early.parquet"
    pq.write_table(pq.read_table(data / "clicks.parquet").slice(0, 1500), early)
    world = World(data)
    settings = tmp_path / "wayword.toml"
    settings.write_text(SETTINGS.format(share=0.6))
    training = [
        "--rankings",
        data / "rankings.parquet",
        "--config",
        settings,
        "--out",
        tmp_path / "workspace",
    ]
    first = wayword("run", "--log", early, *training)
    assert first.code == 0, first.err
    with serving(tmp_path / "workspace", "--rate", 0) as server:
        before, old = _utility(world, server)
        clicks = _live(world, server, seed=5)
        read = wayword("ubi", tmp_path / "workspace" / "events", "--out", tmp_path / "log")
        assert read.code == 0, read.err
        log = pq.read_table(tmp_path / "log" / "clicks.parquet")
        assert log.num_rows - log["document"].null_count == clicks
        second = wayword("run", "--log", tmp_path / "log" / "clicks.parquet", *training)
        assert second.code == 0, second.err
        after, new = _utility(world, server)
        while new & old:
            after, new = _utility(world, server)
    difference = after - before
    low = difference.mean() - 1.96 * difference.std() / np.sqrt(len(difference))
    print(f"utility of the first {SHOWN}: {before.mean():.4f} → {after.mean():.4f}, {low:.4f} more at least")
    assert len(old) == len(new) == 1
    assert low > 0
