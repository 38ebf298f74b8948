"""Typing sessions by arithmetic: two queries, three letters, one search with a click and one without."""

from collections.abc import Iterator
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from wayword.completion.acceptance import PRIOR, Acceptance
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.completion.typing_outcomes import Slots
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.typing_sessions import MODEL, PEOPLE, Replay, Sessions, Shown, estimate
from wayword.request import ANY
from wayword.utility import Measure

TEXTS = ["ab", "abc"]
LISTS = {"a": [0, 1], "ab": [1]}
ACCEPTED = 0.25
READ = [0.8, 0.6]
OTHERS = {MODEL: 0.25, "own query only": 0.0, "twice as readily": 0.5, "everything": 1.0}
"""How readily each kind of people accepts what it did not intend."""


class Model:
    """People who accept what they do not intend with one probability."""

    acceptance = Acceptance(PRIOR.coefficients, np.array(READ))

    def have_typed_words(self, texts: list[str], candidates: Candidates) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.ones(len(candidates.query), np.bool_)

    def accepted(self, intended: NDArray[np.int64], slots: Slots) -> NDArray[np.float64]:
        return np.where(slots.suggested == intended[slots.session], 1.0, ACCEPTED)


class Listed:
    """Lists by typed text."""

    def __init__(self, lists: dict[str, list[int]]) -> None:
        self.lists = lists

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:  # noqa: ARG002
        rows = [
            (row, query)
            for row, typed in enumerate(contexts["prefix"].to_pylist())
            for query in self.lists.get(typed, [])[:k]
        ]
        context, query = (np.array([pair[n] for pair in rows], np.int32) for n in (0, 1))
        return Candidates(context, query, np.zeros(len(rows), np.float32))


MODEL_OF_PEOPLE = cast("ListPolicy", Model())


def load(engine: Engine, clicks: list[tuple[int, int, int]]) -> None:
    """Search 0 types "abc", search 1 types "ab", search 2 is no test search; clicks are (search, document, rank)."""
    searches, documents, ranks = zip(*clicks, strict=True) if clicks else ((), (), ())
    tables = {
        "numbered_searches": {
            "search": pa.array([0, 1, 2], pa.int64()),
            "search_id": ["x", "y", "z"],
            "query": pa.array([1, 0, 1], pa.int32()),
            "split": ["test", "test", "ranker"],
        },
        "numbered_clicks": {
            "search": pa.array(searches, pa.int64()),
            "document": pa.array(documents, pa.int32()),
            "rank": pa.array(ranks, pa.int32()),
            "weight": pa.array([1.0] * len(clicks), pa.float64()),
        },
        "rankings": {
            "query": pa.array([0, 0, 1], pa.int32()),
            "document": pa.array([0, 1, 1], pa.int32()),
            "rank": pa.array([1, 2, 1], pa.int32()),
        },
        "propensity": {"rank": pa.array([1, 2], pa.int32()), "p": pa.array([1.0, 0.5], pa.float64())},
    }
    for name, columns in tables.items():
        engine.load(name, pa.table(columns))


@pytest.fixture
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    load(database, [(0, 1, 1)])
    yield database
    database.close()


def read(engine: Engine, most: int = 10) -> Sessions:
    return Sessions.read(
        engine, TEXTS, pa.schema([("prefix", pa.string()), ("part", pa.string())]), Measure(), most
    )


def replay(engine: Engine, sessions: Sessions, lists: dict[str, list[int]], people: str = MODEL) -> Replay:
    shown = Shown.of(engine, sessions, Listed(lists), MODEL_OF_PEOPLE, Measure(), ANY)
    return shown.replay(sessions, MODEL_OF_PEOPLE, people)


def test_sessions_are_the_test_searches(engine: Engine) -> None:
    sessions = read(engine)
    assert sessions.search.tolist() == [0, 1]
    assert sessions.intended.tolist() == [1, 0]
    assert sessions.own.tolist() == [1.0, 0.0]
    assert sessions.contexts.to_pydict() == {"prefix": ["a", "ab"], "part": [None, None]}
    assert len(read(engine, 1).search) == 1


@pytest.mark.parametrize("people", list(PEOPLE))
def test_outcomes_by_arithmetic(people: str, engine: Engine) -> None:
    a, sessions = OTHERS[people], read(engine)
    found = replay(engine, sessions, LISTS, people)
    astray = READ[0] * a  # "abc" is typed: at "a" the first suggestion is "ab", the second "abc"
    second = (1 - astray) * READ[1]
    third = (1 - astray - second) * READ[0]
    nothing = 1 - astray - second - third
    own = READ[0]  # "ab" is typed
    other = (1 - own) * READ[1] * a
    half = 0.5 / 1.0  # "ab" returns the clicked document at rank 2, it was clicked at rank 1
    np.testing.assert_allclose(found.found, [astray * half + second + third + nothing, 0.0])
    np.testing.assert_allclose(found.taken, [1 - nothing, own + other])
    np.testing.assert_allclose(
        found.typed,
        [(astray + second) * 1 + third * 2 + nothing * 3, (own + other) * 1 + (1 - own - other) * 2],
    )


def test_without_suggestions_all_is_typed_and_found(engine: Engine) -> None:
    sessions = read(engine)
    found = replay(engine, sessions, {})
    assert found.found.tolist() == sessions.own.tolist()
    assert found.typed.tolist() == [3, 2]
    assert found.taken.tolist() == [0, 0]


def test_estimates_are_ratios_of_sums_and_differences_are_paired(engine: Engine) -> None:
    sessions = read(engine)
    replays = {"listed": replay(engine, sessions, LISTS), "again": replay(engine, sessions, LISTS)}
    replays["nothing"] = replay(engine, sessions, {})
    rows, differences = estimate(replays, sessions, EvaluationConfig(bootstrap=50), mode=ANY, people=MODEL)
    value = {(row["policy"], row["metric"]): row["value"] for row in rows}
    one = replays["listed"]
    assert value["listed", "found"] == pytest.approx(one.found.sum() / sessions.own.sum())
    assert value["listed", "keystrokes"] == pytest.approx(one.typed.sum() / 5)
    assert value["listed", "taken"] == pytest.approx(one.taken.sum() / 2)
    assert [value["nothing", name] for name in ("found", "keystrokes", "taken")] == [1, 1, 0]
    assert {row["n"] for row in rows} == {2}
    assert len(differences) == 3 * 3 * 2
    for row in differences:
        opposite = next(
            r
            for r in differences
            if (r["policy"], r["other"], r["metric"]) == (row["other"], row["policy"], row["metric"])
        )
        assert (row["value"], row["low"]) == pytest.approx((-opposite["value"], -opposite["high"]))
        if {row["policy"], row["other"]} == {"listed", "again"}:
            assert (row["value"], row["low"], row["high"]) == (0, 0, 0)


def test_without_any_click_nothing_is_said_about_what_is_found(engine: Engine) -> None:
    load(engine, [])
    sessions = read(engine)
    replays = {"listed": replay(engine, sessions, LISTS)}
    rows, _ = estimate(replays, sessions, EvaluationConfig(bootstrap=20), mode=ANY, people=MODEL)
    assert {row["metric"] for row in rows} == {"keystrokes", "taken"}


def test_all_people_accept_their_own_query(engine: Engine) -> None:
    sessions = read(engine)
    taken = {people: replay(engine, sessions, {"a": [1], "ab": [1]}, people).taken[0] for people in PEOPLE}
    assert set(taken.values()) == {taken[MODEL]}
    assert taken[MODEL] == pytest.approx(1 - (1 - READ[0]) ** 2)


def test_sessions_stand_for_the_test_searches_of_their_query(engine: Engine) -> None:
    """Five searches of "abc", two of them typed again: one click each, at ranks with 1/p of 1 and 2, and none."""
    rows = range(5)
    engine.load(
        "numbered_searches",
        pa.table(
            {
                "search": pa.array(rows, pa.int64()),
                "search_id": [str(n) for n in rows],
                "query": pa.array([1] * 5, pa.int32()),
                "split": ["test"] * 5,
            }
        ),
    )
    clicks = {"search": pa.array([0, 1], pa.int64()), "document": pa.array([1, 1], pa.int32())}
    engine.load(
        "numbered_clicks", pa.table({**clicks, "rank": pa.array([1, 2], pa.int32()), "weight": [1.0, 1.0]})
    )
    alone = read(engine, 5)
    assert sorted(alone.own.tolist()) == [0.0, 0.0, 0.0, 1 / 1, 1 / 0.5]
    assert alone.estimator == "ips"
    pooled = read(engine, 2)
    assert pooled.estimator == "control variate"
    dealt = engine.arrow("SELECT session, search, searches FROM represented ORDER BY search").to_pylist()
    assert [row["search"] for row in dealt] == list(rows)  # each once
    assert all(row["session"] == row["search"] for row in dealt if row["search"] in pooled.search)
    for session, own in zip(pooled.search.tolist(), pooled.own.tolist(), strict=True):
        mine = [row for row in dealt if row["session"] == session]
        assert len(mine) in (2, 3)
        assert {row["searches"] for row in mine} == {len(mine)}
        assert own == pytest.approx(
            sum({0: 1 / 1, 1: 1 / 0.5}.get(row["search"], 0) for row in mine) / len(mine)
        )
    assert read(engine, 1).own.tolist() == pytest.approx([(1 / 1 + 1 / 0.5) / 5])


def test_the_interval_of_a_share_stays_between_none_and_all(engine: Engine) -> None:
    """Nearly all take a suggestion: Student's t would go beyond all of them."""
    sessions = read(engine)
    taken = Replay(sessions.own, np.array([3.0, 2.0]), np.array([1.0, 0.9]))
    rows, _ = estimate({"one": taken}, sessions, EvaluationConfig(bootstrap=200), mode=ANY, people=MODEL)
    (share,) = [row for row in rows if row["metric"] == "taken"]
    assert 0 <= share["low"] < share["value"] < share["high"] <= 1
