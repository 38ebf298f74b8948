"""Who is better for people, how sure that is, and under which assumptions it does not hold."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from wayword.config import EvaluationConfig
from wayword.evaluation import verdict
from wayword.evaluation.session_outcomes import PEOPLE, PROPENSITY, TYPED, Assumption, SessionOutcomes
from wayword.evaluation.typing_sessions import Replay
from wayword.evaluation.verdict import (
    EQUAL,
    LEAST_FOUND,
    MIXED,
    UNKNOWN,
    Check,
    FoundDifference,
    KeystrokeRatio,
    better_of,
    clicks_needed,
    compare,
    judge,
)
from wayword.request import ANY

Interval = tuple[float, float]
MORE, LESS, SAME, NARROW = (0.01, 0.03), (-0.03, -0.01), (-0.01, 0.01), (-0.004, 0.004)
CONFIG = EvaluationConfig(bootstrap=200)


def found(interval: Interval) -> FoundDifference:
    value = sum(interval) / 2
    return FoundDifference(value, *interval, 0.9 + value, 0.9)


def keystrokes(ratio: float, width: float = 0.005) -> KeystrokeRatio:
    return KeystrokeRatio(ratio, ratio - width, ratio + width)


@pytest.mark.parametrize(
    ("difference", "ratio", "better"),
    [
        (MORE, 1.0, "wayword"),
        (MORE, 0.9, "wayword"),
        (NARROW, 0.9, "wayword"),
        (SAME, 0.9, UNKNOWN),  # fewer keystrokes, but perhaps less found
        (LESS, 1.0, "popular"),
        (NARROW, 1.2, "popular"),
        (SAME, 1.2, UNKNOWN),
        (LESS, 1.2, "popular"),
        (MORE, 1.2, MIXED),
        (LESS, 0.9, MIXED),
        (MORE, 1.04, "wayword"),  # as many keystrokes, for all practical purposes
        (NARROW, 1.0, EQUAL),
        (NARROW, 0.99, EQUAL),
        ((0.001, 0.007), 1.0, EQUAL),  # significant, and too small to matter
        (SAME, 1.0, UNKNOWN),
        ((-0.03, 0.01), 0.9, UNKNOWN),
        ((-0.01, 0.03), 1.2, UNKNOWN),
    ],
)
def test_who_is_better(difference: Interval, ratio: float, better: str) -> None:
    assert better_of("wayword", "popular", found(difference), keystrokes(ratio)) == better
    other_way = FoundDifference(-found(difference).value, -difference[1], -difference[0], 0.9, 0.9)
    opposite = {"wayword": "popular", "popular": "wayword"}.get(better, better)
    if ratio in (0.9, 1.2, 1.0):
        assert better_of("wayword", "popular", other_way, keystrokes(2.1 - ratio if ratio != 1 else 1)) == (
            opposite
        )


def test_a_ratio_of_keystrokes_that_is_not_significant_decides_nothing() -> None:
    assert better_of("wayword", "popular", found(NARROW), keystrokes(0.9, width=0.2)) == EQUAL


def test_with_the_clicks_that_are_needed_a_difference_is_told_in_80_of_100_logs() -> None:
    half, effect, n = 0.02, 0.01, 500
    times = clicks_needed(FoundDifference(effect, effect - half, effect + half, 0.9, 0.9))
    deviation = half / norm.ppf(0.975) * n**0.5  # of one search
    longer = round(n * times)
    draws = np.random.default_rng(0).normal(effect, deviation / longer**0.5, 4000)
    told = draws - norm.ppf(0.975) * deviation / longer**0.5 > 0
    assert told.mean() == pytest.approx(0.8, abs=4 * (0.8 * 0.2 / 4000) ** 0.5)
    tiny = FoundDifference(1e-6, -half, half, 0.9, 0.9)
    assert clicks_needed(tiny) == pytest.approx(times * (effect / LEAST_FOUND) ** 2)


def checks(better: dict[str, str]) -> list[Check]:
    got = {"wayword": found(MORE), "popular": found(LESS), EQUAL: found(NARROW), UNKNOWN: found(SAME)}
    return [Check(name, who, got[who], keystrokes(1.0), "all α") for name, who in better.items()]


def test_the_sentence_has_the_numbers_and_what_they_hold_for() -> None:
    agreed = judge(
        "wayword",
        "popular",
        (found(MORE), keystrokes(0.98)),
        checks({"α = 0.5": "wayword", "α = 2": "wayword"}),
    )
    assert agreed.sentence == (
        "Better than most popular completion for people: +0.020 found (0.010 to 0.030), 2 % fewer keystrokes; holds "
        "for all α."
    )
    assert (agreed.better, agreed.flips, agreed.clicks_needed) == ("wayword", [], None)


def test_an_assumption_that_changes_the_verdict_has_a_line_of_its_own() -> None:
    known = {"α = 0.5": "wayword", "α = 1.5": EQUAL, "α = 2": "popular", "α = 3": UNKNOWN}
    judged = judge("wayword", "popular", (found(MORE), keystrokes(1.07)), checks(known))
    assert judged.better == MIXED
    assert {flip.assumption for flip in judged.flips} == set(known)
    judged = judge("wayword", "popular", (found(MORE), keystrokes(1.0)), checks(known))
    assert judged.holds == ["α = 0.5"]
    assert {flip.assumption: flip.better for flip in judged.flips} == {
        name: better for name, better in known.items() if name != "α = 0.5"
    }
    assert judged.lines[1:] == [
        "For α = 2: worse than most popular completion (-0.020 found (-0.030 to -0.010), as many keystrokes).",
        "For α = 1.5: no difference that matters (+0.000 found (-0.004 to 0.004), as many keystrokes).",
        "For α = 3: cannot tell (+0.000 found (-0.010 to 0.010), as many keystrokes).",
    ]


def test_a_log_that_is_too_short_says_how_many_clicks_it_needs() -> None:
    measured = found((-0.016, 0.024)), keystrokes(1.0)
    times = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * (0.02 / norm.ppf(0.975) / LEAST_FOUND) ** 2
    measured = found((-0.02, 0.02)), keystrokes(1.0)
    whole = judge("wayword", "popular", measured, searches=500, available=500)
    assert whole.clicks_needed == pytest.approx(times)
    assert whole.sentence.endswith(f"; about {times:,.2g} times the clicks would be needed.")
    part = judge("wayword", "popular", measured, searches=500, available=100_000)
    assert part.clicks_needed == pytest.approx(times)
    assert part.sentence.endswith(
        " times the clicks would be needed, or more than 500 of the 100,000 test searches (`[evaluation] sessions`)."
    )


def test_nothing_is_said_without_numbers() -> None:
    judged = judge("wayword", "popular", None)
    assert (judged.better, judged.found, judged.keystrokes) == (UNKNOWN, None, None)
    assert judged.sentence == verdict.NOTHING


def made(own: list[float], better: list[float], typed: list[float]) -> SessionOutcomes:
    """`wayword` finds so much more than by typing on, `popular` nothing; α = 2 doubles what is found by typing on."""
    n = len(own)
    values, zeros = np.array(own), np.zeros(n)
    outcomes = SessionOutcomes.of(pa.table({"place": np.arange(n), "frequency": np.arange(n)}))
    for assumption, factor, gain in (
        (Assumption(), 1, 1),
        (Assumption(PEOPLE, "nobody who accepts"), 1, 0),
        (Assumption(PROPENSITY, "α = 2", "all α"), 2, 1),
        (Assumption(TYPED, "1 character"), 1, -1),
    ):
        replays = {
            "wayword": Replay(values + gain * np.array(better), np.array(typed), zeros),
            "popular": Replay(values, np.full(n, 10.0), zeros),
        }
        outcomes.add(ANY, assumption, factor * values, replays)
    return outcomes


OWN = [1.0, 2.0, 0.0, 1.0] * 25
BETTER, CHARACTERS = [0.1] * 100, [8.0, 9.0, 10.0, 9.0] * 25


def test_two_policies_are_compared_by_ratios_of_sums() -> None:
    got = compare(made(OWN, BETTER, CHARACTERS), "wayword", "popular", ANY, CONFIG)
    assert got.found is not None
    assert got.keystrokes is not None
    assert got.found.value == pytest.approx(100 * 0.1 / 100)
    assert (got.found.policy_value, got.found.other_value) == pytest.approx((1.1, 1.0))
    assert got.keystrokes.ratio == pytest.approx(900 / 1000)
    assert {check.assumption: round(check.found.value, 9) for check in got.checks} == {
        "α = 2": 0.05,
        "nobody who accepts": 0.0,
    }
    swapped = compare(made(OWN, BETTER, CHARACTERS), "popular", "wayword", ANY, CONFIG)
    assert swapped.sentence.startswith("Most popular completion: worse than Wayword for people: -")
    assert swapped.found is not None
    assert swapped.found.value == pytest.approx(-got.found.value)
    assert (swapped.found.low, swapped.found.high) == pytest.approx((-got.found.high, -got.found.low))


def test_slices_have_their_own_sums_and_wider_intervals() -> None:
    rng = np.random.default_rng(1)
    outcomes = made(rng.random(100).tolist(), rng.normal(0.1, 0.3, 100).tolist(), CHARACTERS)
    places = np.arange(60)
    alone, many = (
        compare(outcomes, "wayword", "popular", ANY, CONFIG, places=places, kinds=(), slices=slices)
        for slices in (1, 10)
    )
    assert alone.found is not None
    assert many.found is not None
    own, better = outcomes.own[Assumption()][:60], outcomes.found[ANY, Assumption(), "wayword"][:60]
    assert alone.found.value == many.found.value == pytest.approx((better - own).sum() / own.sum())
    wider = (many.found.high - many.found.low) / (alone.found.high - alone.found.low)
    assert wider == pytest.approx(norm.ppf(1 - 0.05 / 2 / 10) / norm.ppf(1 - 0.05 / 2))
    assert alone.checks == []


def test_outcomes_and_verdicts_are_read_as_they_were_written(tmp_path: Path) -> None:
    outcomes = made(OWN, BETTER, CHARACTERS)
    outcomes.write(tmp_path)
    again = SessionOutcomes.read(tmp_path)
    assert again.searches.equals(outcomes.searches)
    assert again.policies(ANY) == ["wayword", "popular"]
    both = [compare(one, "wayword", "popular", ANY, CONFIG) for one in (outcomes, again)]
    assert both[0] == both[1]
    verdict.write(tmp_path, {ANY: both[0]})
    assert verdict.read(tmp_path) == {ANY: json.loads(json.dumps(both[0].as_object()))}


def test_without_a_search_nothing_is_read(tmp_path: Path) -> None:
    made([], [], []).write(tmp_path)
    assert compare(SessionOutcomes.read(tmp_path), "wayword", "popular", ANY, CONFIG).better == UNKNOWN
