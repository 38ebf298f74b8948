"""What people find under other propensities, kinds of people and acceptance, against a slow reference."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from test_replayed_sessions import ACCEPTED, LISTS, TEXTS, Listed, Model, load

from wayword.completion.acceptance import PRIOR, Acceptance
from wayword.completion.list_policy import ListPolicy
from wayword.engines import Engine
from wayword.evaluation.sensitivity import ALPHAS, TYPED_LENGTHS, assumed, behaviours, curves
from wayword.evaluation.session_outcomes import (
    ACCEPTANCE,
    AS_USED,
    OWN_CLICKS,
    PEOPLE,
    PROPENSITY,
    TYPED,
    Assumption,
)
from wayword.evaluation.typing_sessions import Replay, Sessions, Shown
from wayword.request import ANY
from wayword.utility import Floats, Measure


@dataclass(frozen=True)
class People(Model):
    """`Model` with an acceptance model that can be replaced."""

    acceptance: Acceptance = Model.acceptance


MODEL_OF_PEOPLE = cast("ListPolicy", People())
CLICKS = [(0, 1, 1), (1, 0, 2), (1, 1, 1)]
SCHEMA = pa.schema([("prefix", pa.string())])


def measured(engine: Engine) -> dict[Assumption, tuple[Floats, Replay]]:
    """Every assumption with what is found by typing on and with the lists."""
    sessions = Sessions.read(engine, TEXTS, SCHEMA, Measure(), 10)
    shown = {"listed": Shown.of(engine, sessions, Listed(LISTS), MODEL_OF_PEOPLE, Measure(), ANY)}
    propensities = curves(engine, 1.0, Measure())
    found = assumed(engine, shown, sessions, MODEL_OF_PEOPLE, Measure(), propensities)
    return {assumption: (own, replays["listed"]) for assumption, own, replays in found}


def directly(engine: Engine, alpha: float) -> tuple[Floats, Replay]:
    """The same with a table of propensities that is made for it."""
    rank = np.array([1, 2], np.int32)
    p = rank.astype(float) ** -alpha
    engine.load("propensity", pa.table({"rank": rank, "p": p, "low": p, "high": p}))
    sessions = Sessions.read(engine, TEXTS, SCHEMA, Measure(), 10)
    shown = Shown.of(engine, sessions, Listed(LISTS), MODEL_OF_PEOPLE, Measure(), ANY)
    return sessions.own, shown.replay(sessions, MODEL_OF_PEOPLE)


def with_interval(engine: Engine, p: list[float], low: list[float], high: list[float]) -> None:
    engine.load(
        "propensity", pa.table({"rank": pa.array([1, 2], pa.int32()), "p": p, "low": low, "high": high})
    )


@pytest.fixture
def small(engine: Engine) -> Engine:
    load(engine, CLICKS)
    with_interval(engine, [1.0, 0.5], [1.0, 0.5], [1.0, 0.5])
    return engine


def test_every_kind_of_assumption_is_made(small: Engine) -> None:
    kinds = [assumption.kind for assumption in measured(small)]
    assert set(kinds) == {AS_USED, PEOPLE, PROPENSITY, ACCEPTANCE, OWN_CLICKS, TYPED}
    assert kinds.count(PROPENSITY) == len(ALPHAS) - 1  # not the one that is used


def test_other_propensities_give_what_a_run_with_them_would(small: Engine) -> None:
    found = {one.name: got for one, got in measured(small).items() if one.kind == PROPENSITY}
    base = measured(small)[Assumption()]
    for alpha in (alpha for alpha in ALPHAS if alpha != 1.0):
        own, replay = found[f"α = {alpha:g}"]
        expected_own, expected = directly(small, alpha)
        np.testing.assert_allclose(own, expected_own)
        np.testing.assert_allclose(replay.found, expected.found)
        np.testing.assert_allclose(replay.typed, base[1].typed)
        assert not np.allclose(replay.found, base[1].found)


def test_the_table_of_propensities_is_left_as_it_was(small: Engine) -> None:
    before, dealt = small.arrow("propensity"), None
    measured(small)
    dealt = small.arrow("SELECT * FROM represented ORDER BY search")
    assert small.arrow("propensity").equals(before)
    measured(small)
    assert small.arrow("SELECT * FROM represented ORDER BY search").equals(dealt)


def test_estimated_propensities_are_tried_at_both_ends(small: Engine) -> None:
    with_interval(small, [1.0, 0.4], [1.0, 0.3], [1.0, 0.6])
    low, high = curves(small, 1.0, Measure())
    assert low.p.tolist() == [1.0, 0.3]
    assert high.p.tolist() == [1.0, 0.6]
    assert low.assumption.group == high.assumption.group


def test_given_propensities_without_an_interval_are_tried_flatter_and_steeper(small: Engine) -> None:
    with_interval(small, [1.0, 0.4], [1.0, 0.4], [1.0, 0.4])
    assert [curve.p.tolist() for curve in curves(small, 1.0, Measure())] == [[1, 0.4**0.5], [1, 0.4**1.5]]


def test_judgments_do_not_depend_on_propensities(small: Engine) -> None:
    assert curves(small, 1.0, Measure("dcg")) == []


def test_a_learned_acceptance_model_has_a_narrower_interval() -> None:
    learned = replace(PRIOR, uncertain=PRIOR.uncertain / 10)
    widths = [
        np.ptp([one.acceptance.coefficients[0] for one in behaviours(model)]) for model in (PRIOR, learned)
    ]
    assert widths[0] / widths[1] == pytest.approx(10)
    assert behaviours(replace(PRIOR, uncertain=0.0)) == []


def test_lists_at_texts_of_some_lengths_only(small: Engine) -> None:
    found = {one.name: got[1] for one, got in measured(small).items() if one.kind == TYPED}
    assert list(found) == list(TYPED_LENGTHS)
    read = Model.acceptance.reading
    at_one = (
        read[0] * ACCEPTED + (1 - read[0] * ACCEPTED) * read[1]
    )  # "abc" is typed: at "a" are "ab" and "abc"
    at_two = read[0]  # at "ab" is "abc"
    assert found["1 character"].taken[0] == pytest.approx(at_one)
    assert found["2 to 3 characters"].taken[0] == pytest.approx(at_two)
    assert found["7 or more"].taken.tolist() == [0, 0]
    assert found["7 or more"].typed.tolist() == [len(text) for text in reversed(TEXTS)]


def test_own_clicks_are_those_of_the_search_alone(engine: Engine) -> None:
    """Two searches of one query, of which one is typed: it stands for both, or for itself."""
    load(engine, [(0, 1, 1)])
    with_interval(engine, [1.0, 0.5], [1.0, 0.5], [1.0, 0.5])
    searches = {"search": [0, 1], "search_id": ["x", "y"], "query": [1, 1], "split": ["test", "test"]}
    engine.load("numbered_searches", pa.table(searches))
    sessions = Sessions.read(engine, TEXTS, SCHEMA, Measure(), 1)
    model = MODEL_OF_PEOPLE
    shown = {"listed": Shown.of(engine, sessions, Listed(LISTS), model, Measure(), ANY)}
    own = {one.kind: values for one, values, _ in assumed(engine, shown, sessions, model, Measure())}
    assert own[AS_USED].tolist() == [0.5]
    assert own[OWN_CLICKS].tolist() == [1.0 if sessions.search[0] == 0 else 0.0]
