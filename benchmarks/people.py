"""Prints what simulated people find and type with each policy: found against keystrokes, for every kind of people.

python benchmarks/people.py --events                          # both worlds, five logs: hours
python benchmarks/people.py --worlds packages --logs 1        # a minute
python benchmarks/people.py --keep results                    # workspaces are kept, and not made again
python benchmarks/people.py --worlds packages --people lenient --loop     # three rounds of what people do: minutes

Policies are compared at equal keystrokes, 1.05 times those of most popular completion: each on its own curve over the
keystroke value λ, interpolated between the two nearest values. `knows` is the same algorithm with the people's law
instead of a model of it, and the same learned demand; `way` is the share of the way from most popular completion to it.
`after events` is `wayword` with an acceptance model learned from 100,000 lists that most popular completion showed to
people of this kind. `served` is what the workspace serves, with the keystroke value that it chose, before any event.
Values are exact expectations over a sample of intended queries; the interval of a difference is over these queries and
logs, that of a ratio (`way`, keystrokes) over logs, by Student's t.

`--loop` prints another table: the first index is served to people, with one query pushed to the top of every list; what
they see and do is added to the log, the next index learns from it, and so on. Each row is an index: what people find
and type with it (without the push), the share of the pushed query in its log by issue and by what people probably
intended, and the learned reading of the first position.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from people_loop import HEADS, Loop, query_to_push
from scipy.stats import t as student

import wayword
from wayword.completion import shown_lists
from wayword.completion import stage as completion
from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_learning import refit
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy, Members, Pool
from wayword.completion.list_value import SHOWN, optimise
from wayword.completion.policies import Policy, PrefixFiltered, RetrieverPolicy
from wayword.completion.popular import PopularRetriever
from wayword.completion.query_pairs import matrices
from wayword.completion.survival import DAMPING, INATTENTIVE, LONGEST, with_survival
from wayword.completion.trie import code_points
from wayword.completion.typing_outcomes import Keystrokes, Lists, Outcomes
from wayword.engines.tables import tables_in
from wayword.logs.contexts import PREFIX
from wayword.simulation.logging_policy import LoggingPolicy, PolicyLists, WorkspaceLists, lists_at, numbers_of
from wayword.simulation.people import NAMES, ONCE, People, expected_outcomes
from wayword.simulation.people_log import write_people
from wayword.simulation.queries import Queries
from wayword.simulation.world import World
from wayword.simulation.worlds import open_world
from wayword.store.workspace import Workspace

WORLDS = {"packages": 60_000, "debian": 300_000}
VALUES = tuple(0.08 * 1.3**step for step in range(24))
"""Keystroke values of the curves: 0.08 to 33."""
MORE = 1.05
MOST_MEMBERS = 500
"""Intended queries of a text that `knows` distinguishes; more are left out, the least probable first."""
LISTS_SHOWN = 100_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Typists:
    """Intended queries, drawn from a world, with the texts on the way to them."""

    queries: Queries
    intended: NDArray[np.int64]
    searches: Floats
    """How often each was drawn."""
    keystrokes: Keystrokes

    @classmethod
    def draw(cls, world: World, texts: Sequence[str], count: int, seed: int) -> "Typists":
        """Draw searches of queries that the log knows."""
        queries = Queries.of(world, texts)
        known = np.isin(np.arange(len(queries.texts)), _numbers(queries, texts))
        chance = queries.probability * known
        drawn = np.random.default_rng(seed).choice(len(chance), count, p=chance / chance.sum())
        intended, searches = np.unique(drawn, return_counts=True)
        keystrokes = Keystrokes.of([queries.texts[query] for query in intended.tolist()])
        return cls(queries, intended.astype(np.int64), searches.astype(np.float64), keystrokes)

    @property
    def finding(self) -> Floats:
        """The weight of each in `found`: what its searches find."""
        rate = self.queries.own / np.maximum(self.queries.probability, 1e-300)
        return self.searches * rate[self.intended]

    def lists(self, policy: Policy, texts: Sequence[str]) -> Lists:
        """The lists of a policy at all texts."""
        return self.shown(PolicyLists(policy, texts))

    def shown(self, shown: LoggingPolicy) -> Lists:
        """The lists of a logging policy at all texts."""
        return lists_at(
            self.keystrokes.texts, shown, numbers_of(shown, self.queries.texts), self.queries.texts, SHOWN
        )

    def outcomes(self, people: People, lists: Lists) -> Outcomes:
        """Exact expectations for each intended query."""
        return expected_outcomes(people, self.intended, self.keystrokes, lists)

    def found(self, outcomes: Outcomes) -> float:
        """The mean over searches that find something."""
        return float(self.finding @ outcomes.found / self.finding.sum())

    def keys(self, outcomes: Outcomes) -> float:
        """Characters typed, relative to typing all."""
        return float(self.searches @ outcomes.typed / (self.searches @ outcomes.length))


def _numbers(queries: Queries, texts: Sequence[str]) -> NDArray[np.int64]:
    number = {text: place for place, text in enumerate(queries.texts)}
    return np.array([number[text] for text in texts], np.int64)


@dataclass(frozen=True)
class Knows:
    """The policy that knows the people's law, with the demand that the other one has learned."""

    policy: ListPolicy
    people: People
    number: NDArray[np.int64]
    """The number of each query in the people's queries."""

    def complete(self, contexts: pa.Table, k: int, *, mode: str = "any") -> Candidates:
        """See `Policy.complete`. With each text, all texts on the way to it are among the contexts."""
        policy = replace(self.policy, survival=None)
        intents = policy.intents(contexts)
        typed = code_points(contexts[PREFIX].to_pylist())
        members = policy.members(contexts, intents, policy.typed(contexts, intents).lengths)
        pool = policy.pool(contexts, intents, k, mode)
        left = np.ones((len(self.people.laws), len(policy.retriever.texts)))
        chosen: list[NDArray[np.int32]] = [np.zeros(0, np.int32)] * contexts.num_rows
        for row in np.argsort(typed.lengths, kind="stable").tolist():
            chosen[row] = self._list(contexts.slice(row, 1), members, pool, row, k, left)
        lengths = np.fromiter(map(len, chosen), np.int64, len(chosen))
        context = np.repeat(np.arange(len(chosen), dtype=np.int32), lengths)
        query = np.concatenate([*chosen, np.zeros(0, np.int32)])
        return Candidates(context, query, np.zeros(len(query), np.float32))

    def _list(
        self, context: pa.Table, members: Members, pool: Pool, row: int, k: int, left: Floats
    ) -> NDArray[np.int32]:
        """Choose the list of one text; `left` has the survival of each query's people, by law."""
        policy, span = self.policy, members.rows.span(row)
        intended, chance, saved = (
            members.rows.values[span],
            members.probability[span],
            members.saved[span],
        )
        suggested = pool.values[pool.span(row)]
        if not len(intended) or not len(suggested):
            return np.zeros(0, np.int32)
        most = np.argsort(-chance, kind="stable")[:MOST_MEMBERS]
        intended, chance, saved = intended[most], chance[most], saved[most]
        prefix = context[PREFIX][0].as_py()
        gain = policy.worth[intended][:, None] * (self._utility(context, intended, suggested) - 1)
        gain += policy.keystroke_value * saved[:, None]
        begins = np.array([policy.retriever.texts[query].startswith(prefix) for query in suggested.tolist()])
        pairs = (
            np.repeat(self.number[intended], len(suggested)),
            np.tile(self.number[suggested], len(intended)),
        )
        laws, shares = self.people.laws, self.people.shares
        accepted = [
            law.acceptance(*pairs, np.tile(begins, len(intended))).reshape(gain.shape) for law in laws
        ]
        reading = sum(share * law.reading(max(k, SHOWN)) for law, share in zip(laws, shares, strict=True))
        columns, value = np.zeros(max(k, SHOWN), np.int32), np.zeros(max(k, SHOWN))
        count = optimise(
            (
                (chance * shares[:, None] * left[:, intended]).ravel().astype(np.float32),
                np.concatenate(accepted).astype(np.float32),
                np.concatenate([gain] * len(laws)).astype(np.float32),
                np.zeros(len(suggested)),
            ),
            reading,
            policy.searches,
            suggested,
            pool.core[pool.span(row)],
            np.int64(-1),
            columns,
            value,
        )
        columns = columns[: min(count, k)]
        if len(prefix) <= LONGEST:
            for law, taken in enumerate(accepted):
                nothing = np.prod(1 - reading[: len(columns)] * taken[:, columns], axis=1)
                left[law, intended] = np.maximum(left[law, intended] * nothing**DAMPING, INATTENTIVE)
        return np.asarray(suggested[columns])

    def _utility(
        self, context: pa.Table, intended: NDArray[np.int32], suggested: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        policy = self.policy
        with policy._scratch() as scratch:
            _, utility = matrices(
                intended,
                suggested,
                code_points(context[PREFIX].to_pylist()).arrays,
                False,
                policy.queries.arrays(policy.searches, policy.retriever.certainty),
                policy.retriever.graph.demand.arrays,
                policy.retriever.own_utility,
                policy._factors(context),
                policy.acceptance.coefficients[None],
                scratch,
            )
        return np.asarray(utility)


@dataclass(frozen=True)
class Point:
    """Outcomes at some keystrokes: of each intended query, and on average."""

    by_query: Floats
    found: float
    keys: float

    def towards(self, other: "Point", keys: float) -> "Point":
        """Interpolate to these keystrokes, between those of the two points."""
        share = (self.keys - keys) / (self.keys - other.keys)
        by_query = self.by_query + share * (other.by_query - self.by_query)
        return Point(by_query, self.found + share * (other.found - self.found), keys)


class Curve:
    """A policy over keystroke values; its lists are made once for each."""

    def __init__(self, make: Callable[[float], Lists]) -> None:
        self._make = cache(make)

    def at(self, typists: Typists, people: People, value: float) -> Point:
        """What these people find and type with a keystroke value."""
        outcomes = typists.outcomes(people, self._make(value))
        return Point(outcomes.found, typists.found(outcomes), typists.keys(outcomes))

    def with_keystrokes(self, typists: Typists, people: People, most: float) -> Point | None:
        """Where people type so much; the first point if they type less there, None if they type more everywhere."""
        low, high = 0, len(VALUES) - 1
        before, after = (self.at(typists, people, VALUES[place]) for place in (low, high))
        if before.keys <= most:
            return before
        if after.keys > most:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            point = self.at(typists, people, VALUES[middle])
            if point.keys <= most:
                high, after = middle, point
            else:
                low, before = middle, point
        return before.towards(after, most)


def learned_acceptance(
    world: World, policy: ListPolicy, people: str, popular: Policy, folder: Path, seed: int
) -> Acceptance:
    """Learn from lists of most popular completion, shown to people of this kind."""
    shown = PolicyLists(popular, policy.retriever.texts)
    write_people(world, people=people, lists_shown=LISTS_SHOWN, out=folder, policy=shown, seed=seed)
    universe = Universe.of(policy.retriever, policy.queries)
    with tables_in(folder) as engine:
        lists = shown_lists.read(engine, folder / "completions.parquet", universe.texts)
    return refit(lists, universe, policy.searches)


def workspace_of(world: str, clicks: int, seed: int, folder: Path) -> Workspace:
    """The workspace of a log of this world, made unless it is there."""
    data = folder / f"{world}-{seed}"
    if not (data / "data" / "clicks.parquet").exists():
        wayword.simulate(world, clicks=clicks, seed=seed, out=data / "data")
    return wayword.run(
        data / "data" / "clicks.parquet", data / "data" / "rankings.parquet", out=data / "workspace"
    )


def main() -> None:
    """Make the logs, and print a table for each world."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--people", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--logs", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed of the first log")
    parser.add_argument("--searches", type=int, default=1000, help="intended queries drawn per log")
    parser.add_argument("--events", action="store_true", help="also after 100,000 lists shown")
    parser.add_argument(
        "--loop", type=int, nargs="?", const=3, metavar="ROUNDS", help="only the loop (3 rounds)"
    )
    parser.add_argument(
        "--lists", type=int, default=LISTS_SHOWN, help="lists shown in each round of the loop"
    )
    parser.add_argument("--no-push", action="store_true", help="no query is pushed in the loop")
    parser.add_argument("--keep", type=Path, help="folder for logs and workspaces")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        for world in asked.worlds:
            if asked.loop is None:
                compare(world, asked, folder)
            else:
                loop(world, asked, folder)


@dataclass
class Tally:
    """What people of one kind find, log by log."""

    popular: list[float] = field(default_factory=list)
    wayword: list[float] = field(default_factory=list)
    knows: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    """Keystrokes with what is served, relative to most popular completion."""
    gains: list[Floats] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)

    def row(self, name: str) -> str:
        """A line of the table."""
        gain, weight = np.concatenate(self.gains), np.concatenate(self.weights)
        mean = float(weight @ gain / weight.sum())
        error = 1.96 * float(np.sqrt(np.sum((weight * (gain - mean)) ** 2)) / weight.sum())
        keys = with_interval(np.array(self.ratio), np.ones(len(self.ratio)), 3)
        cells = [f"{np.mean(self.popular):.3f}", f"{np.mean(self.served):.3f}", keys]
        cells += [f"{np.mean(self.wayword):.3f}", f"{mean:+.4f} ({mean - error:+.4f} to {mean + error:+.4f})"]
        cells += [f"{np.mean(self.knows):.3f}", self._way(self.wayword)]
        if self.events:
            cells += [f"{np.mean(self.events):.3f}", self._way(self.events)]
        return f"| {name} | " + " | ".join(cells) + " |"

    def _way(self, found: list[float]) -> str:
        popular, knows = np.array(self.popular), np.array(self.knows)
        if (knows - popular).mean() <= 1e-4:
            return "–"
        return with_interval(np.array(found) - popular, knows - popular, 2)


def with_interval(part: Floats, whole: Floats, digits: int) -> str:
    """Return the ratio of the means of two values of each log, with its 95 % interval over logs if there are several.

    >>> with_interval(np.array([1.0, 1.2, 1.1]), np.array([2.0, 2.4, 2.2]), 2)
    '0.50 (0.50–0.50)'
    """
    logs, ratio = len(part), float(part.mean() / whole.mean())
    if logs < 2:
        return f"{ratio:.{digits}f}"
    error = np.std(part - ratio * whole, ddof=1) / np.sqrt(logs) / whole.mean()
    half = float(student.ppf(0.975, logs - 1) * error)
    return f"{ratio:.{digits}f} ({ratio - half:.{digits}f}–{ratio + half:.{digits}f})"


@dataclass(frozen=True)
class Log:
    """A workspace and the people who type in its world."""

    world: World
    policy: ListPolicy
    typists: Typists
    popular: Policy
    seed: int

    @classmethod
    def of(cls, world: World, workspace: Workspace, searches: int, seed: int) -> "Log":
        """Load the policies, and draw people."""
        stages = ("rankings", "demand", "completion")
        policy = completion.load_lists({stage: workspace.folder(stage) for stage in stages}, threads=2)
        texts = policy.retriever.texts
        popular = RetrieverPolicy(PopularRetriever(texts, policy.retriever.popularity))
        typists = Typists.draw(world, texts, searches, seed)
        return cls(world, policy, typists, PrefixFiltered(popular, texts, 1000), seed)

    def lists(self, policy: Policy) -> Lists:
        """The lists of a policy at all texts."""
        return self.typists.lists(policy, self.policy.retriever.texts)

    def curve(self, acceptance: Acceptance) -> Curve:
        """`wayword` with a model of acceptance."""
        policy = replace(self.policy, acceptance=acceptance)
        typed = [self.typists.queries.texts[query] for query in self.typists.intended.tolist()]
        return Curve(lambda value: self.lists(with_survival(replace(policy, keystroke_value=value), typed)))

    def knowing(self, people: People) -> Curve:
        """The policy that knows the people's law."""
        number = _numbers(self.typists.queries, self.policy.retriever.texts)
        return Curve(
            lambda value: self.lists(Knows(replace(self.policy, keystroke_value=value), people, number))
        )

    def learned(self, kind: str) -> Acceptance:
        """What is learned from lists shown to people of a kind."""
        with tempfile.TemporaryDirectory() as events:
            return learned_acceptance(
                self.world, self.policy, kind, self.popular, Path(events) / "log", self.seed
            )

    def count(self, tallies: dict[str, Tally], *, events: bool) -> None:
        """Add this log to the sums of each kind of people."""
        typists = self.typists
        most_popular, served = (self.lists(policy) for policy in (self.popular, self.policy))
        mine, knowing = self.curve(self.policy.acceptance), dict[str, Curve]()
        for kind, tally in tallies.items():
            people = People.named(kind, typists.queries)
            law = kind.removesuffix(ONCE)
            knowing.setdefault(law, self.knowing(people))
            base, now = (typists.outcomes(people, lists) for lists in (most_popular, served))
            most = MORE * typists.keys(base)
            curves = [mine, knowing[law], *([self.curve(self.learned(kind))] if events else [])]
            points = [curve.with_keystrokes(typists, people, most) for curve in curves]
            ratio = typists.keys(now) / typists.keys(base)
            if None in points:
                print(f"{kind}: more keystrokes with every keystroke value; served {ratio:.3f}", flush=True)
                continue
            found = [point.found for point in points if point]
            tally.popular.append(typists.found(base))
            tally.served.append(typists.found(now))
            tally.ratio.append(ratio)
            tally.wayword.append(found[0])
            tally.knows.append(found[1])
            tally.events += found[2:]
            tally.gains.append(points[0].by_query - base.found if points[0] else np.zeros(0))
            tally.weights.append(typists.finding)
            print(tally.row(kind), flush=True)


def compare(name: str, asked: argparse.Namespace, folder: Path) -> None:
    """Print the table of a world."""
    world = open_world(name)
    tallies = {people: Tally() for people in asked.people}
    for seed in range(asked.first, asked.first + asked.logs):
        print(f"\n{name}, log {seed}", flush=True)
        log = Log.of(world, workspace_of(name, WORLDS[name], seed, folder), asked.searches, seed)
        log.count(tallies, events=asked.events)
    heads = ["people", "popular", "served", "× keystrokes", "wayword", "gain (95 %)", "knows", "way"]
    heads += ["after events", "way"] if asked.events else []
    print(f"\n{name}, {asked.logs} logs, {asked.searches} searches each\n")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for kind, tally in tallies.items():
        if tally.popular:
            print(tally.row(kind))


def loop(name: str, asked: argparse.Namespace, folder: Path) -> None:
    """Print the table of the loop for each kind of people in a world."""
    world, seed = open_world(name), asked.first
    workspace = workspace_of(name, WORLDS[name], seed, folder)
    texts = WorkspaceLists.open(workspace.path).texts
    typists = Typists.draw(world, texts, asked.searches, seed)
    query = query_to_push(typists.queries)
    share = typists.queries.probability[typists.queries.texts.index(query)]
    for kind in asked.people:
        people = People.named(kind, typists.queries)

        def measured(lists: LoggingPolicy, people: People = people) -> tuple[float, float]:
            outcomes = typists.outcomes(people, typists.shown(lists))
            return typists.found(outcomes), typists.keys(outcomes)

        how = "" if asked.no_push else ", pushed"
        print(f"\n{name}, {kind}, {asked.lists:,} lists a round; {query!r}, intended by {share:.4f}{how}\n")
        print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
        with tempfile.TemporaryDirectory() as scratch:
            looped = Loop(world, kind, query, not asked.no_push, asked.lists, Path(scratch), measured)
            data = folder / f"{name}-{seed}" / "data"
            for number, one in enumerate(looped.rounds(workspace, data, asked.loop)):
                print(one.row(number), flush=True)


if __name__ == "__main__":
    main()
