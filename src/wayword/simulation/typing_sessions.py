"""Typing sessions of simulated people, drawn from a world.

A person has an intent: an intended query and relevant documents. They type the query letter by letter; at each text
they see the list of a logging policy and may take a suggestion (`people`, `completion.typing_outcomes`), else they type
on and submit what they intended. On the result page of the issued query they examine one rank (`click_model`) and
click if its document is relevant to *them*: a taken suggestion that does not return what they want gets no click.

Sessions are drawn in chunks of one fixed size, so that fewer lists are the beginning of more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.completion.typing_outcomes import Keystrokes, Lists
from wayword.errors import WaywordError
from wayword.simulation.click_model import draw, examination_probabilities
from wayword.simulation.logging_policy import LoggingPolicy, lists_at, numbers_of
from wayword.simulation.people import People
from wayword.simulation.queries import Queries, ranked_numbers
from wayword.simulation.world import World, find_sorted
from wayword.store.compressed_rows import CompressedRows
from wayword.text import cut_ends

CHUNK = 1 << 13
NOTHING = -1
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Sessions:
    """Parallel arrays of sessions. Without a take, `taken` is -1; without a click, `document` is."""

    kind: Integers
    """Which of the people's laws."""
    intended: Integers
    query: Integers
    """The issued query: the taken suggestion or the intended query."""
    shown: Integers
    """The number of lists shown."""
    taken: Integers
    """The position of the taken suggestion in the last of them, from 0."""
    document: Integers
    rank: Integers

    def first(self, count: int) -> "Sessions":
        """Return the first sessions."""
        return Sessions(*(getattr(self, field.name)[:count] for field in fields(self)))


@dataclass(frozen=True)
class Drawn:
    """Sessions, with the keystrokes of their intended queries and the lists that were shown."""

    sessions: Sessions
    row: Integers
    """The row of `keystrokes` of each session's intended query."""
    keystrokes: Keystrokes
    lists: CompressedRows
    """The suggested queries of each list, best first."""
    list_of_text: Integers
    """The row of `lists` for each text of the keystrokes; -1 if nobody saw it."""

    def first(self, count: int) -> "Drawn":
        """Return the first sessions."""
        return replace(self, sessions=self.sessions.first(count), row=self.row[:count])


@dataclass(frozen=True)
class Typing:
    """People, and the lists that a logging policy shows them while they type in a world."""

    world: World
    people: People
    policy: LoggingPolicy
    k: int = 10
    alpha: float = 1.0

    @property
    def queries(self) -> Queries:
        """The queries, as the people's laws know them."""
        return self.people.laws[0].queries

    @cached_property
    def _numbers(self) -> Integers:
        return numbers_of(self.policy, self.queries.texts)

    def lists(self, texts: Sequence[str]) -> Lists:
        """Return the lists shown at these texts."""
        return lists_at(texts, self.policy, self._numbers, self.queries.texts, self.k)

    def typed(self, queries: Integers) -> tuple[Keystrokes, Lists]:
        """Return the keystrokes of queries (numbers), and the list at each of their texts, for `expected_outcomes`."""
        keystrokes = self._keystrokes(queries)
        return keystrokes, self.lists(keystrokes.texts)

    def _keystrokes(self, queries: Integers) -> Keystrokes:
        return Keystrokes.of([self.queries.texts[number] for number in queries])

    def draw(self, lists_shown: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """Draw sessions, in chunks, up to the one that shows list number `lists_shown`; it is drawn to its end."""
        self._check()
        missing = lists_shown
        while missing > 0:
            drawn = self._chunk(rng)
            ends = np.cumsum(drawn.sessions.shown)
            kept = min(int(np.searchsorted(ends, missing)) + 1, len(ends))
            missing -= int(ends[kept - 1])
            yield drawn.first(kept)

    def _check(self) -> None:
        intended = np.flatnonzero(self.queries.probability)
        if not any(cut_ends(self.queries.texts[number]) for number in intended):
            raise WaywordError("No list can be shown: every query of this world is a single character.")

    def _chunk(self, rng: np.random.Generator) -> Drawn:
        intent = draw(rng, self.world.intents.probability, CHUNK)
        kind = draw(rng, self.people.shares, CHUNK)
        intended = self.world.intents.query[intent]
        queries, row = np.unique(intended, return_inverse=True)
        keystrokes = self._keystrokes(queries)
        steps = np.diff(keystrokes.offsets)[row]
        query, shown, taken = intended.copy(), steps.copy(), np.full(CHUNK, NOTHING)
        parts, list_of_text = [_no_lists()], np.full(len(keystrokes.texts), NOTHING)
        step, typing, declined = 0, np.flatnonzero(steps), np.zeros(0, np.int64)
        while len(typing):  # all sessions that reach this keystroke at once
            text = keystrokes.text[keystrokes.offsets[row[typing]] + step]
            asked, place = np.unique(text, return_inverse=True)
            lists = self.lists([keystrokes.texts[number] for number in asked])
            list_of_text[asked] = sum(map(len, parts)) + np.arange(len(asked))
            parts.append(lists.rows)
            slots = ListSlots.of(lists, place, typing)
            accepts, declined = self._decide(slots, kind, intended, declined, rng)
            slot = np.flatnonzero(accepts)
            session, first = np.unique(slots.session[slot], return_index=True)
            query[session], taken[session] = slots.suggested[slot[first]], slots.position[slot[first]]
            step += 1
            shown[session] = step
            typing = typing[(taken[typing] == NOTHING) & (steps[typing] > step)]
        document, rank = self._clicks(intent, query, rng)
        sessions = Sessions(kind, intended, query, shown, taken, document, rank)
        return Drawn(sessions, row, keystrokes, CompressedRows.concatenate(parts), list_of_text)

    def _decide(
        self,
        slots: "ListSlots",
        kind: Integers,
        intended: Integers,
        declined: Integers,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.bool_], Integers]:
        """Draw whether each slot is read and accepted; return this, and the pairs of session and suggestion declined.

        `declined` are the pairs so far; a pair is a number. Fresh decisions leave none.
        """
        read, accepted = np.zeros(len(slots.session)), np.zeros(len(slots.session))
        for number, law in enumerate(self.people.laws):
            rows = np.flatnonzero(kind[slots.session] == number)
            read[rows] = law.reading(self.k)[slots.position[rows]]
            accepted[rows] = law.acceptance(
                intended[slots.session[rows]], slots.suggested[rows], slots.matches[rows]
            )
        reads, accepts = rng.random(len(read)) < read, rng.random(len(read)) < accepted
        if self.people.once:
            pair = slots.session * len(self.queries.texts) + slots.suggested
            accepts &= ~np.isin(pair, declined)
            declined = np.concatenate([declined, pair[reads & ~accepts]])
        return reads & accepts, declined

    def _clicks(
        self, intent: Integers, query: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Draw the examined rank of each issued query's page; return its document, -1 if not relevant, and the rank."""
        depth, width = self.world.depth, self.world.documents.num_rows
        rank = draw(rng, examination_probabilities(depth, alpha=self.alpha), len(query)) + 1
        places, documents = self._results
        place, returned = find_sorted(places, query * (depth + 1) + rank)
        document = documents[place] if len(documents) else np.zeros(len(query), np.int64)
        _, relevant = find_sorted(self._relevant, intent * width + document)
        return np.where(returned & relevant, document, NOTHING), rank

    @cached_property
    def _results(self) -> tuple[Integers, Integers]:
        """The places (query · (depth + 1) + rank) of all results, ascending, and their documents."""
        query, document = ranked_numbers(self.world)
        place = query * (self.world.depth + 1) + self.world.rankings["rank"].to_numpy()
        order = np.argsort(place)
        return place[order], document[order]

    @cached_property
    def _relevant(self) -> Integers:
        """The pairs of intent and relevant document, as numbers, ascending."""
        intents = self.world.intents
        return np.sort(intents.owner * self.world.documents.num_rows + intents.document)


@dataclass(frozen=True)
class ListSlots:
    """The slots of one list for each of some sessions, by session and position: parallel arrays."""

    session: Integers
    position: Integers
    suggested: Integers
    matches: NDArray[np.bool_]

    @classmethod
    def of(cls, lists: Lists, rows: Integers, sessions: Integers) -> "ListSlots":
        """Collect them: session `sessions[i]` sees list `rows[i]`."""
        every = CompressedRows(lists.rows.offsets, np.arange(len(lists.rows.values)))
        owner, place = every.take(rows)
        position = place - lists.rows.offsets[rows[owner]]
        return cls(sessions[owner], position, lists.rows.values[place], lists.matches[place])


def _no_lists() -> CompressedRows:
    return CompressedRows(np.zeros(1, np.int64), np.zeros(0, np.int64))
