"""Typing sessions of simulated people, drawn from a world.

A person has an intent: an intended query and relevant documents. They type the query letter by letter; at each text
they see the list of a logging policy and may take a suggestion (`people`, `evaluation.typing_outcomes`), else they type
on and submit what they intended. On the result page of the issued query they examine one rank (`click_model`) and
click if its document is relevant to *them*: a taken suggestion that does not return what they want gets no click.

Sessions are drawn in chunks of one fixed size, so that fewer lists are the beginning of more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.evaluation.typing_outcomes import Keystrokes, Lists, Slots
from wayword.numba_jit import compiled
from wayword.simulation.click_model import draw, examination_probabilities
from wayword.simulation.logging_policy import LoggingPolicy, lists_at, numbers_of
from wayword.simulation.people import Law, People
from wayword.simulation.queries import Queries, ranked_numbers
from wayword.simulation.world import World, find_sorted
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
    """Sessions, with the keystrokes of their intended queries and the lists shown at those."""

    sessions: Sessions
    row: Integers
    """The row of `keystrokes` of each session's intended query."""
    keystrokes: Keystrokes
    lists: Lists


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

    def typed(self, queries: Integers) -> tuple[Keystrokes, Lists]:
        """Return the keystrokes of queries (numbers), and the lists shown at each of their texts."""
        texts = self.queries.texts
        keystrokes = Keystrokes.of([texts[number] for number in queries])
        return keystrokes, lists_at(keystrokes.texts, self.policy, self._numbers, texts, self.k)

    def draw(self, lists_shown: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """Draw sessions, in chunks, up to the one that shows list number `lists_shown`; it is drawn to its end."""
        self._check()
        missing = lists_shown
        while missing > 0:
            drawn = self._chunk(rng)
            ends = np.cumsum(drawn.sessions.shown)
            kept = int(np.searchsorted(ends, missing)) + 1
            missing -= int(ends[min(kept, len(ends)) - 1])
            yield Drawn(drawn.sessions.first(kept), drawn.row[:kept], drawn.keystrokes, drawn.lists)

    def _check(self) -> None:
        intended = np.flatnonzero(self.queries.probability)
        if not any(cut_ends(self.queries.texts[number]) for number in intended):
            raise WaywordError("No list can be shown: every query of this world is a single character.")

    def _chunk(self, rng: np.random.Generator) -> Drawn:
        intent = draw(rng, self.world.intents.probability, CHUNK)
        kind = draw(rng, self.people.shares, CHUNK)
        intended = self.world.intents.query[intent]
        queries, row = np.unique(intended, return_inverse=True)
        keystrokes, lists = self.typed(queries)
        query, taken = intended.copy(), np.full(CHUNK, NOTHING)
        shown = np.diff(keystrokes.offsets)[row]
        for number, law in enumerate(self.people.laws):
            of_kind = np.flatnonzero(kind == number)
            slots = Slots.of(keystrokes, lists, row[of_kind])
            slot = take(law, intended[of_kind], slots, self.k, rng)
            took = slot != NOTHING
            rows, slot = of_kind[took], slot[took]
            query[rows], taken[rows] = slots.suggested[slot], slots.position[slot]
            shown[rows] = slots.keystroke[slot] - keystrokes.offsets[row[rows]] + 1
        document, rank = self._clicks(intent, query, rng)
        return Drawn(Sessions(kind, intended, query, shown, taken, document, rank), row, keystrokes, lists)

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


def take(law: Law, intended: Integers, slots: Slots, k: int, rng: np.random.Generator) -> Integers:
    """Draw the slot that each session takes, or -1; `intended` is each session's query."""
    accepted = law.acceptance(intended[slots.session], slots.suggested, slots.continues)
    read = rng.random(len(accepted)) < law.reading(k)[slots.position]
    accepts = rng.random(len(accepted)) < accepted
    count = int(slots.suggested.max(initial=-1)) + 1
    taken: Integers = _first_taken(
        slots.offsets, slots.suggested, read, accepts, np.bool_(law.once), np.int64(count)
    )
    return taken


@compiled
def _first_taken(offsets: Any, suggested: Any, read: Any, accepts: Any, once: Any, count: Any) -> Any:
    taken = np.full(len(offsets) - 1, -1, np.int64)
    declined_by = np.full(count, -1, np.int64)
    for session in range(len(offsets) - 1):
        for slot in range(offsets[session], offsets[session + 1]):
            if not read[slot] or declined_by[suggested[slot]] == session:
                continue
            if accepts[slot]:
                taken[session] = slot
                break
            if once:
                declined_by[suggested[slot]] = session
    return taken
