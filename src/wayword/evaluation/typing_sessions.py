"""Typing sessions: test searches typed again letter by letter, with a policy's list shown at each text.

    found       what people find, relative to typing on:
                Σ_s (Σ_slots P(taken) û(s, q) + P(nothing taken) û(s, q̄)) / Σ_s û(s, q̄)
    keystrokes  characters typed, relative to typing all
    taken       share of searches in which a suggestion is taken

Which suggestions people read and accept is assumed: by default as the acceptance model says. `PEOPLE` names other
assumptions, under which a conclusion should hold as well.

Only some test searches are typed again, since a list is needed for each text. But what is found depends on the clicks
of a search and its query alone, so each session stands for its share of *all* test searches of its query, with and
without a click: û(s, q) is the mean of theirs. They are dealt to the sessions of the query, so that sessions stay
independent. This is IPS with a control variate, û(s, q) minus that mean, whose expectation is 0 because sessions are
drawn by md5, whatever was clicked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample, widened
from wayword.completion.keystroke_value import lists_shown
from wayword.completion.list_policy import ListPolicy
from wayword.completion.list_value import SHOWN
from wayword.completion.policies import Policy
from wayword.completion.survival import with_survival
from wayword.completion.typing_outcomes import Keystrokes, Lists, Slots, take_probabilities
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.evaluation.diagnostics import effective_n, largest_weight, pareto_k
from wayword.evaluation.estimates import CONTROL_VARIATE, IPS
from wayword.logs.contexts import PREFIX
from wayword.utility import Floats, Measure, of_searches

FOUND, KEYSTROKES, TAKEN = METRICS = ("found", "keystrokes", "taken")
MODEL = "model"
PEOPLE: dict[str, Callable[[Floats], Floats]] = {
    MODEL: lambda accepted: accepted,
    "own query only": lambda accepted: np.zeros(len(accepted)),
    "twice as readily": lambda accepted: np.minimum(2 * accepted, 1.0),
    "everything": lambda accepted: np.ones(len(accepted)),
}
"""Assumptions about people: the model's acceptance of suggestions → theirs. All accept their own query."""
VALUES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Keystroke values of the curve."""


_KEYS = [("policy", pa.string()), ("metric", pa.string()), ("k", pa.int32())]
_VALUES = [(name, pa.float64()) for name in ("value", "low", "high")]
_ASSUMED = [("mode", pa.string()), ("people", pa.string())]
_ESTIMATOR = [("estimator", pa.string())]
_SESSIONS = pa.schema([*_KEYS, *_VALUES, ("n", pa.int64()), *_ASSUMED, *_ESTIMATOR])
_DIFFERENCES = pa.schema([*_KEYS, ("other", pa.string()), *_VALUES, *_ASSUMED, *_ESTIMATOR])
_CURVE = pa.schema([(name, pa.float64()) for name in ("keystroke_value", FOUND, KEYSTROKES)])
Row = dict[str, Any]


@dataclass(frozen=True)
class Replayed:
    """Rows of estimates, of paired differences and of the curve of keystroke values."""

    estimates: list[Row]
    differences: list[Row]
    curve: list[Row]

    def write(self, folder: Path) -> None:
        """Write the tables `sessions`, `session_differences` and `curve`."""
        schemas = {"sessions": _SESSIONS, "session_differences": _DIFFERENCES, "curve": _CURVE}
        for (name, schema), rows in zip(
            schemas.items(), (self.estimates, self.differences, self.curve), strict=True
        ):
            pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{name}.parquet")


@dataclass(frozen=True)
class Sessions:
    """Test searches that are typed again: their numbers, the intended queries and û(s, q̄)."""

    search: NDArray[np.int64]
    intended: NDArray[np.int64]
    own: Floats
    keystrokes: Keystrokes
    contexts: pa.Table
    """The typed texts, with no value in the log's context columns."""
    estimator: str = IPS
    """The estimator of found: a control variate if sessions stand for several searches."""

    @classmethod
    def read(
        cls, engine: Engine, texts: Sequence[str], schema: pa.Schema, measure: Measure, most: int
    ) -> "Sessions":
        """Choose at most `most` test searches by md5. Needs the numbered log, `rankings` and `propensity`."""
        engine.number(
            "sessions",
            f"""SELECT search, query FROM numbered_searches
                WHERE split = 'test' AND query IN (SELECT query FROM rankings)
                ORDER BY md5(search_id), search LIMIT {int(most)}""",
            "place",
            "search",
        )
        engine.step(
            "represented",
            """SELECT c.search AS session, a.search, count(*) OVER (PARTITION BY c.search) AS searches
               FROM (SELECT search, query,
                            row_number() OVER (PARTITION BY query ORDER BY md5(search_id), search) - 1 AS turn
                     FROM numbered_searches WHERE split = 'test') AS a
               JOIN (SELECT s.search, s.query, count(*) OVER (PARTITION BY s.query) AS turns,
                            row_number() OVER (PARTITION BY s.query ORDER BY md5(n.search_id), s.search) - 1 AS turn
                     FROM sessions AS s JOIN numbered_searches AS n ON n.search = s.search) AS c
                 ON c.query = a.query AND c.turn = a.turn % c.turns""",
        )
        rows = engine.arrow("SELECT search, query FROM sessions ORDER BY place")
        search, intended = (rows[name].to_numpy().astype(np.int64) for name in ("search", "query"))
        keystrokes = Keystrokes.of([texts[query] for query in intended.tolist()])
        typed = pa.array(keystrokes.texts, pa.string())
        columns = {
            field.name: typed if field.name == PREFIX else pa.nulls(len(typed), field.type)
            for field in schema
        }
        own = utilities(engine, search, intended, measure)
        stands_for = engine.arrow("SELECT count(*) AS n FROM represented")["n"][0].as_py()
        estimator = CONTROL_VARIATE if stands_for > len(search) else IPS
        return cls(search, intended, own, keystrokes, pa.table(columns), estimator)


def utilities(
    engine: Engine, search: NDArray[np.int64], query: NDArray[np.int64], measure: Measure
) -> Floats:
    """Return û(s, q) of pairs of sessions and queries: the mean over the searches that the session stands for."""
    pairs = pa.table({"place": np.arange(len(search)), "session": search, "query": query})
    engine.load("session_pairs", pairs)
    engine.step(
        "represented_pairs",
        """SELECT DISTINCT r.search, p.query FROM session_pairs AS p JOIN represented AS r ON r.session = p.session
           WHERE r.search IN (SELECT search FROM numbered_clicks)""",
    )
    of_searches(engine, "session_utility", "represented_pairs", measure)
    rows = engine.arrow(
        f"""SELECT p.place, {engine.ordered_sum("u.utility", "u.search")} / max(r.searches) AS utility
            FROM session_pairs AS p JOIN represented AS r ON r.session = p.session
            JOIN session_utility AS u ON u.search = r.search AND u.query = p.query GROUP BY p.place"""
    )
    utility = np.zeros(len(search))
    utility[rows["place"].to_numpy()] = rows["utility"].to_numpy()
    return utility


@dataclass(frozen=True)
class Replay:
    """Expected outcomes of each session: what is found (in û), characters typed, whether something is taken."""

    found: Floats
    typed: Floats
    taken: Floats


@dataclass(frozen=True)
class Shown:
    """The lists of a policy in all sessions, with û and the model's acceptance of each suggestion."""

    slots: Slots
    utility: Floats
    accepted: Floats

    @classmethod
    def of(
        cls,
        engine: Engine,
        sessions: Sessions,
        policy: Policy,
        model: ListPolicy,
        measure: Measure,
        mode: str,
    ) -> "Shown":
        """Ask the policy for all texts."""
        candidates = policy.complete(sessions.contexts, SHOWN, mode=mode).top(SHOWN)
        lists: Lists = lists_shown(candidates, sessions.keystrokes.texts, model)
        slots = Slots.of(sessions.keystrokes, lists)
        session = slots.session
        width = int(slots.suggested.max(initial=0)) + 1
        keys, member = np.unique(session * width + slots.suggested, return_inverse=True)
        utility = utilities(engine, sessions.search[keys // width], keys % width, measure)[member]
        return cls(slots, utility, model.accepted(sessions.intended, slots))

    def replay(self, sessions: Sessions, model: ListPolicy, people: str = MODEL) -> Replay:
        """Return the expected outcomes for people of a kind."""
        slots = self.slots
        session = slots.session
        own = slots.suggested == sessions.intended[session]
        accepted = np.where(own, 1.0, PEOPLE[people](self.accepted))
        reading = model.acceptance.reading_at(SHOWN)
        probability = take_probabilities(slots, reading, accepted, once=False)
        taken = slots.sums(probability)
        length = sessions.keystrokes.length
        typed = slots.sums(probability * sessions.keystrokes.typed[slots.keystroke])
        return Replay(
            slots.sums(probability * self.utility) + (1 - taken) * sessions.own,
            typed + (1 - taken) * length,
            taken,
        )


def estimate(
    replays: Mapping[str, Replay], sessions: Sessions, config: EvaluationConfig, *, mode: str, people: str
) -> tuple[list[Row], list[Row]]:
    """Return rows of estimates (policy, metric, value, …) and of paired differences (policy − other)."""
    names = list(replays)
    ones = np.ones(len(sessions.search))
    parts = {
        FOUND: ([replay.found for replay in replays.values()], sessions.own),
        KEYSTROKES: (
            [replay.typed for replay in replays.values()],
            sessions.keystrokes.length.astype(np.float64),
        ),
        TAKEN: ([replay.taken for replay in replays.values()], ones),
    }
    estimates: list[Row] = []
    differences: list[Row] = []
    for metric, (values, own) in parts.items():
        total = float(own.sum())
        if not total > 0 or not names:
            continue
        columns = np.column_stack(values)
        replicates = resample(columns, own, config)
        means = columns.sum(axis=0) / total
        residuals = columns - means * own[:, None]
        low, high = widened(*interval(replicates, config.level), means, residuals, config.level)
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0 if metric == TAKEN else np.inf)
        estimator = sessions.estimator if metric == FOUND else IPS
        shared = {"metric": metric, "k": SHOWN, "mode": mode, "people": people, "estimator": estimator}
        reliable = _diagnostics(columns, residuals, own) if metric == FOUND else [{} for _ in names]
        estimates += [
            {"policy": name, "value": v, "low": a, "high": b, "n": len(own), **shared, **each}
            for name, v, a, b, each in zip(
                names, means.tolist(), low.tolist(), high.tolist(), reliable, strict=True
            )
        ]
        for i, name in enumerate(names):
            below, above = widened(
                *interval(replicates[:, [i]] - replicates, config.level),
                means[i] - means,
                residuals[:, [i]] - residuals,
                config.level,
            )
            differences += [
                {
                    "policy": name,
                    "other": other,
                    "value": float(means[i] - means[j]),
                    "low": float(below[j]),
                    "high": float(above[j]),
                    **shared,
                }
                for j, other in enumerate(names)
                if i != j
            ]
    return estimates, differences


def _diagnostics(columns: Floats, residuals: Floats, own: Floats) -> list[Row]:
    """Of each policy: whether few searches decide what is found (see `diagnostics`)."""
    errors = np.sqrt((residuals**2).sum(axis=0)) / own.sum()
    each = zip(effective_n(columns), columns.T, largest_weight(columns, own), errors, strict=True)
    return [
        {
            "effective_n": float(size),
            "pareto_k": pareto_k(values),
            "largest_weight": float(largest),
            "standard_error": float(error),
        }
        for size, values, largest, error in each
    ]


def curve(
    engine: Engine,
    sessions: Sessions,
    model: ListPolicy,
    measure: Measure,
    mode: str,
    policy_of: Callable[[float, Sequence[str]], Policy | None] | None = None,
) -> list[Row]:
    """Return found and keystrokes of the policy `wayword` for a range of keystroke values.

    `policy_of` makes the policy for a value and the queries that are typed, if there is one; otherwise it is the model.
    """
    points = []
    texts = [model.retriever.texts[query] for query in np.unique(sessions.intended).tolist()]
    length = float(sessions.keystrokes.length.sum())
    remembering = model.remembering()
    for value in VALUES:
        policy = policy_of(value, texts) if policy_of else None
        policy = policy or with_survival(replace(remembering, keystroke_value=value), texts)
        replay = Shown.of(engine, sessions, policy, model, measure, mode).replay(sessions, model)
        points.append(
            {
                "keystroke_value": value,
                FOUND: float(replay.found.sum() / max(sessions.own.sum(), 1e-300)),
                KEYSTROKES: float(replay.typed.sum() / max(length, 1e-300)),
            }
        )
    return points
