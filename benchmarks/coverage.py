"""How often intervals cover: prints the tables of docs/estimates.md.

    python benchmarks/coverage.py arms                         1,000 A/A tests that are looked at daily
    python benchmarks/coverage.py utility WORKSPACE [REPEATS]   Utility@k: the policy fixed, searches drawn again
    python benchmarks/coverage.py found WORKSPACE [REPEATS]     the same for typing sessions

The population are the test searches of a workspace, e.g. of `wayword simulate packages --clicks 60000`. The truth is
their mean, over all cuts of their queries for Utility@k. Searches are drawn from them with replacement, prefixes anew.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import Workspace
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.completion.typing_outcomes import Keystrokes
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation import control_variate, typing_sessions
from wayword.evaluation.estimates import CONTROL_VARIATE, ESTIMATORS, IPS, estimate
from wayword.evaluation.outcomes import Outcomes
from wayword.evaluation.stage import load_policies
from wayword.evaluation.typing_sessions import FOUND, METRICS, MODEL, Replay, Sessions, Shown
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.logs.prefixes import table_of_cuts
from wayword.logs.ubi import anytime
from wayword.propensity.exposure import exposure
from wayword.request import ANY
from wayword.store.stage import Folders
from wayword.utility import DEEPEST, Measure, utility_at

LEVEL = 0.95
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Visits:
    """What people of an A/A test did, by day and user: lists shown, picks, searches and clicks."""

    shown: Floats
    picked: Floats
    """Each pick begins a search."""
    clicks: Floats
    arm: NDArray[np.bool_]

    @classmethod
    def draw(cls, users: int, days: int, rng: np.random.Generator) -> "Visits":
        """Users arrive over the days and come back; some come often, and their habits differ."""
        first = rng.integers(0, days, users)
        often = rng.lognormal(-2.0, 1.2, users)
        here = np.arange(days)[:, None] >= first
        visits = rng.poisson(np.where(here, often, 0.0)) + (np.arange(days)[:, None] == first)
        picking, clicking = rng.beta(1, 6, users), rng.gamma(1.0, 0.6, users)
        searches = rng.binomial(6 * visits, picking)
        counts = (6 * visits, searches, rng.poisson(clicking * searches))
        shown, picked, clicks = (np.cumsum(each, axis=0, dtype=np.float64) for each in counts)
        return cls(shown, picked, clicks, rng.random(users) < 0.5)


def false_alarms(tests: int, users: int, days: int, seed: int) -> dict[str, dict[str, float]]:
    """Share of A/A tests that some day's interval calls a difference, by measure, and with daily 95 % intervals."""
    rng = np.random.default_rng(seed)
    found = {
        measure: {"anytime": 0, "fixed": 0, "fixed, last day only": 0}
        for measure in ("share picked", "clicks per search")
    }
    for _ in range(tests):
        visits = Visits.draw(users, days, rng)
        parts = {
            "share picked": (visits.picked, visits.shown),
            "clicks per search": (visits.clicks, visits.picked),
        }
        for measure, (top, bottom) in parts.items():
            looks = np.array([look(top[day], bottom[day], visits.arm) for day in range(days)])
            found[measure]["anytime"] += bool(looks[:, 0].any())
            found[measure]["fixed"] += bool(looks[:, 1].any())
            found[measure]["fixed, last day only"] += bool(looks[-1, 1])
    return {measure: {name: n / tests for name, n in counts.items()} for measure, counts in found.items()}


def look(top: Floats, bottom: Floats, arm: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Whether the anytime-valid and the usual interval exclude 0 today."""
    first, second = (top * ~arm, bottom * ~arm), (top * arm, bottom * arm)
    if not (first[1].any() and second[1].any()):
        return False, False
    always = anytime.difference(first, second, LEVEL)
    value = second[0].sum() / second[1].sum() - first[0].sum() / first[1].sum()
    error = np.sqrt(((anytime.linearised(*second) - anytime.linearised(*first)) ** 2).sum())
    return always is not None and not always[0] <= 0 <= always[1], bool(abs(value) > 1.96 * error)


def print_arms() -> None:
    """Print the share of A/A tests with a false alarm, for tests of several sizes."""
    print(
        "| users | days | measure | anytime-valid | 95 % interval, looked at daily | the same, on the last day |"
    )
    print("|---|---|---|---|---|---|")
    for users, days in ((300, 60), (3000, 60), (20_000, 30)):
        rates = false_alarms(1000, users, days, seed=users)
        for measure, rate in rates.items():
            cells = " | ".join(f"{100 * share:.1f} %" for share in rate.values())
            print(f"| {users:,} | {days} | {measure} | {cells} |", flush=True)


@contextmanager
def tables_of(workspace: Workspace) -> Iterator[tuple[Engine, Folders]]:
    """An engine with the numbered log of a workspace, and the folders of its stages."""
    stages = ("rankings", "propensity", "contexts", "demand", "completion")
    at = {name: workspace.folder(name) for name in stages}
    with tempfile.TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
        fetch_numbered(engine, at)
        yield engine, at


@dataclass(frozen=True)
class Population:
    """Clicks of test searches with every cut of their queries; a click counts as a search."""

    own: Floats
    starts: Integers
    """Cuts `starts[s]` to `starts[s + 1]` - 1 of the rows below are those of search s."""
    utility: dict[str, Floats]
    """By policy, cuts × positions."""
    centred: Floats

    @classmethod
    def of(cls, workspace: Workspace) -> "Population":
        """Ask the policies for every cut."""
        with tables_of(workspace) as (engine, at):
            clicks = engine.arrow(
                """SELECT s.text, s.query, c.document, c.weight / p.p AS weight FROM numbered_clicks AS c
                   JOIN numbered_searches AS s ON s.search = c.search AND s.split = 'test'
                   JOIN propensity AS p ON p.rank = c.rank WHERE s.search IN (SELECT search FROM instances)
                   ORDER BY s.search, c.document"""
            )
            policies = load_policies(at, workspace.config, threads=2)
            texts = clicks["text"].to_pylist()
            cuts = table_of_cuts(sorted(set(texts)), workspace.config.prefixes)
            features = control_variate.of_cuts(engine, cuts)
            queries, documents = (
                int(engine.arrow(f"SELECT count(*) AS n FROM {name}")["n"][0].as_py())
                for name in ("queries", "documents")
            )
            law = engine.arrow("SELECT rank, p FROM propensity ORDER BY rank")
            exposures = exposure(engine.arrow("rankings"), law, (queries, documents)).tocsr()
        of_text: dict[str, list[int]] = {}
        for row, text in enumerate(cuts["text"].to_pylist()):
            of_text.setdefault(text, []).append(row)
        counts = np.array([len(of_text[text]) for text in texts])
        cut = np.concatenate([of_text[text] for text in texts])
        document, weight = clicks["document"].to_numpy(), clicks["weight"].to_numpy()
        prefixes = sorted(set(cuts["prefix"].to_pylist()))
        number = {prefix: n for n, prefix in enumerate(prefixes)}
        row = np.array([number[prefix] for prefix in cuts["prefix"].to_pylist()])[cut]
        clicked, weights = np.repeat(document, counts), np.repeat(weight, counts)
        utility = {}
        for name, policy in policies.items():
            listed = positions(
                policy.complete(pa.table({PREFIX: prefixes}), DEEPEST, mode=ANY), len(prefixes)
            )[row]
            seen = np.asarray(exposures[np.maximum(listed, 0).ravel(), np.repeat(clicked, DEEPEST)]).ravel()
            utility[name] = seen.reshape(listed.shape) * (listed >= 0) * weights[:, None]
        own = np.asarray(exposures[clicks["query"].to_numpy(), document]).ravel() * weight
        return cls(own, np.r_[0, np.cumsum(counts)], utility, features[cut])

    def truth(self, k: int) -> dict[str, float]:
        """Utility@k over all searches and cuts."""
        return {name: float(self._means(name, k).sum() / self.own.sum()) for name in self.utility}

    def explained(self, name: str, k: int) -> float:
        """The share of the variance of a search's residual that is due to where its query is cut."""
        value, counts = utility_at(self.utility[name], k), np.diff(self.starts)
        own = np.repeat(self.own, counts)
        residual = value - self.truth(k)[name] * own
        mean = np.add.reduceat(residual, self.starts[:-1]) / counts
        square = np.add.reduceat(residual**2, self.starts[:-1]) / counts
        return float((square - mean**2).mean() / square.mean())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Outcomes, Floats]:
        """Outcomes of n searches, with the deviations of their cuts."""
        search = rng.integers(0, len(self.own), n)
        row = self.starts[search] + np.floor(rng.random(n) * np.diff(self.starts)[search]).astype(np.int64)
        lists = {name: utility[row] for name, utility in self.utility.items()}
        return Outcomes(self.own[search], lists, {}), self.centred[row]

    def _means(self, name: str, k: int) -> Floats:
        value = utility_at(self.utility[name], k)
        return np.asarray(np.add.reduceat(value, self.starts[:-1]) / np.diff(self.starts))


def positions(lists: Candidates, contexts: int) -> NDArray[np.int64]:
    """The listed query of each context and position, -1 where the list is shorter."""
    lists = lists.top(DEEPEST)
    table = np.full((contexts, DEEPEST), -1)
    table[lists.context, lists.position()] = lists.query
    return table


@dataclass
class Tally:
    """Estimates of one quantity over the repeats."""

    truth: float
    values: list[float]
    covered: list[bool]

    def add(self, value: float, low: float, high: float) -> None:
        """Add a repeat; a rounding error is no miss."""
        self.values.append(value)
        self.covered.append(low - 1e-12 <= self.truth <= high + 1e-12)

    @property
    def coverage(self) -> float:
        """Share of intervals that hold the truth."""
        return float(np.mean(self.covered))


def line(what: str, context: str, by_estimator: dict[str, Tally]) -> str:
    """A row of the table: coverages, the ratio of variances, and the bias in standard errors of one estimate."""
    ips, better = (by_estimator[name] for name in (IPS, CONTROL_VARIATE))
    spread = float(np.std(better.values))
    ratio = spread**2 / max(float(np.var(ips.values)), 1e-300)
    bias = (float(np.mean(better.values)) - better.truth) / max(spread, 1e-300)
    return (
        f"| {what} | {100 * ips.coverage:.1f} % | {100 * better.coverage:.1f} % | {context} | {ratio:.2f} "
        f"| {bias:+.2f} |"
    )


HEADER = """| searches | what | IPS covers | control variate covers | explained | variance ratio | bias |
|---|---|---|---|---|---|---|"""


def print_utility(workspace: Workspace, repeats: int) -> None:
    """Print the coverage of Utility@k and of paired differences."""
    population = Population.of(workspace)
    print(HEADER)
    for n in (150, 1000, 4000):
        rng = np.random.default_rng(n)
        found: dict[tuple[str, str, int], dict[str, Tally]] = {}
        for _ in range(repeats):
            outcome, centred = population.draw(n, rng)
            for table in estimate(
                outcome, EvaluationConfig(seed=int(rng.integers(1 << 30))), centred=centred
            ):
                for row in table.to_pylist():
                    key = row["policy"], row.get("other", ""), row["k"]
                    truth = population.truth(row["k"]) if key not in found else {}
                    value = truth.get(key[0], 0.0) - truth.get(key[1], 0.0)
                    by = found.setdefault(key, {name: Tally(value, [], []) for name in ESTIMATORS})
                    by[row["estimator"]].add(row["value"], row["low"], row["high"])
        for (name, other, k), by in found.items():
            if other > name or k == 10:
                continue  # the other way round it is the same; 10 is like 5
            what = f"Utility@{k} of {name}" + (f" − {other}" if other else "")
            explained = "" if other else f"{100 * population.explained(name, k):.0f} %"
            print(line(f"{n:,} | {what}", explained, by), flush=True)


@dataclass(frozen=True)
class Typed:
    """What is found and typed in each test search, by policy, if it is typed again."""

    query: Integers
    own: Floats
    length: Integers
    replays: dict[str, Replay]

    @classmethod
    def of(cls, workspace: Workspace) -> "Typed":
        """Type all test searches."""
        with tables_of(workspace) as (engine, at):
            policies = load_policies(at, workspace.config, threads=2)
            model = policies["wayword"]
            assert isinstance(model, ListPolicy)
            schema = contexts_stage.load(at["contexts"]).schema
            sessions = Sessions.read(engine, model.retriever.texts, schema, Measure(), 10**9)
            replays = {
                name: Shown.of(engine, sessions, policy, model, Measure(), ANY).replay(sessions, model)
                for name, policy in policies.items()
            }
        return cls(sessions.intended, sessions.own, sessions.keystrokes.length, replays)

    def clicked(self) -> "Typed":
        """Those with a click."""
        return self._take(np.flatnonzero(self.own > 0))

    def _take(self, at: Integers) -> "Typed":
        replays = {
            name: Replay(each.found[at], each.typed[at], each.taken[at])
            for name, each in self.replays.items()
        }
        return Typed(self.query[at], self.own[at], self.length[at], replays)

    def truth(self) -> dict[tuple[str, str], float]:
        """Each metric of each policy."""
        return {
            (name, metric): float(top.sum() / bottom.sum())
            for name, each in self.replays.items()
            for metric, top, bottom in zip(
                METRICS,
                (each.found, each.typed, each.taken),
                (self.own, self.length, np.ones(len(self.own))),
                strict=True,
            )
        }

    def draw(self, n: int, most: int, rng: np.random.Generator) -> tuple["Typed", "Typed"]:
        """n searches, of which `most` are typed again: alone, and standing for the others of their query."""
        drawn = self._take(rng.integers(0, len(self.own), n))
        alone = drawn._take(np.arange(min(most, n)))
        turn, session = np.zeros(n, np.int64), np.full(n, -1)
        of_query: dict[int, list[int]] = {}
        for place, query in enumerate(alone.query.tolist()):
            of_query.setdefault(query, []).append(place)
        seen: dict[int, int] = {}
        for search, query in enumerate(drawn.query.tolist()):
            turn[search] = seen[query] = seen.get(query, -1) + 1
            if query in of_query:
                places = of_query[query]
                session[search] = places[turn[search] % len(places)]
        dealt = session >= 0
        sizes = np.bincount(session[dealt], minlength=len(alone.own))

        def mean(values: Floats) -> Floats:
            return np.bincount(session[dealt], values[dealt], len(alone.own)) / sizes

        replays = {
            name: Replay(mean(each.found), each.typed[: len(alone.own)], each.taken[: len(alone.own)])
            for name, each in drawn.replays.items()
        }
        return alone, Typed(alone.query, mean(drawn.own), alone.length, replays)

    def sessions(self, estimator: str) -> Sessions:
        """As sessions of typed searches."""
        nothing = np.zeros(0, np.int64)
        keystrokes = Keystrokes([], nothing, nothing, nothing, self.length)
        return Sessions(self.query, self.query, self.own, keystrokes, pa.table({}), estimator)


def print_found(workspace: Workspace, repeats: int) -> None:
    """Print the coverage of found and keystrokes, and of paired differences."""
    everything = Typed.of(workspace)
    print(HEADER)
    for name, population, n, most in (
        ("150 with a click", everything.clicked(), 150, 150),
        ("150", everything, 150, 150),
        ("6,000 with a click, 1,000 typed", everything.clicked(), 6000, 1000),
        ("40,000, 1,000 typed", everything, 40_000, 1000),
    ):
        rng = np.random.default_rng(n)
        truth = population.truth()
        found: dict[tuple[str, str, str], dict[str, Tally]] = {}
        for _ in range(repeats):
            config = EvaluationConfig(seed=int(rng.integers(1 << 30)))
            for estimator, typed in zip((IPS, CONTROL_VARIATE), population.draw(n, most, rng), strict=True):
                tables = typing_sessions.estimate(
                    typed.replays, typed.sessions(estimator), config, mode=ANY, people=MODEL
                )
                for row in [row for table in tables for row in table]:
                    key = row["policy"], row.get("other", ""), row["metric"]
                    value = truth[key[0], key[2]] - (truth[key[1], key[2]] if key[1] else 0.0)
                    by = found.setdefault(key, {name: Tally(value, [], []) for name in ESTIMATORS})
                    by[estimator].add(row["value"], row["low"], row["high"])
        for (policy, other, metric), by in found.items():
            if other > policy or metric not in (FOUND, typing_sessions.KEYSTROKES):
                continue
            what = f"{metric} of {policy}" + (f" − {other}" if other else "")
            print(line(f"{name} | {what}", "", by), flush=True)


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "arms":
        print_arms()
    else:
        opened = Workspace.of(Path(rest[0]))
        count = int(rest[1]) if len(rest) > 1 else 1000
        (print_utility if kind == "utility" else print_found)(opened, count)
