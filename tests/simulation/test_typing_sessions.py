"""Drawn sessions agree with what is computed exactly."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from small_worlds import small_world
from typing_worlds import two_queries, world_of

from wayword.errors import WaywordError
from wayword.simulation import typing_sessions as module
from wayword.simulation.logging_policy import popular_lists
from wayword.simulation.people import NAMES, People, expected_outcomes
from wayword.simulation.queries import Queries
from wayword.simulation.typing_sessions import NOTHING, Drawn, Sessions, Typing
from wayword.simulation.world import World

SIGMAS = 4.5


def typing_of(world: World, name: str) -> Typing:
    lists = popular_lists(world)
    return Typing(world, People.named(name, Queries.of(world)), lists, k=3)


def all_sessions(drawn: Sequence[Drawn]) -> Sessions:
    parts = [one.sessions for one in drawn]
    return Sessions(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def typed_characters(drawn: Drawn) -> NDArray[np.int64]:
    sessions = drawn.sessions
    last = drawn.keystrokes.offsets[drawn.row] + sessions.shown - 1
    return np.where(
        sessions.taken == NOTHING, drawn.keystrokes.length[drawn.row], drawn.keystrokes.typed[last]
    )


@pytest.mark.parametrize("source", ["packages", "debian"])
@pytest.mark.parametrize("name", NAMES)
def test_means_of_drawn_sessions_are_the_expected_ones(source: str, name: str, tmp_path: Path) -> None:
    typing = typing_of(small_world(source, tmp_path), name)
    drawn = list(typing.draw(30_000, np.random.default_rng(7)))
    sessions, queries = all_sessions(drawn), typing.queries
    intended = np.flatnonzero(queries.probability)
    outcomes = expected_outcomes(typing.people, intended, *typing.typed(intended))
    weights = queries.probability[intended]
    clicks = np.where(sessions.document == NOTHING, 0.0, 1.0)
    useful = queries.own[intended] > 0
    values = {
        "taken": (sessions.taken != NOTHING, weights @ outcomes.taken),
        "found": (queries.utility(sessions.intended, sessions.query), weights @ outcomes.found),
        "typed": (np.concatenate(list(map(typed_characters, drawn))), weights @ outcomes.typed),
        "clicks": (
            np.where(queries.own[sessions.intended] > 0, clicks, 0.0),
            (queries.own[intended] * outcomes.found)[useful].sum(),
        ),
    }
    for what, (seen, expected) in values.items():
        error = np.std(seen) / np.sqrt(len(seen))
        rare = 5 / len(seen)  # what happens less often than this may not have happened
        assert abs(np.mean(seen) - expected) <= SIGMAS * error + rare, what


@pytest.mark.parametrize("name", ["strict", "strict-once"])
def test_strict_people_take_their_query_at_the_first_letter_if_they_read_it(name: str) -> None:
    typing = typing_of(world_of({"abcd": ["d0"]}, [("abcd", 1.0, ["d0"])]), name)
    sessions = all_sessions(list(typing.draw(20_000, np.random.default_rng(0))))
    at_once, r1 = (sessions.taken == 0) & (sessions.shown == 1), 0.9
    assert np.mean(at_once) == pytest.approx(r1, abs=SIGMAS * np.sqrt(r1 * (1 - r1) / len(at_once)))
    unread = (1 - r1) ** 3
    assert np.mean(sessions.taken == NOTHING) == pytest.approx(
        unread, abs=SIGMAS * np.sqrt(unread / len(at_once))
    )


def test_a_suggestion_that_does_not_return_what_people_want_gets_no_click() -> None:
    typing = typing_of(two_queries(), "everything")
    sessions = all_sessions(list(typing.draw(5000, np.random.default_rng(0))))
    astray = (sessions.intended == 0) & (sessions.query == 1)
    assert astray.any()
    assert (sessions.document[astray] == NOTHING).all()
    second = (sessions.intended == 1) & (sessions.query == 0) & (sessions.document != NOTHING)
    assert second.any()
    assert (sessions.rank[second] == 2).all()


def test_the_lists_end_with_the_session_that_shows_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 64)
    typing = typing_of(two_queries(), "strict")
    short, long = (all_sessions(list(typing.draw(n, np.random.default_rng(3)))) for n in (100, 1000))
    for sessions, lists in ((short, 100), (long, 1000)):
        assert sessions.shown.sum() >= lists > sessions.shown[:-1].sum()
    assert all(
        np.array_equal(value, getattr(long, name)[: len(value)]) for name, value in vars(short).items()
    )


def test_a_world_of_single_characters_shows_no_list() -> None:
    typing = typing_of(world_of({"a": ["d0"], "bb": ["d0"]}, [("a", 1.0, ["d0"])]), "strict")
    with pytest.raises(WaywordError, match="every query of this world is a single character"):
        next(typing.draw(1, np.random.default_rng(0)))


def test_people_who_type_single_characters_see_no_list() -> None:
    world = world_of({"a": ["d0"], "bb": ["d0"]}, [("a", 0.5, ["d0"]), ("bb", 0.5, ["d0"])])
    sessions = all_sessions(list(typing_of(world, "everything").draw(500, np.random.default_rng(0))))
    assert ((sessions.shown == 0) == (sessions.intended == 0)).all()
    assert (sessions.taken[sessions.intended == 0] == NOTHING).all()


def test_lists_that_nobody_accepts_change_nothing() -> None:
    world = two_queries()
    people = People.named("strict", Queries.of(replace(world)))
    typing = Typing(world, people, popular_lists(world), k=1)
    sessions = all_sessions(list(typing.draw(2000, np.random.default_rng(0))))
    assert (sessions.query == sessions.intended).all()
    assert (sessions.taken[sessions.intended == 1] == NOTHING).all()  # the one slot shows "ab"
