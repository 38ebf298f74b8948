"""V and the list that maximises it: against plain Python, against all lists, and its properties."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from slow_list_value import best_value, shares, value

from wayword.completion.list_value import CLOSE, EXPECTED, LEAST, SHOWN, list_value, optimise
from wayword.completion.list_value import shares as fast_shares

READING = 0.8 * np.arange(1, 41, dtype=np.float64) ** -0.5
CASES = 400


@dataclass(frozen=True)
class Case:
    """The matrices of one text: members × pool."""

    probability: NDArray[np.float32]
    accepted: NDArray[np.float32]
    gain: NDArray[np.float32]
    searches: NDArray[np.float64]
    strict: float = 0.0
    """The share of each member that accepts only its own query, which is the column of its number."""

    @property
    def people(self) -> tuple[NDArray[np.floating], ...]:
        """The argument of `optimise`."""
        sure, own = np.zeros(self.accepted.shape[1]), np.arange(min(self.accepted.shape))
        sure[own] = np.float64(self.strict) * self.probability[own] * self.gain[own, own].astype(np.float64)
        return ((1 - self.strict) * self.probability).astype(np.float32), self.accepted, self.gain, sure

    @property
    def core(self) -> NDArray[np.bool_]:
        """All may be among the first."""
        return np.ones(self.accepted.shape[1], np.bool_)

    def best(self, k: int = SHOWN, expected: int = -1) -> tuple[list[int], list[float]]:
        """The list and the share of each suggestion; `expected` is the column of the most probable query."""
        chosen, of_each = np.full(max(k, SHOWN), -1, np.int32), np.zeros(max(k, SHOWN))
        numbers = np.arange(self.accepted.shape[1], dtype=np.int32)
        filled = optimise(
            self.people,
            READING,
            self.searches,
            numbers,
            self.core,
            np.int64(expected),
            chosen,
            of_each,
        )
        assert (chosen[filled:] == -1).all()
        assert (of_each[filled:] == 0).all()
        return chosen[:filled].tolist()[:k], of_each[:filled].tolist()[:k]

    @property
    def plain(self) -> tuple[list[float], list[list[float]], list[list[float]], list[float]]:
        """The arguments of the slow reference: strict people are members of their own."""
        probability, accepted, gain = self.members
        return probability.tolist(), accepted.tolist(), gain.tolist(), READING.tolist()

    @property
    def members(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Probability, acceptance and gain, strict people apart."""
        kinds = [self.accepted.astype(np.float64)]
        if self.strict:
            kinds.append(np.eye(*self.accepted.shape))
        probability = np.concatenate(
            [self.people[0].astype(np.float64), self.strict * self.probability.astype(np.float64)]
        )[: len(kinds) * len(self.probability)]
        return (
            probability,
            np.vstack(kinds).astype(np.float64),
            np.vstack([self.gain] * len(kinds)).astype(np.float64),
        )

    def best_of_all(self, k: int) -> float:
        """The highest value of all lists of at most k."""
        probability, accepted, gain = self.members
        return best_value(probability, accepted, gain, READING, k)


def case(
    rng: Generator,
    accepted: NDArray[np.floating],
    gain: NDArray[np.floating],
    searches: NDArray[np.float64] | None = None,
) -> Case:
    """A case whose members are about equally, or very unequally, likely."""
    probability = rng.dirichlet(np.full(len(accepted), rng.choice([0.3, 1.0, 3.0])))
    return Case(
        probability.astype(np.float32),
        accepted.astype(np.float32),
        gain.astype(np.float32),
        np.ones(accepted.shape[1]) if searches is None else searches,
    )


def size(rng: Generator) -> tuple[int, int]:
    """Up to seven members, up to six suggestions."""
    return int(rng.integers(1, 8)), int(rng.integers(1, 7))


def people(rng: Generator) -> Case:
    """As in a log: people take their own query, others seldom; others find less; keystrokes are saved."""
    members, n = size(rng)
    accepted = 1 / (1 + np.exp(-rng.normal(-2, 2, (members, n))))
    utility = rng.random((members, n)) * rng.random((members, n))
    own = np.arange(min(members, n))
    accepted[own, own], utility[own, own] = 1, 1
    saved = rng.choice([0.2, 0.8, 2]) * rng.random((members, 1))
    return case(rng, accepted, (utility - 1) * rng.uniform(0.5, 2, (members, 1)) + saved)


def strict_people(rng: Generator) -> Case:
    """The same, and some accept only their own query."""
    return replace(people(rng), strict=float(rng.uniform(0.1, 0.9)))


def useful(rng: Generator) -> Case:
    """Everything is worth something."""
    shape = size(rng)
    return case(rng, rng.random(shape), rng.random(shape))


def any_gain(rng: Generator) -> Case:
    """Half of what is taken does harm."""
    shape = size(rng)
    return case(rng, rng.random(shape), rng.normal(0, 1, shape))


def harmful(rng: Generator) -> Case:
    """Most of what is taken does harm."""
    shape = size(rng)
    return case(rng, rng.random(shape), rng.normal(-0.5, 1, shape))


def tempting(rng: Generator) -> Case:
    """What is taken readily is worth little, and what is worth much is taken seldom."""
    shape = size(rng)
    accepted = np.where(rng.random(shape) < 0.5, 0.95, 0.1) * rng.random(shape) ** 0.2
    gain = np.where(accepted > 0.5, 0.1, 1.0) * rng.uniform(0.5, 1.5, shape)
    return case(rng, accepted, gain * np.where(rng.random(shape) < 0.2, -1, 1))


KINDS = (people, strict_people, useful, any_gain, harmful, tempting)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from(KINDS), seeds, st.randoms(use_true_random=False))
def test_the_value_of_any_list_is_that_of_the_formula(
    kind: Callable[[Generator], Case], seed: int, order: Random
) -> None:
    one = kind(np.random.default_rng(seed))
    listed = list(range(one.accepted.shape[1]))
    order.shuffle(listed)
    chosen, of_each = np.array(listed, np.int32), np.zeros(len(listed))
    fast_shares(one.people, READING, chosen, of_each, len(listed))
    np.testing.assert_allclose(of_each, shares(*one.plain, listed), atol=1e-9)
    for filled in range(len(listed) + 1):
        fast = list_value(one.people, READING, chosen, filled)
        assert fast == pytest.approx(value(*one.plain, listed[:filled]), abs=1e-9)


@given(st.sampled_from(KINDS), seeds)
def test_each_shown_suggestion_has_a_positive_share_that_adds_up_to_the_value(
    kind: Callable[[Generator], Case], seed: int
) -> None:
    one = kind(np.random.default_rng(seed))
    listed, of_each = one.best()
    assert len(set(listed)) == len(listed)
    np.testing.assert_allclose(of_each, shares(*one.plain, listed), atol=1e-9)
    assert all(share > 0 for share in of_each)


@every_kind
def test_the_gap_to_the_best_of_all_lists_is_small(kind: Callable[[Generator], Case]) -> None:
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(CASES):
        one = kind(rng)
        best = one.best_of_all(SHOWN)
        if best > 10 * LEAST:
            gaps.append(1 - value(*one.plain, one.best()[0]) / best)
    print(
        f"{kind.__name__}: mean {np.mean(gaps):.4%}, 99th percentile {np.quantile(gaps, 0.99):.3%}, "
        f"worst {max(gaps):.2%}, best list found {np.mean(np.array(gaps) < 1e-6):.1%}"
    )
    assert min(gaps) > -1e-6
    assert np.mean(gaps) < 0.001
    assert max(gaps) < 0.15


@every_kind
def test_the_gap_of_four_places_is_small(
    kind: Callable[[Generator], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that has less room than there are suggestions: the compiled function reads `SHOWN` when it is compiled,
    so the places after the fourth are never read instead."""
    monkeypatch.setitem(globals(), "READING", np.r_[READING[:4], np.zeros(36)])
    rng = np.random.default_rng(2)
    gaps = []
    for _ in range(CASES // 2):
        one = kind(rng)
        best = one.best_of_all(4)
        if best > 10 * LEAST:
            gaps.append(1 - value(*one.plain, one.best()[0]) / best)
    assert np.mean(gaps) < 0.005
    assert max(gaps) < 0.25


def test_nobody_is_led_astray_to_be_kept_from_worse() -> None:
    """The first suggestion does a little harm, but would keep its people from the second, which harms them much."""
    accepted, gain = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[-0.1, -2.0], [0.0, 1.0]])
    one = Case(np.full(2, 0.5, np.float32), accepted.astype(np.float32), gain.astype(np.float32), np.ones(2))
    assert value(*one.plain, [0, 1]) > 0 > value(*one.plain, [1])
    assert one.best() == ([], [])


def test_a_suggestion_moves_past_several_others() -> None:
    """The greedy list begins with what most people take; the best one with what few take, for whom it is worth more."""
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(200):
        one = tempting(rng)
        listed, _ = one.best()
        for j, c in enumerate(listed):
            others = [*listed[:j], *listed[j + 1 :]]
            places = [value(*one.plain, [*others[:i], c, *others[i:]]) for i in range(len(listed))]
            assert value(*one.plain, listed) >= max(places) - 0.011 * abs(max(places))
            moved += 1
    assert moved > 400


@given(st.sampled_from(KINDS), seeds, st.integers(1, SHOWN))
def test_the_list_does_not_depend_on_how_many_are_asked_for(
    kind: Callable[[Generator], Case], seed: int, k: int
) -> None:
    rng = np.random.default_rng(seed)
    parts = [kind(rng) for _ in range(5)]
    members = min(len(part.accepted) for part in parts)
    accepted = np.hstack([part.accepted[:members] for part in parts])
    gain = np.hstack([part.gain[:members] for part in parts])
    one = case(rng, accepted, gain, rng.integers(1, 9, (accepted.shape[1],)).astype(np.float64))
    longest, of_each = one.best(40)
    assert one.best(k) == (longest[:k], of_each[:k])
    assert one.best(20) == (longest[:20], of_each[:20])


def slot_values(one: Case, listed: list[int], j: int) -> dict[int, float]:
    """What each suggestion that is not listed elsewhere would add to the list at place j."""
    without = [*listed[:j], -1, *listed[j + 1 :]]
    probability, accepted, gain, reading = one.plain
    nobody = [[*row, 0.0] for row in accepted]  # column -1 is taken by nobody
    nothing = [[*row, 0.0] for row in gain]
    base = value(probability, nobody, nothing, reading, without)
    free = set(range(one.accepted.shape[1])) - set(listed) | {listed[j]}
    return {
        c: value(probability, nobody, nothing, reading, [*listed[:j], c, *listed[j + 1 :]]) - base
        for c in free
    }


@pytest.mark.parametrize("kind", [people, *KINDS[2:]])
def test_of_suggestions_of_about_equal_value_the_most_searched_is_shown(
    kind: Callable[[Generator], Case],
) -> None:
    """Each suggestion has a double whose value differs by less than 1 %, and that is searched more or less often."""
    rng = np.random.default_rng(4)
    compared = 0
    for _ in range(150):
        one = kind(rng)
        accepted = np.hstack([one.accepted, one.accepted * rng.uniform(0.995, 1.0, one.accepted.shape)])
        searches = rng.choice([1.0, 5.0, 30.0], accepted.shape[1])
        twice = Case(one.probability, accepted.astype(np.float32), np.hstack([one.gain, one.gain]), searches)
        listed, _ = twice.best()
        for j, c in enumerate(listed):
            values = slot_values(twice, listed, j)
            better = [
                other
                for other, worth in values.items()
                if worth >= (CLOSE + 1e-4) * max(values.values()) and searches[other] > searches[c]
            ]
            assert searches[c] > 1 or not better or values[c] < LEAST
            compared += len(values) > 1
    assert compared > 50


def test_equal_suggestions_are_ordered_by_searches_then_by_value() -> None:
    """Which suggestions are shown follows searches within 1 %; among those that are shown, the order follows V."""
    accepted = np.full((1, 3), 0.5, np.float32)
    for gains, expected in (([1.0, 1.0, 1.0], [2, 1, 0]), ([0.995, 1.0, 0.995], [1, 2, 0])):
        one = Case(np.ones(1, np.float32), accepted, np.array([gains], np.float32), np.array([1.0, 2, 9]))
        assert one.best()[0] == expected


@settings(max_examples=50)
@given(seeds)
def test_one_place_that_everybody_takes_is_the_argmax_of_demand_and_exposure(seed: int) -> None:
    """a ≡ 1, λ = 0, W = 1: the paper's objective, less what typing on finds, which no suggestion changes."""
    rng = np.random.default_rng(seed)
    members, n, documents = 5, 6, 8
    demand, exposure = rng.random((members, documents)), rng.random((n, documents))
    probability = rng.dirichlet(np.ones(members))
    constant = 20.0  # always filled: a constant that makes each gain positive changes no order
    gain = demand @ exposure.T - 1 + constant
    one = Case(
        probability.astype(np.float32), np.ones((members, n), np.float32), gain.astype(np.float32), np.ones(n)
    )
    alone = [value(*one.plain, [c]) for c in range(n)]
    assert int(np.argmax(alone)) == int(np.argmax(probability @ demand @ exposure.T))


@settings(max_examples=50)
@given(seeds)
def test_people_who_take_only_their_own_query_are_completed_by_popularity_and_length(seed: int) -> None:
    """a = [q = q̄], λ = 1, W = 1: the list is ordered by P(q̄ | x) · saved."""
    rng = np.random.default_rng(seed)
    n = 8
    probability, saved = rng.dirichlet(np.ones(n)), rng.uniform(0.1, 0.9, n)
    utility = np.eye(n) + (1 - np.eye(n)) * rng.random((n, n))
    gain = utility - 1 + saved[:, None]
    one = Case(
        probability.astype(np.float32), np.eye(n, dtype=np.float32), gain.astype(np.float32), np.ones(n)
    )
    listed, _ = one.best()
    worth = probability * saved
    expected = [c for c in np.argsort(-worth).tolist() if worth[c] > LEAST]
    close = any(b > 0.98 * a for a, b in zip(np.sort(worth)[::-1], np.sort(worth)[::-1][1:], strict=False))
    if not close:  # of values within 1 %, any may be first
        assert listed[: len(expected)] == expected
    assert sorted(listed[: len(expected)]) == sorted(expected)


def test_the_most_probable_query_is_listed_if_it_costs_at_most_a_tenth_and_stands_early() -> None:
    """As early as possible, the last suggestion making room, each with a positive share."""
    rng, added, moved, left_out = np.random.default_rng(5), 0, 0, 0
    for _ in range(CASES):
        shape = int(rng.integers(1, 8)), int(rng.integers(2, 16))
        one = case(rng, rng.random(shape), rng.normal(0.1, 0.5, shape))
        listed, of_each = one.best()
        for expected in range(shape[1]):
            found, shares_found = one.best(expected=expected)
            others = [c for c in listed if c != expected]
            places = [
                [*others[:at], expected, *others[at:]][:SHOWN] for at in range(min(len(others) + 1, SHOWN))
            ]
            valued = [(shares(*one.plain, place), place) for place in places]
            least = EXPECTED * sum(of_each)
            if any(abs(sum(each) - least) < 1e-6 or abs(min(each)) < 1e-9 for each, _ in valued):
                continue  # rounding decides
            allowed = [place for each, place in valued if min(each) > 0 and sum(each) > least]
            assert found == (allowed[0] if allowed else listed)
            if allowed:
                assert shares_found == pytest.approx(shares(*one.plain, found), rel=1e-4, abs=1e-6)
            added += expected not in listed and bool(allowed)
            moved += expected in listed and found != listed
            left_out += not allowed
    assert min(added, moved, left_out) > 50
