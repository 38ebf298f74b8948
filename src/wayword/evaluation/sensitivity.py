"""Sensitivity: typing sessions under other assumptions about propensities, people and acceptance.

The lists stay as they are; what is assumed when they are evaluated changes:

- propensities: power laws with α from 0.5 to 1.5, where p is one; the ends of the intervals of p, where p is an
  estimate; else a given p to the power 0.5 and 1.5;
- people: the kinds of `PEOPLE`;
- acceptance: both ends of the 95 % interval of the acceptance model's constant, how readily people take a query that
  they did not intend. It is what differs most between logs, and before any event its interval is wide. A model carries
  its variance in its share of strict people, which decreases with it (`acceptance_fit.Fit.model`).

And, to compare policies by what is typed: lists that are shown at texts of some lengths only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_fit import WITHIN
from wayword.completion.list_policy import ListPolicy
from wayword.completion.typing_outcomes import Slots
from wayword.engines import Engine
from wayword.evaluation.session_outcomes import ACCEPTANCE, OWN_CLICKS, PROPENSITY, TYPED, Assumption
from wayword.evaluation.session_outcomes import PEOPLE as OF_PEOPLE
from wayword.evaluation.typing_sessions import MODEL, PEOPLE, Replay, Sessions, Shown, utilities
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
TYPED_LENGTHS = {
    "1 character": (1, 1),
    "2 to 3 characters": (2, 3),
    "4 to 6 characters": (4, 6),
    "7 or more": (7, 10_000),
}


@dataclass(frozen=True)
class Curve:
    """Propensities that may hold instead of those that are used: `p` of each rank of the table `propensity`."""

    assumption: Assumption
    p: Floats


@dataclass(frozen=True)
class Behaviour:
    """An acceptance model that may hold instead of the one that is used."""

    assumption: Assumption
    acceptance: Acceptance


def curves(engine: Engine, alpha: float, measure: Measure) -> list[Curve]:
    """Return the propensities that may hold instead of the table `propensity`, which may be the power law with `alpha`;
    none where û does not depend on p."""
    if VARIANTS[measure.variant].whole:
        return []
    table = engine.arrow("SELECT rank, p, low, high FROM propensity ORDER BY rank")
    rank, p, low, high = (table[name].to_numpy().astype(np.float64) for name in ("rank", "p", "low", "high"))
    if np.allclose(p, power_law(rank, alpha=alpha), rtol=1e-9):
        group = f"α from {ALPHAS[0]:g} to {ALPHAS[-1]:g}"
        laws = {f"α = {a:g}": power_law(rank, alpha=a) for a in ALPHAS if a != alpha}
    elif (low < high).any():
        group = "both ends of the propensities' intervals"
        laws = {
            f"the {end} end of the propensities' intervals": curve
            for end, curve in {"lower": low, "upper": high}.items()
        }
    else:
        group = f"p to the power {POWERS[0]:g} to {POWERS[-1]:g}"
        laws = {f"p to the power {power:g}": p**power for power in POWERS}
    return [Curve(Assumption(PROPENSITY, name, group), law) for name, law in laws.items()]


def behaviours(model: Acceptance) -> list[Behaviour]:
    """Return the ends of the interval of an acceptance model.

    >>> from wayword.completion.acceptance import PRIOR
    >>> [round(float(one.acceptance.coefficients[0] - PRIOR.coefficients[0]), 2) for one in behaviours(PRIOR)]
    [-3.92, 3.92]
    """
    half = WITHIN * model.uncertain
    if not half > 0:
        return []
    first = np.eye(len(model.coefficients))[0]
    return [
        Behaviour(
            Assumption(
                ACCEPTANCE,
                f"people as {how} as is still plausible",
                "people at both ends of the acceptance model's interval",
            ),
            replace(model, coefficients=model.coefficients + away * first),
        )
        for how, away in {
            "reluctant to accept other suggestions": -half,
            "ready to accept other suggestions": half,
        }.items()
    ]


def assumed(
    engine: Engine,
    shown: Mapping[str, Shown],
    sessions: Sessions,
    model: ListPolicy,
    measure: Measure,
    propensities: Sequence[Curve] = (),
) -> Iterator[tuple[Assumption, Floats, dict[str, Replay]]]:
    """Yield each assumption with û of typing on and what people do with the lists of each policy.

    Needs the numbered log, `rankings` and `propensity`.
    """
    for people in PEOPLE:
        assumption = Assumption() if people == MODEL else Assumption(OF_PEOPLE, MEANINGS[people])
        yield (
            assumption,
            sessions.own,
            {name: one.replay(sessions, model, people) for name, one in shown.items()},
        )
    pairs = _Pairs(sessions, shown)
    ranks = engine.arrow("SELECT rank FROM propensity ORDER BY rank")["rank"]
    other_tables = [(curve.assumption, "propensity", _propensities(curve, ranks)) for curve in propensities]
    for assumption, name, table in [*other_tables, (Assumption(OWN_CLICKS), "represented", _alone(sessions))]:
        with _replaced(engine, name, table):
            own, lists = pairs.with_utility(engine, measure)
        yield assumption, own.own, {policy: one.replay(own, model) for policy, one in lists.items()}
    for behaviour in behaviours(model.acceptance):
        other = replace(model, acceptance=behaviour.acceptance)
        replays = {
            name: replace(one, accepted=other.accepted(sessions.intended, one.slots)).replay(sessions, other)
            for name, one in shown.items()
        }
        yield behaviour.assumption, sessions.own, replays
    for name, lengths in TYPED_LENGTHS.items():
        replays = {
            policy: _typed_within(one, sessions, *lengths).replay(sessions, model)
            for policy, one in shown.items()
        }
        yield Assumption(TYPED, name), sessions.own, replays


def _typed_within(shown: Shown, sessions: Sessions, low: int, high: int) -> Shown:
    """The lists at texts of `low` to `high` characters only."""
    slots = shown.slots
    typed = sessions.keystrokes.typed[slots.keystroke]
    kept = (typed >= low) & (typed <= high)
    counts = np.bincount(slots.session[kept], minlength=len(slots.offsets) - 1)
    within = Slots(
        np.r_[0, np.cumsum(counts)].astype(np.int64),
        slots.keystroke[kept],
        slots.position[kept],
        slots.suggested[kept],
        slots.matches[kept],
    )
    return Shown(within, shown.utility[kept], shown.accepted[kept])


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a search and a query whose û is needed: typing on, and every slot of some lists."""

    sessions: Sessions
    lists: Mapping[str, Shown]

    def with_utility(self, engine: Engine, measure: Measure) -> tuple[Sessions, dict[str, Shown]]:
        """The sessions and the lists with û by the tables as they are now. Each distinct pair is looked up once."""
        own = np.arange(len(self.sessions.search)), self.sessions.intended
        pairs = [own, *((shown.slots.session, shown.slots.suggested) for shown in self.lists.values())]
        session, query = (np.concatenate(part) for part in zip(*pairs, strict=True))
        width = int(query.max(initial=0)) + 1
        keys, member = np.unique(session * width + query, return_inverse=True)
        utility = utilities(engine, self.sessions.search[keys // width], keys % width, measure)[member]
        parts = np.split(utility, np.cumsum([len(of_list) for of_list, _ in pairs])[:-1])
        lists = {
            name: replace(one, utility=part)
            for (name, one), part in zip(self.lists.items(), parts[1:], strict=True)
        }
        return replace(self.sessions, own=parts[0]), lists


@contextmanager
def _replaced(engine: Engine, name: str, table: pa.Table) -> Iterator[None]:
    """Replace a table while the block runs."""
    before = engine.arrow(name)
    engine.load(name, table)
    try:
        yield
    finally:
        engine.load(name, before)


def _propensities(curve: Curve, ranks: pa.ChunkedArray) -> pa.Table:
    p = pa.array(curve.p)
    return pa.table({"rank": ranks, "p": p, "low": p, "high": p})


def _alone(sessions: Sessions) -> pa.Table:
    """The table `represented` where each session stands for its own search only."""
    search = pa.array(sessions.search)
    return pa.table(
        {"session": search, "search": search, "searches": pa.array(np.ones(len(search), np.int64))}
    )
