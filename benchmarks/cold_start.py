"""Prints what simulated people find with a short log, with and without queries that are proposed from the catalogue.

python benchmarks/cold_start.py                      # packages, 5,000 clicks, three logs: half an hour
python benchmarks/cold_start.py --clicks 300 --logs 5

Each row is a way of `wayword run --documents` on the same logs: without proposals; with `[rankings] propose`; and with
`--queries`, a file of all that the world's people may type. A team does not have that file: it bounds what a list of
queries can do. *Found* and *keystrokes* are exact expectations over all queries of the world, relative to
typing on, with the lists of the index that the run made, beside most popular completion from the same log. The interval
of a difference is over logs, by Student's t. *In the log* is the share of searches whose query the log has.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from people import Floats, Typists
from scipy.stats import t as student

import wayword
from wayword.completion import stage as completion
from wayword.completion.policies import PrefixFiltered, RetrieverPolicy
from wayword.completion.popular import PopularRetriever
from wayword.completion.typing_outcomes import Keystrokes
from wayword.config import Config
from wayword.rankings.bm25 import rank_with_bm25
from wayword.simulation.logging_policy import WorkspaceLists
from wayword.simulation.people import People
from wayword.simulation.queries import Queries
from wayword.simulation.world import World
from wayword.simulation.worlds import open_world
from wayword.store.workspace import Workspace

WORLD = "packages"
KINDS = ("lenient", "strict", "mix")
ALL = "--queries, all of the world"


@dataclass
class Measured:
    """What people of each kind find and type, log by log: most popular completion and what is served."""

    found: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    keys: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    proposed: list[int] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    """Share of the suggestions that nobody has searched for."""
    logged: list[float] = field(default_factory=list)

    def row(self, way: str, kind: str, base: "Measured") -> str:
        """A line of the table; `base` is the way without proposals."""
        found, keys = np.array(self.found[kind]), np.array(self.keys[kind])
        cells = [
            way,
            kind,
            f"{np.mean(self.logged):.3f}",
            f"{np.mean(self.proposed):.0f}",
            f"{np.mean(self.shown):.3f}",
        ]
        cells += [
            f"{found[:, 0].mean():.4f}",
            f"{found[:, 1].mean():.4f}",
            with_interval(found[:, 1] - found[:, 0]),
        ]
        cells += [f"{keys[:, 0].mean():.3f}", f"{keys[:, 1].mean():.3f}"]
        cells += ["" if self is base else with_interval(found[:, 1] - np.array(base.found[kind])[:, 1])]
        return "| " + " | ".join(cells) + " |"


def with_interval(values: Floats) -> str:
    """The mean of the values of each log, with its 95 % interval if there are several.

    >>> with_interval(np.array([0.001, 0.001, 0.001]))
    '+0.0010 (+0.0010 to +0.0010)'
    """
    mean, logs = float(values.mean()), len(values)
    if logs < 2:
        return f"{mean:+.4f}"
    half = float(student.ppf(0.975, logs - 1) * values.std(ddof=1) / np.sqrt(logs))
    return f"{mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})"


def everybody(world: World, texts: list[str]) -> Typists:
    """All queries of the world with their probabilities; other `texts` return what the engine gives."""
    known = set(world.queries.to_pylist())
    if others := [text for text in texts if text not in known]:
        ranked = rank_with_bm25(world.documents, others, depth=world.depth)
        world = replace(
            world,
            queries=pa.concat_arrays([world.queries, pa.array(others, pa.string())]),
            rankings=pa.concat_tables([world.rankings, ranked.cast(world.rankings.schema)]),
        )
    queries = Queries.of(world)
    intended = np.flatnonzero(queries.probability)
    keystrokes = Keystrokes.of([queries.texts[query] for query in intended.tolist()])
    return Typists(queries, intended, queries.probability[intended], keystrokes)


def measure(world: World, workspace: Workspace, measured: Measured) -> None:
    """Add what people find with a workspace's index, and with most popular completion from its log."""
    stages = ("rankings", "demand", "completion")
    policy = completion.load_lists({stage: workspace.folder(stage) for stage in stages}, threads=2)
    texts, searched = policy.retriever.texts, policy.retriever.popularity
    typists = everybody(world, list(texts))
    popular = PrefixFiltered(RetrieverPolicy(PopularRetriever(texts, searched)), texts, 1000)
    before, after = typists.lists(popular, texts), typists.shown(WorkspaceLists.open(workspace.path))
    known = {text for text, count in zip(texts, searched.tolist(), strict=True) if count}
    unlogged = np.array([text not in known for text in typists.queries.texts])
    measured.logged.append(float(typists.searches[~unlogged[typists.intended]].sum()))
    measured.shown.append(float(unlogged[after.rows.values].mean()))
    measured.proposed.append(workspace.report("rankings").get("proposed queries", 0))
    for kind in KINDS:
        people = People.named(kind, typists.queries)
        one, other = (typists.outcomes(people, lists) for lists in (before, after))
        measured.found.setdefault(kind, []).append((typists.found(one), typists.found(other)))
        measured.keys.setdefault(kind, []).append((typists.keys(one), typists.keys(other)))


def ways_of(proposals: list[int]) -> Mapping[str, int]:
    """Name → number of proposed queries."""
    return {"none": 0, **{f"propose = {most}": most for most in proposals}, ALL: 0}


def main() -> None:
    """Make the logs, and print the table after each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clicks", type=int, default=5000)
    parser.add_argument("--logs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="seed of the first log")
    parser.add_argument("--propose", type=int, nargs="*", default=[300])
    parser.add_argument("--keep", type=Path, help="folder for logs and workspaces")
    asked = parser.parse_args()
    world, ways = open_world(WORLD, depth=100), ways_of(asked.propose)
    measured = {way: Measured() for way in ways}
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"query": world.queries}), folder / "queries.parquet")
        for seed in range(asked.first, asked.first + asked.logs):
            data = folder / f"{WORLD}-{asked.clicks}-{seed}"
            if not data.exists():
                wayword.simulate(WORLD, clicks=asked.clicks, seed=seed, out=data)
            for way, most in ways.items():
                workspace = wayword.run(
                    data / "clicks.parquet",
                    documents=data / "documents.parquet",
                    queries=folder / "queries.parquet" if way == ALL else None,
                    out=folder / f"workspace-{asked.clicks}-{seed}-{list(ways).index(way)}",
                    config=Config.parse(
                        {"rankings": {"propose": most}, "evaluation": {"sessions": 10, "bootstrap": 10}}
                    ),
                )
                measure(world, workspace, measured[way])
            print_table(measured)


def print_table(measured: Mapping[str, Measured]) -> None:
    """Print all ways."""
    logs = len(measured["none"].logged)
    print(f"\n{logs} log{'s' * (logs > 1)}\n")
    heads = (
        "proposals",
        "people",
        "in the log",
        "proposed",
        "of what is shown",
        "found, popular",
        "found, served",
    )
    more = ("difference", "keystrokes, popular", "served", "found, beside none")
    print("| " + " | ".join((*heads, *more)) + " |")
    print("|" + "---|" * len((*heads, *more)))
    for kind in KINDS:
        for way, one in measured.items():
            print(one.row(way, kind, measured["none"]), flush=True)


if __name__ == "__main__":
    main()
