"""Prints what serving costs, against its goals and against others who complete queries.

python benchmarks/serving.py                             # a million queries, five million prefixes
python benchmarks/serving.py --queries 100000            # a quick try
python benchmarks/serving.py --keep made                 # what is made first is kept, and not made again
python benchmarks/serving.py --parts process http        # only some: process, http, memory, paper, peers

Speed is judged by ratios to others on the same machine, measured in turns, so that the goals hold on any machine.

Needs two idle cores: one for what answers, one for what asks. Over HTTP, saturation is measured with `wrk` and latency
with a load of our own that does not wait for the server (see load.py); apt-get install wrk postgresql. The peers come
with the dependency group `bench`. How queries are made up is told in made_index.py; utilities are those of a simulated
world whose law is known (known_world.py).
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import in_process
import load
import made_index
import numpy as np
import peers
import policies
from apart import LOAD, SERVER, apart, family, proportional, proportional_anonymous, proportional_of_files
from known_world import KnownWorld
from numpy.typing import NDArray
from server_processes import Server, empty, serving, wayword
from typed_texts import TypedTexts

import wayword as library
from wayword.serving.parameters import SERVED
from wayword.store.workspace import MANIFEST

PARTS = ("process", "http", "memory", "paper", "peers")
KNOWN, UNKNOWN, PATHS, ASKED_OF_PEERS, ASKED_OF_PAPER = 200_000, 5_000, 20_000, 20_000, 1_000
ASKED_IN_TURN = 3_000
OPENINGS, STARTS = 5, 3
PAPER = "unbiased"
TIMES_AS_FAST = {"SQLite FTS5": 30, "marisa-trie": 20}
"""Goals for the median of a known text."""
SPREAD = 6
"""The slowest hundredth of known texts takes less than so many times the median."""
OF_EMPTY, ROUNDS_MET = 0.65, 0.9
"""`/complete` answers at least this share of the requests of an empty handler, in at least this share of the rounds."""


@dataclass(frozen=True)
class Row:
    """A line of the first table; `met` is None where there is no goal."""

    what: str
    goal: str
    measured: str
    met: bool | None = None

    def __str__(self) -> str:
        return f"| {self.what} | {self.goal} | {self.measured} | {MET[self.met]} |"


MET = {None: "", True: "yes", False: "**no**"}


@dataclass(frozen=True)
class Bench:
    """What is measured: an index over made queries, and a world whose law is known."""

    workspace: Path
    index: Path
    world: Path
    truth: Path
    seconds: float
    rounds: int

    def known_world(self) -> KnownWorld:
        return KnownWorld.open(library.Workspace.open(self.world), self.truth)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=made_index.QUERIES)
    parser.add_argument("--world", default="packages", help="Where utility is measured.")
    parser.add_argument("--clicks", type=int, default=60_000, help="So many of that world are learned from.")
    parser.add_argument("--seconds", type=float, default=10.0, help="Of each round of load.")
    parser.add_argument("--rounds", type=int, default=10, help="Of both servers in turn.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--keep", type=Path, default=None, help="Folder for what is made first.")
    arguments = parser.parse_args()
    with folder_at(arguments.keep) as folder:
        bench = prepared(folder, arguments)
        print(told(bench), flush=True)
        print("\n| | goal | measured | met |\n|---|---|---|---|", flush=True)
        for part, measure in FIRST.items():
            if part in arguments.parts:
                for row in measure(bench):
                    print(row, flush=True)
        if "peers" in arguments.parts:
            print(f"\n{PEERS_HEAD}", flush=True)
            for line in beside_peers(bench):
                print(line, flush=True)
            print(f"\n{PEERS_NOTE}")


@contextmanager
def folder_at(given: Path | None) -> Iterator[Path]:
    """The given folder, or a new one that goes away afterwards."""
    if given:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def prepared(folder: Path, arguments: argparse.Namespace) -> Bench:
    """Make what is not there yet; the log of the world only if a part needs it."""
    workspace = folder / f"made-{arguments.queries}"
    world = folder / f"{arguments.world}-{arguments.clicks}"
    if {"paper", "peers"} & set(arguments.parts) and not (world / "workspace" / MANIFEST).exists():
        apart(None, policies.make, arguments.world, arguments.clicks, 0, world)
    index = apart(None, in_process.made, workspace, arguments.queries, 0)
    return Bench(
        workspace,
        index,
        world / "workspace",
        world / "data" / "truth.parquet",
        arguments.seconds,
        arguments.rounds,
    )


def told(bench: Bench) -> str:
    """Of what the index was made, and what that cost."""
    report = json.loads((bench.index / "artefact.json").read_text(encoding="utf-8"))["report"]
    costs = json.loads((bench.workspace / in_process.COSTS).read_text(encoding="utf-8"))
    size = sum(file.stat().st_size for file in bench.index.rglob("*") if file.is_file())
    return (
        f"{report['queries']:,} queries, {report['texts']:,} known prefixes, {report['lists']:,} lists: built in "
        f"{costs['seconds']:.0f} s with {costs['gigabytes']:.1f} GB, {size / 1e6:,.0f} MB on disk. "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before."
    )


def in_one_process(bench: Bench) -> Iterator[Row]:
    """Known and unknown prefixes."""
    found = apart(SERVER, in_process.answers, bench.index, KNOWN, UNKNOWN)
    for kind, what in (("known", "uniform over the known"), ("as typed", "as often as they are typed")):
        yield _spread(f"known prefix in process, {what}", found[kind])
    typed = TypedTexts(bench.index).as_typed(ASKED_IN_TURN)
    turns = apart(SERVER, in_process.beside, bench.index, typed, tuple(TIMES_AS_FAST))
    for name, least in TIMES_AS_FAST.items():
        yield _faster(name, least, turns)
    unknown = {"typing mistake": found["misspelt"], "new words": found["new words"]}
    for what, times in {"all": np.concatenate(list(unknown.values())), **unknown}.items():
        goal = "p50 ≤ 1 ms, p99 ≤ 5 ms"
        yield _percentiles(f"unknown prefix in process, {what}", goal, times, 1e6, "ms", 1, 5)


def _spread(what: str, times: NDArray[np.int64]) -> Row:
    p50, p99 = np.percentile(times, [50, 99])
    measured = f"{p99 / p50:.1f} (p50 {_time(p50)}, p99 {_time(p99)})"
    return Row(f"{what}: p99 / p50", f"< {SPREAD}", measured, bool(p99 < SPREAD * p50))


def _faster(name: str, goal: float, times: dict[str, NDArray[np.int64]]) -> Row:
    """By the median of the same texts, asked in turns."""
    theirs, ours = np.median(times[name]), np.median(times[in_process.OURS])
    measured = f"{theirs / ours:.0f} ({_time(theirs)} and {_time(ours)})"
    what = f"known prefix in process, as often as they are typed: times as fast as {name}, by p50"
    return Row(what, f"≥ {goal}", measured, bool(theirs >= goal * ours))


def _percentiles(
    what: str, goal: str, times: NDArray[np.int64], unit: float, name: str, middle: float, worst: float
) -> Row:
    p50, p99 = np.percentile(times, [50, 99]) / unit
    return Row(
        what, goal, f"p50 {p50:.2f} {name}, p99 {p99:.2f} {name}", bool(p50 <= middle and p99 <= worst)
    )


def over_http(bench: Bench) -> Iterator[Row]:
    """Throughput against an empty handler, in turn, and latency at half of it."""
    if problem := load.missing():
        print(problem, file=sys.stderr)
        return
    asked = load.paths(TypedTexts(bench.index).as_typed(PATHS))
    with serving(wayword(bench.workspace)) as ours, serving(empty()) as nothing:
        for server in (ours, nothing):
            load.saturation(server, asked, 2)
        rounds = [
            tuple(load.saturation(server, asked, bench.seconds) for server in (nothing, ours))
            for _ in range(bench.rounds)
        ]
        yield _throughput(rounds)
        yield _at_half(ours, asked, statistics.median(reached for _, reached in rounds), bench.seconds)


def _throughput(rounds: list[tuple[float, ...]]) -> Row:
    ratios = [reached / possible for possible, reached in rounds]
    possible, reached = map(statistics.median, zip(*rounds, strict=True))
    met = sum(ratio >= OF_EMPTY for ratio in ratios)
    return Row(
        "HTTP throughput of `/complete` against an empty RSGI handler on Granian (wrk, 64 connections), in turns",
        f"≥ {OF_EMPTY} in {ROUNDS_MET:.0%} of the rounds",
        f"{met} of {len(ratios)} rounds; min {min(ratios):.2f}, median {statistics.median(ratios):.2f} "
        f"({', '.join(f'{ratio:.2f}' for ratio in ratios)}; {reached:,.0f} and {possible:,.0f} requests/s)",
        met >= ROUNDS_MET * len(ratios),
    )


def _at_half(server: Server, asked: list[str], saturation: float, seconds: float) -> Row:
    found = apart(LOAD, load.at_rate, server.port, asked, saturation / 2, 2 * seconds)
    p50, p99 = np.percentile(found.answers, [50, 99]) / 1e6
    late = np.percentile(found.late, 99) / 1e6
    return Row(
        "p99 over HTTP at half that load, 64 connections (load.py: Poisson, from the time when due)",
        "≤ 10 ms",
        f"{p99:.2f} ms (p50 {p50:.2f} ms, {saturation / 2:,.0f} requests/s; the load itself is late by {late:.2f} ms "
        "in one of 100)",
        bool(p99 <= 10),
    )


def in_memory(bench: Bench) -> Iterator[Row]:
    """Opening, and what a second worker holds."""
    seconds = [apart(SERVER, in_process.opening, bench.index) for _ in range(OPENINGS)][1:]
    first = statistics.median(seconds)
    yield Row(
        "index load in a fresh process", "≤ 1 s", f"{first:.2f} s (median of {len(seconds)})", first <= 1
    )
    if problem := load.missing():
        print(problem, file=sys.stderr)
        return
    pairs = [(_held(bench, 1), _held(bench, 2)) for _ in range(STARTS)]
    extra = statistics.median((two.all - two.mapped) - (one.all - one.mapped) for one, two in pairs)
    plain = statistics.median(two.anonymous - one.anonymous for one, two in pairs)
    one, two = pairs[-1]
    yield Row(
        "resident memory of a second worker beyond the shared map (PSS of two workers less that of one)",
        "≤ 60 MB",
        f"{extra:.0f} MB, of it {plain:.0f} MB anonymous (median of {STARTS}; the server with one worker: "
        f"{one.all - one.mapped:.0f} MB; the map: {one.mapped:.0f} MB with one, {two.mapped:.0f} MB with two)",
        extra <= 60,
    )


@dataclass(frozen=True)
class Held:
    """Megabytes of all processes of a server: those that are files of the index, and those that are no file's."""

    all: float
    mapped: float
    anonymous: float


def _held(bench: Bench, workers: int) -> Held:
    """After every worker has answered."""
    drawn = TypedTexts(bench.index)
    asked = load.paths([*drawn.as_typed(PATHS), *drawn.misspelt(PATHS // 20)])
    with serving(wayword(bench.workspace, workers=workers)) as server:
        load.saturation(server, asked, workers * bench.seconds)
        processes = list(family(server.process))
        return Held(
            sum(map(proportional, processes)),
            sum(proportional_of_files(process, bench.index) for process in processes),
            sum(map(proportional_anonymous, processes)),
        )


def against_the_paper(bench: Bench) -> Iterator[Row]:
    """Encoder, PECOS and XGBoost for every request."""
    world = bench.known_world()
    few = np.random.default_rng(0).permutation(len(world.typed))[:ASKED_OF_PAPER]
    some = [world.typed[n] for n in few.tolist()]
    paper, _ = apart(SERVER, in_process.one_by_one, bench.world, some, PAPER)
    ours, _ = apart(SERVER, in_process.one_by_one, bench.world, some)
    middle, mean = np.median(paper) / np.median(ours), paper.mean() / ours.mean()
    yield Row(
        f"against the paper's stack, same {len(some):,} prefixes: times as fast",
        "≥ 50",
        f"{middle:,.0f} by p50 ({_time(np.median(paper))} and {_time(np.median(ours))}), {mean:,.0f} by mean",
        bool(min(middle, mean) >= 50),
    )
    utility = {
        policy: world.utility(apart(None, in_process.one_by_one, bench.world, world.typed, policy)[1])
        for policy in (PAPER, SERVED)
    }
    yield Row(
        "its Utility@5 and ours",
        "not lower",
        f"{utility[PAPER]:.3f} and {utility[SERVED]:.3f}",
        utility[SERVED] >= utility[PAPER],
    )


FIRST: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "process": in_one_process,
    "http": over_http,
    "memory": in_memory,
    "paper": against_the_paper,
}
PEERS_HEAD = "| | p50 | p99 | memory | build | Utility@5 |\n|---|---|---|---|---|---|"

PEERS_NOTE = (
    "Prefixes as often as they are typed, ten completions each. Memory is what a process grew by, with the mapped "
    "files of Wayword's index that it looked at, and for PostgreSQL that of the server (PSS). Peers see the same texts "
    "and counts, so their lists hardly differ, nor does their Utility@5."
)


def beside_peers(bench: Bench) -> Iterator[str]:
    """The second table: all over the queries of the index, asked as they are typed, ten completions each."""
    world = bench.known_world()
    typed = TypedTexts(bench.index).as_typed(ASKED_OF_PEERS)
    build = json.loads((bench.workspace / in_process.COSTS).read_text(encoding="utf-8"))["seconds"]
    for mode in ("any", "prefix"):
        cost = apart(SERVER, in_process.as_peer, bench.index, typed, mode)
        lists = apart(None, in_process.one_by_one, bench.world, world.typed, SERVED, mode)[1]
        yield _beside(f"Wayword, mode `{mode}`", cost, build, world.utility(lists))
    for name in peers.PEERS:
        if problem := peers.missing(name):
            yield f"| {name} | {problem} | | | | |"
            continue
        cost = apart(SERVER, peers.cost, name, bench.index, typed)
        lists = apart(None, peers.lists, name, world.texts, world.popularity, world.typed)
        yield _beside(name, cost, cost.build, world.utility(lists))


def _beside(name: str, cost: peers.Cost, build: float, utility: float) -> str:
    p50, p99 = (_time(value) for value in np.percentile(cost.answers, [50, 99]))
    return f"| {name} | {p50} | {p99} | {cost.memory:,.0f} MB | {build:,.1f} s | {utility:.3f} |"


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e3:.1f} µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.1f} ms"


if __name__ == "__main__":
    main()
