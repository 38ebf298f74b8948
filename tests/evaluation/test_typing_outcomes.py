"""Exact outcomes of typing sessions against a slow walk over everything that can happen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wayword.evaluation.typing_outcomes import (
    Keystrokes,
    Lists,
    Slots,
    session_outcomes,
    take_probabilities,
)
from wayword.store.compressed_rows import CompressedRows
from wayword.text import cuts, grapheme_count, normalise

PROBABILITIES = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])
Slot = tuple[int, int, float]
"""Suggestion, position and acceptance."""


def walk(
    slots: list[Slot],
    reading: list[float],
    *,
    once: bool,
    place: int = 0,
    declined: frozenset[int] = frozenset(),
) -> NDArray[np.float64]:
    """Follow each course of a session: a slot is read or not, the suggestion accepted or declined."""
    probability = np.zeros(len(slots))
    if place == len(slots):
        return probability
    query, position, accepted = slots[place]
    read = reading[position]
    if query in declined:
        return walk(slots, reading, once=once, place=place + 1, declined=declined)
    probability[place] = read * accepted
    probability += (1 - read) * walk(slots, reading, once=once, place=place + 1, declined=declined)
    after = declined | {query} if once else declined
    return probability + read * (1 - accepted) * walk(
        slots, reading, once=once, place=place + 1, declined=after
    )


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), PROBABILITIES), max_size=6),
        min_size=1,
        max_size=4,
    ),
    st.lists(PROBABILITIES, min_size=3, max_size=3),
    st.booleans(),
)
def test_probabilities_are_those_of_a_walk_over_all_courses(
    sessions: list[list[Slot]], reading: list[float], once: bool
) -> None:
    flat = [slot for session in sessions for slot in session]
    query, position = (np.array([slot[n] for slot in flat], np.int64) for n in (0, 1))
    offsets = np.r_[0, np.cumsum([len(session) for session in sessions])].astype(np.int64)
    slots = Slots(offsets, np.zeros(len(flat), np.int64), position, query, np.ones(len(flat), np.bool_))
    probability = take_probabilities(
        slots, np.array(reading), np.array([slot[2] for slot in flat], np.float64), once=once
    )
    slow = np.concatenate([walk(session, reading, once=once) for session in sessions])
    np.testing.assert_allclose(probability, slow, atol=1e-12)
    assert (slots.sums(probability) <= 1 + 1e-12).all()


@given(st.lists(st.text("ab é👩‍🚀", min_size=1, max_size=8).map(normalise), max_size=5))
def test_keystrokes_are_the_cuts_of_each_query(queries: list[str]) -> None:
    keystrokes = Keystrokes.of(queries)
    assert len(set(keystrokes.texts)) == len(keystrokes.texts)
    for n, query in enumerate(queries):
        steps = slice(keystrokes.offsets[n], keystrokes.offsets[n + 1])
        assert [keystrokes.texts[text] for text in keystrokes.text[steps]] == cuts(query)
        assert keystrokes.typed[steps].tolist() == list(map(grapheme_count, cuts(query)))
        assert keystrokes.length[n] == grapheme_count(query)


def test_two_sessions_by_arithmetic() -> None:
    """ "ab" sees a list at "a"; "abc" at "a" and "ab". The list at "a" suggests 0 and 1, that at "ab" only 1."""
    keystrokes = Keystrokes.of(["ab", "abc"])
    lists = Lists(CompressedRows(np.array([0, 2, 3]), np.array([0, 1, 1])), np.ones(3, np.bool_))
    slots = Slots.of(keystrokes, lists)
    accepted = np.array([1.0, 0.0, 0.5, 1.0, 1.0])
    utility = np.array([1.0, 7.0, 0.25, 1.0, 1.0])
    probability = take_probabilities(slots, np.array([0.8, 0.6]), accepted, once=False)
    outcomes = session_outcomes(keystrokes, slots, probability, utility, keystrokes.length)
    first, second = 0.8 * 0.5, (1 - 0.8 * 0.5) * 0.6
    third = (1 - first - second) * 0.8
    nothing = 1 - first - second - third
    np.testing.assert_allclose(outcomes.taken, [0.8, 1 - nothing])
    np.testing.assert_allclose(outcomes.found, [1.0, first * 0.25 + second + third + nothing])
    np.testing.assert_allclose(
        outcomes.typed, [0.8 * 1 + 0.2 * 2, (first + second) * 1 + third * 2 + nothing * 3]
    )
    means = outcomes.mean(np.array([2.0, 1.0]))
    assert means["keystrokes"] == pytest.approx((2 * outcomes.typed[0] + outcomes.typed[1]) / (2 * 2 + 3))


def test_sessions_without_a_list_type_everything() -> None:
    keystrokes = Keystrokes.of(["a", "xy"])
    lists = Lists(CompressedRows(np.array([0, 0]), np.zeros(0, np.int64)), np.zeros(0, np.bool_))
    slots = Slots.of(keystrokes, lists)
    probability = take_probabilities(slots, np.ones(1), np.zeros(0), once=True)
    outcomes = session_outcomes(keystrokes, slots, probability, np.zeros(0), keystrokes.length)
    assert outcomes.mean() == {"found": 1.0, "keystrokes": 1.0, "taken": 0.0}
