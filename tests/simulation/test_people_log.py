"""The files that `simulate --people` writes."""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_worlds import small_world
from typing_worlds import two_queries

import wayword
from runs import Made
from wayword.errors import WaywordError
from wayword.simulation import typing_sessions
from wayword.simulation.people_log import (
    COMPLETIONS_SCHEMA,
    PEOPLE_SCHEMA,
    SEARCHES_SCHEMA,
    simulate_people,
    write_people,
)
from wayword.simulation.simulate import write_world
from wayword.simulation.world import World
from wayword.store.compressed_rows import CompressedRows
from wayword.text import cuts

FILES = [
    "clicks.parquet",
    "completions.parquet",
    "documents.parquet",
    "people.json",
    "people.parquet",
    "rankings.parquet",
    "truth.parquet",
    "world.json",
]
Row = dict[str, Any]


@pytest.fixture(params=["packages", "debian", "xmc"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return small_world(request.param, tmp_path / "xmc")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typing_sessions, "CHUNK", 100)


def rows(folder: Path, name: str) -> list[Row]:
    table: list[Row] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return table


def by_session(folder: Path) -> dict[int, list[Row]]:
    sessions: dict[int, list[Row]] = defaultdict(list)
    for row in rows(folder, "completions"):
        assert row["typing_session"] == str(row["search_id"])
        sessions[row["search_id"]].append(row)
    return sessions


@pytest.mark.parametrize("people", ["lenient", "mix-once"])
def test_a_session_is_every_list_until_the_take_or_the_end(made: World, people: str, tmp_path: Path) -> None:
    out = write_people(made, people=people, lists_shown=1000, out=tmp_path / "out")
    searches = {row["search_id"]: row for row in rows(out, "clicks")}
    intended = {row["search_id"]: row["intended_query"] for row in rows(out, "people")}
    assert list(searches) == list(intended) == list(range(len(searches)))
    sessions = by_session(out)
    assert sum(map(len, sessions.values())) >= 1000
    for search, query in intended.items():
        lists, issued = sessions.get(search, []), searches[search]
        assert [row["position_in_session"] for row in lists] == list(range(len(lists)))
        assert [row["prefix"] for row in lists] == cuts(query)[: len(lists)]
        assert all(row["taken"] is None for row in lists[:-1])
        assert all(row["query"] == issued["query"] for row in lists)
        assert all(len(row["shown"]) == len(set(row["shown"])) <= 10 for row in lists)
        if lists and lists[-1]["taken"] is not None:
            assert 1 <= lists[-1]["taken"] <= len(lists[-1]["shown"])
            assert lists[-1]["shown"][lists[-1]["taken"] - 1] == issued["query"]
            assert issued["prefix"] == lists[-1]["prefix"]
        else:
            assert issued["query"] == query
            assert issued["prefix"] is None
            assert len(lists) == len(cuts(query))


def test_tables_have_the_promised_columns_and_the_files_of_a_world(made: World, tmp_path: Path) -> None:
    out = write_people(made, people="mix", lists_shown=300, out=tmp_path / "out", seed=2)
    assert sorted(path.name for path in out.iterdir()) == FILES
    for name, schema in (
        ("clicks", SEARCHES_SCHEMA),
        ("completions", COMPLETIONS_SCHEMA),
        ("people", PEOPLE_SCHEMA),
    ):
        assert pq.read_table(out / f"{name}.parquet").schema.equals(schema)
    plain = write_world(made, clicks=5, out=tmp_path / "plain")
    for name in ("truth.parquet", "documents.parquet", "world.json"):
        assert (out / name).read_bytes() == (plain / name).read_bytes()


def test_the_rankings_are_those_of_queries_issued_or_shown_and_explain_every_click(
    made: World, tmp_path: Path
) -> None:
    out = write_people(made, people="everything", lists_shown=30, out=tmp_path / "out")
    rank = {(row["query"], row["document"]): row["rank"] for row in rows(out, "rankings")}
    seen = {row["query"] for row in rows(out, "clicks")}
    for row in rows(out, "completions"):
        seen |= set(row["shown"])
    answered = set(made.rankings["query"].to_pylist())
    assert {query for query, _ in rank} == (answered if made.rankings_of == "all" else answered & seen)
    clicked = [row for row in rows(out, "clicks") if row["document"] is not None]
    assert all(rank[row["query"], row["document"]] == row["rank"] for row in clicked)


def test_the_law_and_counts_are_told(tmp_path: Path) -> None:
    out = write_people(two_queries(), people="hurried-once", lists_shown=500, out=tmp_path)
    told = json.loads((out / "people.json").read_text(encoding="utf-8"))
    (kind,) = told["kinds"]
    assert (told["people"], kind["kind"], kind["share"]) == ("hurried-once", "hurried", 1.0)
    assert kind["r"] == pytest.approx([kind["first"] * j ** -kind["power"] for j in range(1, 11)])
    lists, searches = rows(out, "completions"), rows(out, "clicks")
    assert told["lists_shown"] == len(lists)
    assert told["taken"] == sum(row["taken"] is not None for row in lists)
    assert told["sessions"] == len(searches)
    assert told["clicks"] == sum(row["document"] is not None for row in searches)


def test_the_same_seed_gives_the_same_bytes(made: World, tmp_path: Path) -> None:
    once, again, other = (
        write_people(made, people="mix-once", lists_shown=500, seed=seed, out=tmp_path / name)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert all((once / name).read_bytes() == (again / name).read_bytes() for name in FILES)
    assert (once / "completions.parquet").read_bytes() != (other / "completions.parquet").read_bytes()


def test_clicks_only_leaves_out_searches_and_no_list(made: World, tmp_path: Path) -> None:
    whole, only = (
        write_people(made, people="lenient", lists_shown=500, out=tmp_path / str(flag), clicks_only=flag)
        for flag in (False, True)
    )
    assert rows(only, "clicks") == [row for row in rows(whole, "clicks") if row["document"] is not None]
    assert (whole / "completions.parquet").read_bytes() == (only / "completions.parquet").read_bytes()


@dataclass(frozen=True)
class Always:
    """Shows the same list at every text."""

    texts: Sequence[str]

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        count = min(k, len(self.texts))
        return CompressedRows.from_lengths(
            np.tile(np.arange(count), len(typed)), np.full(len(typed), count, np.int64)
        )


def test_a_suggestion_that_the_world_does_not_know_is_an_empty_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        out = write_people(
            two_queries(),
            people="everything",
            lists_shown=200,
            out=tmp_path,
            policy=Always(["elsewhere", "ab"]),
        )
    assert "1 queries of the lists are not queries of this world" in caplog.text
    taken = [row for row in rows(out, "clicks") if row["query"] == "elsewhere"]
    assert taken
    assert all(row["document"] is None for row in taken)
    assert all(row["shown"] == ["elsewhere", "ab"] for row in rows(out, "completions"))


def test_an_empty_list_is_a_list_shown(tmp_path: Path) -> None:
    out = write_people(two_queries(), people="everything", lists_shown=50, out=tmp_path, policy=Always([]))
    assert {tuple(row["shown"]) for row in rows(out, "completions")} == {()}
    assert all(row["prefix"] is None for row in rows(out, "clicks"))


def test_the_lists_of_a_workspace_are_those_that_it_serves(undisturbed: Made, tmp_path: Path) -> None:
    out = simulate_people(
        "packages", people="mix", lists_shown=300, out=tmp_path, lists=undisturbed.path, depth=10
    )
    completer = wayword.Completer.open(undisturbed.path)
    for row in rows(out, "completions"):
        served = [completion.query for completion in completer.complete(row["prefix"], k=10)]
        assert row["shown"] == served


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"people": "stirct"}, "Did you mean 'strict'"),
        ({"lists_shown": 0}, "Found lists_shown = 0; expected a number of lists from 1"),
        ({"seed": -1}, "Found seed = -1"),
        ({"lists": "nowhere"}, "There is no index in"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    given = {"people": "strict", "lists_shown": 10, "out": tmp_path / "out", **options}
    with pytest.raises(WaywordError, match=said):
        simulate_people("packages", **given)
    assert not (tmp_path / "out").exists()


def test_an_unknown_world_is_told(tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="Did you mean 'packages'"):
        simulate_people("package", people="strict", lists_shown=10, out=tmp_path / "out")
