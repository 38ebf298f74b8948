"""Prints what simulated people find and type with each policy: found against keystrokes, for every kind of people.

python benchmarks/people.py                                   # both worlds, five logs: hours
python benchmarks/people.py --worlds packages --logs 1        # minutes
python benchmarks/people.py --keep results                    # workspaces are kept, and not made again

Every policy is compared on its own curve over the keystroke value λ: the smallest λ with which people type at most
1.05 times as much as with most popular completion. `knows` knows the people's law, with the same learned demand;
`way` is the share of the way from most popular completion to it. `events` is `wayword` with an acceptance model
learned from 100,000 lists that were shown to people of this kind by most popular completion. Values are exact
expectations over a sample of intended queries; the interval of a difference is over these queries and logs.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import wayword
from wayword.completion import shown_lists
from wayword.completion import stage as completion
from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_data import Universe
from wayword.completion.acceptance_learning import learn
from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy, Members, Pool
from wayword.completion.list_value import SHOWN, matrices, optimise
from wayword.completion.policies import Policy, PrefixFiltered, RetrieverPolicy
from wayword.completion.popular import PopularRetriever
from wayword.completion.trie import code_points
from wayword.completion.typing_outcomes import Keystrokes, Lists, Outcomes
from wayword.engines.tables import tables_in
from wayword.logs.contexts import PREFIX
from wayword.simulation.logging_policy import PolicyLists, lists_at, numbers_of
from wayword.simulation.people import NAMES, People, expected_outcomes
from wayword.simulation.people_log import write_people
from wayword.simulation.queries import Queries
from wayword.simulation.world import World
from wayword.simulation.worlds import open_world
from wayword.store.workspace import Workspace

WORLDS = {"packages": 60_000, "debian": 300_000}
VALUES = tuple(0.15 * 1.2**step for step in range(20))
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
        shown = PolicyLists(policy, texts)
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
        """See `Policy.complete`."""
        policy = self.policy
        intents = policy.retriever.intents(contexts)
        typed = code_points(contexts[PREFIX].to_pylist())
        members, pool = (
            policy.members(contexts, intents, typed.lengths),
            policy.pool(contexts, intents, k, mode),
        )
        chosen = [
            self._list(contexts.slice(row, 1), members, pool, row, k) for row in range(contexts.num_rows)
        ]
        lengths = np.fromiter(map(len, chosen), np.int64, len(chosen))
        context = np.repeat(np.arange(len(chosen), dtype=np.int32), lengths)
        query = np.concatenate([*chosen, np.zeros(0, np.int32)])
        return Candidates(context, query, np.zeros(len(query), np.float32))

    def _list(self, context: pa.Table, members: Members, pool: Pool, row: int, k: int) -> NDArray[np.int32]:
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
        text = code_points(context[PREFIX].to_pylist())
        with policy._scratch() as scratch:
            _, utility = matrices(
                intended,
                suggested,
                text.arrays,
                False,
                policy.queries.arrays(policy.searches),
                policy.retriever.graph.demand.arrays,
                policy.retriever.own_utility,
                policy._factors(context),
                policy.acceptance.coefficients,
                scratch,
            )
        prefix = context[PREFIX][0].as_py()
        begins = np.array([policy.retriever.texts[query].startswith(prefix) for query in suggested.tolist()])
        pairs = (
            np.repeat(self.number[intended], len(suggested)),
            np.tile(self.number[suggested], len(intended)),
        )
        gain = policy.worth[intended][:, None] * (utility - 1) + policy.keystroke_value * saved[:, None]
        laws = list(zip(self.people.laws, self.people.shares, strict=True))
        accepted = [
            law.acceptance(*pairs, np.tile(begins, len(intended))).reshape(gain.shape) for law, _ in laws
        ]
        columns, value = np.zeros(max(k, SHOWN), np.int32), np.zeros(max(k, SHOWN))
        count = optimise(
            np.concatenate([chance * share for _, share in laws]).astype(np.float32),
            np.concatenate(accepted).astype(np.float32),
            np.concatenate([gain] * len(laws)).astype(np.float32),
            sum(share * law.reading(max(k, SHOWN)) for law, share in laws),
            policy.searches,
            suggested,
            pool.core[pool.span(row)],
            columns,
            value,
        )
        return np.asarray(suggested[columns[: min(count, k)]])


def at_most(
    typists: Typists, people: People, lists_of: Callable[[float], Lists], most: float
) -> tuple[Outcomes, float] | None:
    """The outcomes with the smallest keystroke value with which people type at most so much, and that value."""
    low, high, best = 0, len(VALUES), None
    while low < high:
        middle = (low + high) // 2
        outcomes = typists.outcomes(people, lists_of(VALUES[middle]))
        if typists.keys(outcomes) <= most:
            best, high = (outcomes, VALUES[middle]), middle
        else:
            low = middle + 1
    return best


def learned_acceptance(
    world: World, policy: ListPolicy, people: str, popular: Policy, folder: Path, seed: int
) -> Acceptance:
    """Learn from lists of most popular completion, shown to people of this kind."""
    shown = PolicyLists(popular, policy.retriever.texts)
    write_people(world, people=people, lists_shown=LISTS_SHOWN, out=folder, policy=shown, seed=seed)
    universe = Universe.of(policy.retriever, policy.queries)
    with tables_in(folder) as engine:
        lists = shown_lists.read(engine, folder / "completions.parquet", universe.texts)
    return learn(lists, universe, policy.searches).model


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
    parser.add_argument("--searches", type=int, default=1000, help="intended queries drawn per log")
    parser.add_argument("--events", action="store_true", help="also after 100,000 lists shown")
    parser.add_argument("--keep", type=Path, help="folder for logs and workspaces")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        for world in asked.worlds:
            compare(world, asked, folder)


@dataclass
class Tally:
    """Sums over logs of one kind of people."""

    popular: list[float]
    keys: list[float]
    wayword: list[float]
    ratio: list[float]
    knows: list[float]
    events: list[float]
    gains: list[Floats]
    weights: list[Floats]

    def row(self, name: str) -> str:
        """A line of the table."""
        gain, weight = np.concatenate(self.gains), np.concatenate(self.weights)
        mean = float(weight @ gain / weight.sum())
        error = float(np.sqrt(np.sum((weight * (gain - mean)) ** 2)) / weight.sum())
        popular, found, knows = (float(np.mean(of)) for of in (self.popular, self.wayword, self.knows))
        way = (found - popular) / (knows - popular) if knows > popular + 1e-4 else float("nan")
        cells = [
            f"{popular:.3f}",
            f"{np.mean(self.keys):.3f}",
            f"{found:.3f}",
            f"{np.mean(self.ratio):.3f}",
            f"{mean:+.3f} ({mean - 1.96 * error:+.3f} to {mean + 1.96 * error:+.3f})",
            f"{knows:.3f}",
            f"{way:.2f}",
        ]
        if self.events:
            learned = float(np.mean(self.events))
            cells += [f"{learned:.3f}", f"{(learned - popular) / max(knows - popular, 1e-9):.2f}"]
        return f"| {name} | " + " | ".join(cells) + " |"


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

    def of_value(self, made: dict[float, Lists], value: float) -> Lists:
        """The lists of `wayword` with a keystroke value; they are made once."""
        if value not in made:
            made[value] = self.lists(replace(self.policy, keystroke_value=value))
        return made[value]

    def knowing(self, people: People, value: float) -> Lists:
        """The lists of the policy that knows the people's law."""
        number = _numbers(self.typists.queries, self.policy.retriever.texts)
        return self.lists(Knows(replace(self.policy, keystroke_value=value), people, number))

    def learned(self, kind: str) -> Callable[[float], Lists]:
        """The lists of `wayword` after lists were shown to people of a kind, by keystroke value."""
        with tempfile.TemporaryDirectory() as events:
            folder = Path(events) / "log"
            model = learned_acceptance(self.world, self.policy, kind, self.popular, folder, self.seed)
        return lambda value: self.lists(replace(self.policy, keystroke_value=value, acceptance=model))

    def count(self, kind: str, tally: Tally, shown: Lists, made: dict[float, Lists], *, events: bool) -> None:
        """Add this log to the sums of a kind of people."""
        typists, people = self.typists, People.named(kind, self.typists.queries)
        base = typists.outcomes(people, shown)
        most = MORE * typists.keys(base)
        mine = at_most(typists, people, partial(self.of_value, made), most)
        best = at_most(typists, people, partial(self.knowing, people), most)
        if mine is None or best is None:
            print(f"{kind}: no keystroke value with so few keystrokes", flush=True)
            return
        tally.popular.append(typists.found(base))
        tally.keys.append(typists.keys(base))
        tally.wayword.append(typists.found(mine[0]))
        tally.ratio.append(typists.keys(mine[0]) / typists.keys(base))
        tally.knows.append(typists.found(best[0]))
        tally.gains.append(mine[0].found - base.found)
        tally.weights.append(typists.finding)
        learned = at_most(typists, people, self.learned(kind), most) if events else None
        if learned:
            tally.events.append(typists.found(learned[0]))
        print(tally.row(kind), flush=True)


def compare(name: str, asked: argparse.Namespace, folder: Path) -> None:
    """Print the table of a world."""
    world = open_world(name)
    tallies = {people: Tally([], [], [], [], [], [], [], []) for people in asked.people}
    for seed in range(asked.logs):
        log = Log.of(world, workspace_of(name, WORLDS[name], seed, folder), asked.searches, seed)
        shown, made = log.lists(log.popular), dict[float, Lists]()
        for kind, tally in tallies.items():
            log.count(kind, tally, shown, made, events=asked.events)
    heads = ["people", "popular", "keystrokes", "wayword", "× keystrokes", "gain (95 %)", "knows", "way"]
    heads += ["after events", "way"] if asked.events else []
    print(f"\n{name}, {asked.logs} logs, {asked.searches} searches each\n")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for kind, tally in tallies.items():
        if tally.popular:
            print(tally.row(kind))


if __name__ == "__main__":
    main()
