"""Sensitivity: typing sessions of two policies under other assumptions about propensities, people and acceptance.

The lists stay as they are; what is assumed when they are evaluated changes:

- propensities: power laws with α from 0.5 to 1.5, where p is one; the ends of the intervals of p, where p is an
  estimate; else a given p to the power 0.5 and 1.5;
- people: the kinds of `PEOPLE`;
- acceptance: both ends of the interval of the acceptance model.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import Acceptance
from wayword.completion.list_policy import ListPolicy
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.evaluation.typing_sessions import (
    MODEL,
    PEOPLE,
    Replay,
    Sessions,
    Shown,
    estimate,
    utilities,
)
from wayword.evaluation.verdict import Check, better_of, compare
from wayword.propensity.power_law import power_law
from wayword.utility import VARIANTS, Floats, Measure

ALPHAS = (0.5, 0.75, 1.0, 1.25, 1.5)
POWERS = (0.5, 1.5)
MEANINGS = {
    MODEL: "people who accept as the acceptance model says",
    "own query only": "people who accept only the query they intend",
    "twice as readily": "people who accept other suggestions twice as readily as the model says",
    "everything": "people who accept whatever they read",
}


@dataclass(frozen=True)
class Curve:
    """Propensities that may hold instead of those that are used: `p` of each rank of the table `propensity`."""

    name: str
    group: str
    p: Floats


@dataclass(frozen=True)
class Behaviour:
    """An acceptance model that may hold instead of the one that is used."""

    name: str
    group: str
    acceptance: Acceptance


@dataclass(frozen=True)
class Compared:
    """Two policies in the same typing sessions, and the lists that each shows."""

    policy: str
    other: str
    shown: Mapping[str, Shown]
    mode: str

    @property
    def lists(self) -> dict[str, Shown]:
        """The lists of the two."""
        return {name: self.shown[name] for name in (self.policy, self.other) if name in self.shown}

    def check(
        self,
        name: str,
        group: str,
        sessions: Sessions,
        replays: Mapping[str, Replay],
        config: EvaluationConfig,
    ) -> Check | None:
        """Compare what people do; None if that cannot be estimated."""
        rows, differences = estimate(replays, sessions, config, mode=self.mode, people=MODEL)
        measured = compare(rows, differences, self.policy, self.other)
        if measured is None:
            return None
        return Check(name, better_of(self.policy, self.other, *measured), *measured, group)


def curves(engine: Engine, alpha: float, measure: Measure, source: str = "power") -> list[Curve]:
    """Return the propensities that may hold instead of the table `propensity`; none where û does not depend on p."""
    if VARIANTS[measure.variant].whole:
        return []
    table = engine.arrow("SELECT rank, p, low, high FROM propensity ORDER BY rank")
    rank, p, low, high = (table[name].to_numpy().astype(np.float64) for name in ("rank", "p", "low", "high"))
    if source == "power":
        group = f"α from {ALPHAS[0]:g} to {ALPHAS[-1]:g}"
        return [Curve(f"α = {a:g}", group, power_law(rank, alpha=a)) for a in ALPHAS if a != alpha]
    if (low < high).any():
        group = "both ends of the propensities' intervals"
        ends = {"lower": low, "upper": high}
        return [Curve(f"the {end} end of the propensities' intervals", group, p) for end, p in ends.items()]
    group = f"p to the power {POWERS[0]:g} to {POWERS[-1]:g}"
    return [Curve(f"p to the power {power:g}", group, p**power) for power in POWERS]


def checks(
    engine: Engine,
    compared: Compared,
    sessions: Sessions,
    model: ListPolicy,
    measure: Measure,
    config: EvaluationConfig,
    *,
    propensities: Sequence[Curve],
    behaviours: Sequence[Behaviour] = (),
) -> list[Check]:
    """Compare two policies under each assumption. Needs the numbered log, `rankings` and `propensity`."""
    found = [
        compared.check(
            curve.name, curve.group, own, {n: one.replay(own, model) for n, one in shown.items()}, config
        )
        for curve, own, shown in _with_curves(engine, compared, sessions, measure, propensities)
    ]
    found += [
        compared.check(
            MEANINGS[people],
            "",
            sessions,
            {n: one.replay(sessions, model, people) for n, one in compared.lists.items()},
            config,
        )
        for people in PEOPLE
        if people != MODEL
    ]
    for behaviour in behaviours:
        other = replace(model, acceptance=behaviour.acceptance)
        replays = {
            name: replace(shown, accepted=other.accepted(sessions.intended, shown.slots)).replay(
                sessions, other
            )
            for name, shown in compared.lists.items()
        }
        found.append(compared.check(behaviour.name, behaviour.group, sessions, replays, config))
    return [check for check in found if check is not None]


def _with_curves(
    engine: Engine, compared: Compared, sessions: Sessions, measure: Measure, propensities: Sequence[Curve]
) -> Iterator[tuple[Curve, Sessions, dict[str, Shown]]]:
    """Yield the sessions and the lists with the û of each curve."""
    own = np.arange(len(sessions.search)), sessions.intended
    pairs = {name: (shown.slots.session, shown.slots.suggested) for name, shown in compared.lists.items()}
    session, query = (np.concatenate(part) for part in zip(own, *pairs.values(), strict=True))
    width = int(query.max(initial=0)) + 1
    keys, member = np.unique(session * width + query, return_inverse=True)
    ends = np.cumsum([len(own[0]), *(len(of_list[0]) for of_list in pairs.values())])[:-1]
    for curve in propensities:
        with _propensities(engine, curve.p):
            value = utilities(engine, sessions.search[keys // width], keys % width, measure)[member]
        parts = np.split(value, ends)
        shown = {
            name: replace(one, utility=part)
            for (name, one), part in zip(compared.lists.items(), parts[1:], strict=True)
        }
        yield curve, replace(sessions, own=parts[0]), shown


@contextmanager
def _propensities(engine: Engine, p: NDArray[np.float64]) -> Iterator[None]:
    """Replace the table `propensity` while the block runs."""
    table = engine.arrow("SELECT rank, p, low, high FROM propensity ORDER BY rank")
    value = pa.array(p)
    engine.load("propensity", pa.table({"rank": table["rank"], "p": value, "low": value, "high": value}))
    try:
        yield
    finally:
        engine.load("propensity", table)
