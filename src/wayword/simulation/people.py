"""Kinds of simulated people: which suggestions they accept and which positions of a list they read.

An acceptance law is a(q | x, q̄), the probability that a person who intends q̄, has typed x and reads the suggestion q
takes it:

    a(q | x, q̄) = 1                                  if q = q̄
                  strength · recognised(q, q̄)        if q continues x
                  elsewhere · strength · recognised   otherwise

and r_j = first · j^−power is the probability that position j is read. The laws are hidden from the product: nothing
that learns imports this file. A name alone means fresh decisions at each keystroke, with `-once` one decision per
suggestion and person (`completion.typing_outcomes` defines both).
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.typing_outcomes import (
    Keystrokes,
    Lists,
    Outcomes,
    Slots,
    session_outcomes,
    take_probabilities,
)
from wayword.errors import WaywordError
from wayword.simulation.queries import Queries

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Recognise = Callable[[Queries, Integers, Integers], Floats]
"""(queries, intended, suggested) → a number from 0 to 1 for each pair."""
ONCE = "-once"


def _served(queries: Queries, intended: Integers, suggested: Integers) -> Floats:
    """How well the suggestion's page serves the person, at most 1. A page that serves nobody is not recognised."""
    return np.where(queries.own[intended] > 0, np.minimum(queries.utility(intended, suggested), 1.0), 0.0)


def _anything(queries: Queries, intended: Integers, suggested: Integers) -> Floats:  # noqa: ARG001
    return np.ones(len(intended))


@dataclass(frozen=True)
class Kind:
    """Parameters of the formulas at the top of the file."""

    recognised: Recognise
    recognised_by: str
    """`recognised` in words."""
    strength: float
    elsewhere: float = 1.0
    first: float = 0.9
    power: float = 0.6

    def reading(self, k: int) -> Floats:
        """Return r_1, …, r_k.

        >>> KINDS["strict"].reading(2).tolist() == [0.9, 0.9 * 2**-0.6]
        True
        """
        positions: Floats = np.arange(1, k + 1, dtype=np.float64)
        probabilities: Floats = self.first * positions**-self.power
        return probabilities


KINDS: dict[str, Kind] = {
    "strict": Kind(Queries.same_spelling, "the same letters but for spaces and accents", 0.9),
    "lenient": Kind(Queries.jaccard, "shared word stems, Jaccard", 0.7),
    "meaning": Kind(_served, "how well the suggestion's result page serves them, at most 1", 0.6),
    "hurried": Kind(Queries.jaccard, "shared word stems, Jaccard", 0.7, elsewhere=0.7, first=0.85, power=1.8),
    "everything": Kind(_anything, "everything", 1.0),
}
MIX = "mix"
SHARES = {"strict": 0.3, "lenient": 0.3, "meaning": 0.15, "hurried": 0.2, "everything": 0.05}
"""The share of each kind in `mix`."""
NAMES = tuple(f"{kind}{rule}" for kind in (*KINDS, MIX) for rule in ("", ONCE))


@dataclass(frozen=True)
class Law:
    """A kind with its decision rule, applied to the queries of a world."""

    name: str
    kind: Kind
    once: bool
    queries: Queries

    def acceptance(self, intended: Integers, suggested: Integers, continues: NDArray[np.bool_]) -> Floats:
        """Return a(q | x, q̄) for parallel arrays: q̄'s number, q's number, whether q begins with the typed text."""
        accepted = self.kind.strength * self.kind.recognised(self.queries, intended, suggested)
        accepted = np.where(continues, accepted, self.kind.elsewhere * accepted)
        return np.where(intended == suggested, 1.0, accepted)

    def reading(self, k: int) -> Floats:
        """Return r_1, …, r_k."""
        return self.kind.reading(k)


@dataclass(frozen=True)
class People:
    """The laws that people follow, and the share of people that follow each."""

    name: str
    laws: tuple[Law, ...]
    shares: Floats

    @classmethod
    def named(cls, name: str, queries: Queries) -> "People":
        """Find people by name, one of `NAMES`."""
        check_people(name)
        base, once = name.removesuffix(ONCE), name.endswith(ONCE)
        shares = SHARES if base == MIX else {base: 1.0}
        laws = tuple(Law(kind, KINDS[kind], once, queries) for kind in shares)
        return cls(name, laws, np.array(list(shares.values())))

    @property
    def once(self) -> bool:
        """Whether people decide once about a suggestion."""
        return self.laws[0].once

    def description(self, k: int) -> dict[str, Any]:
        """The parameters as plain values."""
        return {
            "people": self.name,
            "decision": "once per suggestion and person" if self.once else "fresh at each keystroke",
            "kinds": [
                {
                    "kind": law.name,
                    "share": float(share),
                    "recognised": law.kind.recognised_by,
                    "strength": law.kind.strength,
                    "elsewhere": law.kind.elsewhere,
                    "first": law.kind.first,
                    "power": law.kind.power,
                    "r": law.reading(k).tolist(),
                }
                for law, share in zip(self.laws, self.shares, strict=True)
            ],
        }


def check_people(name: str) -> None:
    """Raise `WaywordError` for an unknown name.

    >>> check_people("lenent")
    Traceback (most recent call last):
    wayword.errors.WaywordError: Unknown people 'lenent'. Did you mean 'lenient'? Known: strict, strict-once, lenient, \
lenient-once, meaning, meaning-once, hurried, hurried-once, everything, everything-once, mix, mix-once.
    """
    if name not in NAMES:
        nearest = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)[0]
        raise WaywordError(f"Unknown people {name!r}. Did you mean {nearest!r}? Known: {', '.join(NAMES)}.")


def expected_outcomes(people: People, intended: Integers, keystrokes: Keystrokes, lists: Lists) -> Outcomes:
    """Return the exact expected outcomes of a session for each intended query (numbers), over all kinds of people.

    `keystrokes` are those of the intended queries, one for each; `lists` are shown at `keystrokes.texts`.
    """
    slots = Slots.of(keystrokes, lists)
    meant = intended[slots.session]
    utility = people.laws[0].queries.utility(meant, slots.suggested)
    k = int(slots.position.max(initial=0)) + 1
    probability = np.zeros(len(meant))
    for law, share in zip(people.laws, people.shares, strict=True):
        accepted = law.acceptance(meant, slots.suggested, slots.matches)
        probability += share * take_probabilities(slots, law.reading(k), accepted, once=law.once)
    return session_outcomes(keystrokes, slots, probability, utility, keystrokes.length)
