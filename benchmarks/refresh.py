"""Prints what a refresh costs and keeps of a full run's value, day by day, in a world that drifts.

python benchmarks/refresh.py                                # packages, 12 days, the last 5 of them refreshed
python benchmarks/refresh.py --world debian --depth 20 --refreshed 1
python benchmarks/refresh.py --workspace refresh            # logs and workspaces are kept there

The first days are learned from by a full run. Each further day is added by `wayword refresh` to that workspace, and for
comparison a full run learns from all days so far. Costs are seconds of processor time of the commands, start included.
Values are those under the law of the next day, which people act by when the version is served: *found*, of people who
type every query letter by letter and accept as the acceptance model says, relative to typing on, and Utility@5 of the
lists on the way. `stale` is the first version, never refreshed; a value is *kept* relative to the full run's.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion import stage as completion
from wayword.completion.keystroke_value import lists_shown
from wayword.completion.list_policy import ListPolicy
from wayword.completion.list_value import SHOWN
from wayword.completion.typing_outcomes import Keystrokes, Slots
from wayword.engines import tables
from wayword.evaluation.typing_sessions import Sessions, Shown
from wayword.index.versions import ROOT, current
from wayword.logs.contexts import from_prefixes
from wayword.propensity.exposure import exposure
from wayword.serving.served_policy import ServedPolicy
from wayword.simulation.drift import DAY, FIRST, Drift
from wayword.simulation.simulate import separate_generator, simulate
from wayword.simulation.world import World, truth
from wayword.simulation.worlds import open_world
from wayword.store.workspace import Workspace
from wayword.text import normalise
from wayword.utility import position_weights

SEED = 0
MOST_SESSIONS = 4000
"""The queries of most clicks of the day that are typed."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="packages")
    parser.add_argument("--clicks", type=int, default=60_000)
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--refreshed", type=int, default=5)
    parser.add_argument("--drift", type=float, default=0.2)
    parser.add_argument("--depth", type=int, default=100, help="Results of a query.")
    parser.add_argument("--workspace", type=Path, default=None, help="Folder for logs and workspaces.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.workspace or Path(folder)
        rows = measure(arguments, place)
    print(table(rows))


def measure(arguments: argparse.Namespace, place: Path) -> list[dict[str, Any]]:
    """A row for each refreshed day."""
    data = simulate(
        arguments.world,
        clicks=arguments.clicks,
        out=place / "data",
        seed=SEED,
        drift=arguments.drift,
        days=arguments.days + 1,
        depth=arguments.depth,
        clicks_only=arguments.world != "packages",
    )
    world = open_world(arguments.world, depth=arguments.depth)
    drifting = Drift.of(world, arguments.drift, arguments.days + 1, separate_generator(SEED, 2))
    days = Days.read(data)
    first = arguments.days - arguments.refreshed
    days.write(0, first, place / "first")
    command("run", *days.files(place / "first"), "--out", place / "refreshed")
    subprocess.run(["cp", "-r", place / "refreshed", place / "stale"], check=True)
    rows = []
    for day in range(first, arguments.days):
        days.write(day, day + 1, place / f"day{day}", since=day)
        days.write(0, day + 1, place / "all")
        cost, said = command("refresh", place / "refreshed", *days.files(place / f"day{day}"), "--json")
        full, _ = command("run", *days.files(place / "all"), "--out", place / f"full{day}")
        law = Law.of(drifting.on(day + 1), place / f"full{day}")
        values = {name: law.value(place / name) for name in ("refreshed", f"full{day}", "stale")}
        values = {name.rstrip("0123456789"): value for name, value in values.items()}
        row = {
            "day": day + 1,
            "refresh": cost,
            "run": full,
            "promoted": json.loads(said)["promoted"],
            **values,
        }
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Days:
    """The log and the rankings, by day."""

    clicks: pa.Table
    day: NDArray[np.int64]
    rankings: pa.Table

    @classmethod
    def read(cls, data: Path) -> "Days":
        """Read the files of a simulation."""
        clicks = pq.read_table(data / "clicks.parquet")
        seconds = (
            pc.strptime(clicks["time"], format="%Y-%m-%dT%H:%M:%SZ", unit="s").cast(pa.int64()).to_numpy()
        )
        return cls(clicks, (seconds - FIRST) // DAY, pq.read_table(data / "rankings.parquet"))

    def write(self, start: int, end: int, folder: Path, since: int = 0) -> None:
        """Write the log from one day to another, and the rankings of its queries that no day before `since` had."""
        folder.mkdir(exist_ok=True)
        rows = (self.day >= start) & (self.day < end)
        pq.write_table(self.clicks.filter(pa.array(rows)), folder / "clicks.parquet")
        queries = pc.unique(self.clicks["query"].filter(pa.array(rows)))
        ranked = self.rankings.filter(pc.is_in(self.rankings["query"], value_set=queries))
        if since:
            before = pc.unique(self.clicks["query"].filter(pa.array(self.day < since)))
            ranked = ranked.filter(pc.invert(pc.is_in(ranked["query"], value_set=before)))
        (folder / "rankings.parquet").unlink(missing_ok=True)
        if ranked.num_rows:
            pq.write_table(ranked, folder / "rankings.parquet")

    def files(self, folder: Path) -> list[object]:
        """The options that name the files."""
        ranked = folder / "rankings.parquet"
        return ["--log", folder / "clicks.parquet", *(["--rankings", ranked] if ranked.exists() else [])]


def command(*arguments: object) -> tuple[float, str]:
    """Processor seconds of a command, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "wayword", *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


@dataclass(frozen=True)
class Law:
    """What people want on a day, in the queries of a workspace that has them all."""

    texts: list[str]
    mass: csr_array
    """Queries × documents: P(a search issues the query, and the document is wanted)."""
    exposure: csr_array
    model: ListPolicy

    @classmethod
    def of(cls, world: World, workspace: Path) -> "Law":
        """The law of a world."""
        opened = Workspace.open(workspace)
        at = {stage: opened.folder(stage) for stage in opened.manifest["stages"]}
        texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
        documents = tables.read(at["rankings"], "documents")["document_id"].to_pylist()
        number = {text: place for place, text in enumerate(texts)}
        document = {name: place for place, name in enumerate(documents)}
        law = truth(world, world.hits()).to_pydict()
        rows = [
            (number[query], document[name], mass)
            for raw, name, mass in zip(law["query"], law["document"], law["mass"], strict=True)
            if (query := normalise(raw)) in number and name in document
        ]
        q, a, mass = zip(*rows, strict=True)
        shape = len(texts), len(documents)
        p = exposure(
            tables.read(at["rankings"], "rankings"), tables.read(at["propensity"], "propensity"), shape
        )
        return cls(texts, csr_array((mass, (q, a)), shape=shape), csr_array(p), completion.load_lists(at))

    def value(self, workspace: Path) -> dict[str, float]:
        """Found and Utility@5 with the lists that a workspace serves."""
        own = np.asarray(self.mass.multiply(self.exposure).sum(axis=1)).ravel()
        intended = np.sort(np.argsort(-own, kind="stable")[:MOST_SESSIONS])
        intended = intended[own[intended] > 0].astype(np.int64)
        keystrokes = Keystrokes.of([self.texts[query] for query in intended.tolist()])
        typed = from_prefixes(keystrokes.texts)
        policy = ServedPolicy.open(current(workspace / ROOT), self.texts)
        lists = lists_shown(policy.complete(typed, SHOWN), keystrokes.texts, self.model)
        slots = Slots.of(keystrokes, lists)
        utility = self._utility(intended[slots.session], slots.suggested)
        shown = Shown(slots, utility, self.model.accepted(intended, slots))
        sessions = Sessions(intended, intended, own[intended], keystrokes, typed)
        found = shown.replay(sessions, self.model).found.sum() / own[intended].sum()
        return {"found": float(found), "utility@5": self._at_five(slots, utility, keystrokes, own[intended])}

    def _at_five(
        self, slots: Slots, utility: NDArray[np.float64], keystrokes: Keystrokes, own: NDArray[np.float64]
    ) -> float:
        weight = np.r_[position_weights(5), np.zeros(SHOWN)][slots.position]
        texts = np.diff(keystrokes.offsets)
        return float((weight * utility / np.maximum(texts, 1)[slots.session]).sum() / own.sum())

    def _utility(self, intended: NDArray[np.int64], suggested: NDArray[np.int64]) -> NDArray[np.float64]:
        parts = []
        for first in range(0, len(intended), 100_000):
            rows = slice(first, first + 100_000)
            both = self.mass[intended[rows]].multiply(self.exposure[suggested[rows]])
            parts.append(np.asarray(both.sum(axis=1)).ravel())
        return np.concatenate([*parts, np.zeros(0)])


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown, and their means."""
    lines = [
        "| day | refresh | full run | share | promoted | found: refreshed, full, stale | kept | "
        "Utility@5: refreshed, full, stale | kept |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            str(row["day"]),
            f"{row['refresh']:.1f} s",
            f"{row['run']:.1f} s",
            f"{row['refresh'] / row['run']:.1%}",
        ]
        cells.append("yes" if row["promoted"] else "no")
        for metric in ("found", "utility@5"):
            values = [row[name][metric] for name in ("refreshed", "full", "stale")]
            cells += [", ".join(f"{value:.4f}" for value in values), f"{values[0] / values[1]:.2%}"]
        lines.append(f"| {' | '.join(cells)} |")
    share = sum(row["refresh"] for row in rows) / sum(row["run"] for row in rows)
    kept = {
        m: np.mean([row["refreshed"][m] / row["full"][m] for row in rows]) for m in ("found", "utility@5")
    }
    lines.append(
        f"\nIn all: {share:.1%} of the cost; {kept['found']:.2%} of found and {kept['utility@5']:.2%} of Utility@5."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
