"""Prints time and peak memory of the stages of `wayword run`, by the size of the log, and how both grow.

python benchmarks/scale.py                                # queries, pairs and clicks, each grown separately
python benchmarks/scale.py --queries 10000 100000         # pairs and clicks grow with the queries
python benchmarks/scale.py --pairs 500000 5000000         # for 100,000 queries with 200,000 clicks
python benchmarks/scale.py --clicks 100000 1000000        # for 100,000 queries with 1,750,000 pairs
python benchmarks/scale.py --of 20000 --pairs 100000 350000 1000000   # for 20,000 queries with 40,000 clicks
python benchmarks/scale.py --debian 300000                # so many clicks of the world `debian`
python benchmarks/scale.py --queries 100000 --memory 2GB  # within so much memory

The logs are those of `made_log.py`. Each stage runs in a process of its own, so that its peak memory is its own; making
the logs is not counted. A small log is run first: it leaves compiled functions on disk.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import made_log

STAGES = (
    "check",
    "log",
    "rankings",
    "contexts",
    "propensity",
    "worth",
    "demand",
    "completion",
    "index",
    "estimates",
)
PAIRS, CLICKS = 17.5, 2
"""Of each query, where nothing else is said."""
QUERIES = 100_000
"""Number of queries while pairs or clicks grow, where nothing else is said."""
AXES = {
    "queries": (10_000, 100_000, 1_000_000),
    "pairs": (500_000, 1_750_000, 5_000_000),
    "clicks": (100_000, 300_000, 1_000_000),
    "debian": (),
}
SMALLEST = 0.05
"""Of a stage that takes fewer seconds, growth says nothing."""


@dataclass(frozen=True)
class Size:
    """A log: what grows, and how large it is."""

    axis: str
    number: int
    queries: int = QUERIES
    """Number of queries, while pairs or clicks grow."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        of = f"-of-{self.queries}" if self.axis in ("pairs", "clicks") else ""
        return f"{self.axis}-{self.number}{of}"

    def make(self, folder: Path) -> None:
        """Write the log and the rankings."""
        if self.axis == "debian":
            import wayword

            wayword.simulate("debian", clicks=self.number, seed=0, out=folder, clicks_only=True)
            return
        queries = self.number if self.axis == "queries" else self.queries
        sizes = {"queries": queries, "pairs": int(PAIRS * queries), "clicks": CLICKS * queries}
        made_log.write(folder, **{**sizes, self.axis: self.number})


WARM_UP = Size("queries", 2_000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for axis in AXES:
        parser.add_argument(f"--{axis}", nargs="+", type=int, default=[])
    parser.add_argument(
        "--of", type=int, default=QUERIES, help="Number of queries while pairs or clicks grow."
    )
    parser.add_argument("--memory", default="", help="[run] memory, such as 2GB.")
    parser.add_argument("--keep", type=Path, default=None, help="Folder for the logs, which are kept there.")
    parser.add_argument("--stage", nargs=3, metavar=("STAGE", "DATA", "WORKSPACE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        stage, data, workspace = arguments.stage
        print(json.dumps(run_stage(stage, Path(data), Path(workspace), arguments.memory)))
        return
    chosen = {axis: sorted(getattr(arguments, axis)) for axis in AXES}
    if not any(chosen.values()):
        chosen = {axis: list(sizes) for axis, sizes in AXES.items()}
    measure(WARM_UP, arguments.keep, arguments.memory)
    for axis, sizes in chosen.items():
        found: dict[int, dict[str, dict[str, float]]] = {}
        for number in sizes:
            found[number] = measure(Size(axis, number, arguments.of), arguments.keep, arguments.memory)
        if found:
            print(table(axis, found), end="\n\n", flush=True)


def measure(size: Size, keep: Path | None, memory: str) -> dict[str, dict[str, float]]:
    """Seconds, processor seconds and gigabytes of each stage at this size."""
    found = {}
    with tempfile.TemporaryDirectory(dir=keep) as folder:
        data = (keep or Path(folder)) / size.name
        if not (data / made_log.LOG).exists():
            size.make(data)
        for stage in STAGES:
            options = ["--stage", stage, str(data), f"{folder}/workspace", "--memory", memory]
            done = subprocess.run(
                [sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True
            )
            found[stage] = json.loads(done.stdout)
            if size != WARM_UP:
                print(f"{size.name} {stage}: {done.stdout.strip()}", file=sys.stderr, flush=True)
    return found


def run_stage(name: str, data: Path, workspace: Path, memory: str = "") -> dict[str, float]:
    """Make one artefact; those of the stages before it are there already."""
    from wayword import pipeline
    from wayword.config import Config
    from wayword.plan import Inputs, check_stage
    from wayword.progress import Progress
    from wayword.store.memory import bounded
    from wayword.store.workspace import building

    inputs = Inputs.at(data / made_log.LOG, data / made_log.RANKINGS)
    start = {"prefixes": {"start": "first-word"}} if data.name.startswith("debian") else {}
    settings = Config.parse(start)
    planned = {"check": check_stage(settings, inputs)}
    planned |= pipeline.stages_before_index(settings, inputs, Progress())
    result: dict[str, float] = {}
    with bounded(memory), building(workspace, Progress()) as build:
        for stage in STAGES[: STAGES.index(name) + 1]:
            if stage in planned:
                result = _timed(partial(build.stage, stage, planned[stage]))
                continue
            made = partial(pipeline.index_of, build.workspace(settings.saved()), settings, Progress())
            if stage == "index":
                result = _timed(partial(made, current=False))
                continue
            version, _ = made(current=False)
            result = _timed(
                partial(build.stage, stage, pipeline.evaluation(settings, inputs, Progress(), version))
            )
        build.finish(settings.saved(), prune=False)
    return {**result, "gigabytes": _peak()}


def _timed(make: Callable[[], object]) -> dict[str, float]:
    started, processor = time.monotonic(), time.process_time()
    make()
    return {"seconds": time.monotonic() - started, "processor": time.process_time() - processor}


def _peak() -> float:
    """The most memory that this process ever held; `ru_maxrss` would count its parent's before `exec` too."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def growth(sizes: list[int], seconds: list[float]) -> str:
    """The slope of log seconds over log sizes, by least squares.

    >>> growth([100, 1000], [2.0, 20.0])
    '1.00'
    """
    if len(sizes) < 2 or min(seconds) < SMALLEST:
        return "–"
    x, y = [math.log(n) for n in sizes], [math.log(s) for s in seconds]
    middle, mean = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - middle) * (b - mean) for a, b in zip(x, y, strict=True))
    return f"{slope / sum((a - middle) ** 2 for a in x):.2f}"


def table(axis: str, found: dict[int, dict[str, dict[str, float]]]) -> str:
    """Markdown: a row per stage; seconds, processor seconds and gigabytes per size, and the exponents of both times."""
    sizes, named = list(found), "clicks of `debian`" if axis == "debian" else axis
    lines = [f"| stage | {' | '.join(f'{n:,} {named}' for n in sizes)} | exponent (processor) |"]
    lines.append("|---" * (len(sizes) + 2) + "|")
    for stage in STAGES:
        lines.append(_row(stage, sizes, [found[n][stage] for n in sizes]))
    whole: list[dict[str, Any]] = [
        {
            "seconds": sum(c["seconds"] for c in found[n].values()),
            "processor": sum(c["processor"] for c in found[n].values()),
            "gigabytes": max(c["gigabytes"] for c in found[n].values()),
        }
        for n in sizes
    ]
    lines.append(_row("all", sizes, whole))
    return "\n".join(lines)


def _row(name: str, sizes: list[int], cells: list[dict[str, float]]) -> str:
    shown = (f"{c['seconds']:.1f} s ({c['processor']:.1f} s) {c['gigabytes']:.2f} GB" for c in cells)
    wall, processor = (growth(sizes, [c[what] for c in cells]) for what in ("seconds", "processor"))
    return f"| {name} | {' | '.join(shown)} | {wall} ({processor}) |"


if __name__ == "__main__":
    main()
