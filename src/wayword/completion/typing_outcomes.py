"""Typing sessions: a query is typed letter by letter, a list is shown at each text, a suggestion may be taken.

A *slot* is one suggestion at one position of one list of one session. Positions are read independently, position j
with probability r_j, and a suggestion that is read is accepted with probability a. The first slot that is read and
accepted, in the order of keystrokes and positions, is taken and ends the session. Two decision rules:

- fresh: a new decision each time a suggestion is read, P(take slot | nothing taken before) = r · a;
- once: one decision per suggestion and session, at its first reading; a declined suggestion stays declined. Whether a
  slot is read is always drawn anew.

From the probability of taking each slot follow, exactly and without drawing,

    found  = Σ P(taken) · u + P(nothing taken)        u: utility of the taken suggestion, 1 = typing on
    typed  = Σ P(taken) · characters typed + P(nothing taken) · characters of the query
    taken  = Σ P(taken)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.numba_jit import compiled
from wayword.store.compressed_rows import CompressedRows
from wayword.text import cut_ends, grapheme_count

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Keystrokes:
    """The texts at which a list is shown on the way to each of some queries, shortest first.

    They are the query's cuts (`text.cuts`): a typed space does not change a normalised text, so no new list is shown,
    and at the whole query the search is submitted.

    >>> keystrokes = Keystrokes.of(["tv s", "tx"])
    >>> [keystrokes.texts[number] for number in keystrokes.text], keystrokes.offsets.tolist()
    (['t', 'tv', 't'], [0, 2, 3])
    """

    texts: list[str]
    """The distinct texts."""
    offsets: Integers
    """Keystrokes `offsets[i]` to `offsets[i + 1]` - 1 are those of query i."""
    text: Integers
    """For each keystroke the number of its text in `texts`."""
    typed: Integers
    """For each keystroke the characters (graphemes) typed so far, spaces included."""
    length: Integers
    """For each query its characters (graphemes)."""

    @classmethod
    def of(cls, queries: Sequence[str]) -> "Keystrokes":
        """Cut normalised queries."""
        ends = [cut_ends(query) for query in queries]
        prefixes = [query[:end] for query, of_query in zip(queries, ends, strict=True) for end in of_query]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(prefixes))}
        lengths = np.fromiter(map(len, ends), np.int64, len(ends))
        return cls(
            texts=list(numbers),
            offsets=np.r_[0, np.cumsum(lengths)].astype(np.int64),
            text=np.fromiter((numbers[text] for text in prefixes), np.int64, len(prefixes)),
            typed=np.fromiter(map(grapheme_count, prefixes), np.int64, len(prefixes)),
            length=np.fromiter(map(grapheme_count, queries), np.int64, len(queries)),
        )


@dataclass(frozen=True)
class Lists:
    """The list shown at each of some texts: `rows` are the suggested queries' numbers, best first."""

    rows: CompressedRows
    matches: NDArray[np.bool_]
    """For each suggestion whether people see the text in it: for simulated people it begins with the text, for the
    acceptance model it has the typed words."""


@dataclass(frozen=True)
class Slots:
    """The slots of sessions, by session, keystroke and position: parallel arrays.

    >>> keystrokes = Keystrokes.of(["ab", "abc"])  # lists at "a", and at "a" and "ab"
    >>> lists = Lists(CompressedRows(np.array([0, 2, 3]), np.array([7, 8, 9])), np.ones(3, bool))
    >>> slots = Slots.of(keystrokes, lists)
    >>> slots.offsets.tolist(), slots.suggested.tolist(), slots.position.tolist(), slots.keystroke.tolist()
    ([0, 2, 5], [7, 8, 7, 8, 9], [0, 1, 0, 1, 0], [0, 0, 1, 1, 2])
    """

    offsets: Integers
    """Slots `offsets[i]` to `offsets[i + 1]` - 1 are those of session i."""
    keystroke: Integers
    """The keystroke of `Keystrokes` that showed the list."""
    position: Integers
    """The position in the list, from 0."""
    suggested: Integers
    """The number of the suggested query."""
    matches: NDArray[np.bool_]
    """See `Lists.matches`."""

    @classmethod
    def of(cls, keystrokes: Keystrokes, lists: Lists, queries: Integers | None = None) -> "Slots":
        """Collect the slots of sessions that type these queries of `keystrokes`; by default a session for each."""
        queries = np.arange(len(keystrokes.length)) if queries is None else queries
        every = CompressedRows(keystrokes.offsets, np.arange(len(keystrokes.text)))
        session, keystroke = every.take(queries)
        shown = CompressedRows(lists.rows.offsets, np.arange(len(lists.rows.values)))
        owner, place = shown.take(keystrokes.text[keystroke])
        text = keystrokes.text[keystroke[owner]]
        counts = np.bincount(session[owner], minlength=len(queries))
        return cls(
            offsets=np.r_[0, np.cumsum(counts)].astype(np.int64),
            keystroke=keystroke[owner].astype(np.int64),
            position=(place - lists.rows.offsets[text]).astype(np.int64),
            suggested=lists.rows.values[place].astype(np.int64),
            matches=lists.matches[place],
        )

    @property
    def session(self) -> Integers:
        """The session of each slot."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def sums(self, values: Floats) -> Floats:
        """Sum a value of each slot over the slots of each session."""
        return np.bincount(self.session, values, minlength=len(self.offsets) - 1).astype(np.float64)


def take_probabilities(slots: Slots, reading: Floats, acceptance: Floats, *, once: bool) -> Floats:
    """Return the probability that each slot is taken: `reading` is r by position, `acceptance` is a by slot.

    With one decision per suggestion (`once`), each suggestion q is an independent process: it is accepted at the slot
    where it is first read, or never. So the hazard of a slot, given that nothing was taken before, is

        r · a · P(q unread so far) / (1 − P(q accepted so far)).

    >>> slots = Slots(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), np.array([5, 5]), np.ones(2, bool))
    >>> reading, acceptance = np.array([0.5]), np.array([0.4, 0.4])
    >>> take_probabilities(slots, reading, acceptance, once=False).tolist() == [0.5 * 0.4, (1 - 0.5 * 0.4) * 0.5 * 0.4]
    True
    >>> take_probabilities(slots, reading, acceptance, once=True).tolist() == [0.5 * 0.4, (1 - 0.5) * 0.5 * 0.4]
    True
    """
    count = int(slots.suggested.max(initial=-1)) + 1
    read = reading[slots.position]
    probability: Floats = _take_probabilities(
        slots.offsets, slots.suggested, read, acceptance.astype(np.float64), np.bool_(once), np.int64(count)
    )
    return probability


@compiled
def _take_probabilities(
    offsets: Any, suggested: Any, read: Any, acceptance: Any, once: Any, count: Any
) -> Any:
    taken = np.zeros(len(suggested))
    seen_by = np.full(count, -1, np.int64)
    unread, accepted = np.zeros(count), np.zeros(count)
    for session in range(len(offsets) - 1):
        nothing = 1.0  # the probability that nothing was taken yet
        for slot in range(offsets[session], offsets[session + 1]):
            hazard = read[slot] * acceptance[slot]
            if once:
                query = suggested[slot]
                if seen_by[query] != session:
                    seen_by[query], unread[query], accepted[query] = session, 1.0, 0.0
                now = hazard * unread[query]
                left = 1.0 - accepted[query]
                hazard = min(now / left, 1.0) if left > 0.0 else 0.0
                accepted[query] += now
                unread[query] *= 1.0 - read[slot]
            taken[slot] = nothing * hazard
            nothing *= 1.0 - hazard
    return taken


@dataclass(frozen=True)
class Outcomes:
    """Expected outcomes of each session; see the top of the file."""

    found: Floats
    typed: Floats
    taken: Floats
    length: Integers

    def mean(self, weights: Floats | None = None) -> dict[str, float]:
        """Average over sessions: found, taken; keystrokes is Σ typed / Σ length.

        >>> two = Outcomes(np.array([0.5, 1.0]), np.array([1.0, 4.0]), np.array([1.0, 0.0]), np.array([4, 4]))
        >>> two.mean(np.array([3.0, 1.0]))
        {'found': 0.625, 'keystrokes': 0.4375, 'taken': 0.75}
        """
        weights = np.ones(len(self.found)) if weights is None else weights
        return {
            "found": float(weights @ self.found / weights.sum()),
            "keystrokes": float(weights @ self.typed / (weights @ self.length)),
            "taken": float(weights @ self.taken / weights.sum()),
        }


def session_outcomes(
    keystrokes: Keystrokes, slots: Slots, probability: Floats, utility: Floats, length: Integers
) -> Outcomes:
    """Expected outcomes from the probability of taking each slot and its utility (1 = typing on).

    `length` is the number of characters of each session's query.
    """
    taken = slots.sums(probability)
    found = slots.sums(probability * utility)
    typed = slots.sums(probability * keystrokes.typed[slots.keystroke])
    return Outcomes(found + 1 - taken, typed + (1 - taken) * length, taken, length)
