"""Prints time and peak memory of the stages behind the default policy, by the size of the log, and how time grows.

python benchmarks/scale.py                               # 10^5 to 3.8·10^6 clicks of the world `debian`
python benchmarks/scale.py --clicks 100000 300000        # these sizes
python benchmarks/scale.py --keep logs                  # simulated logs are kept there, and not drawn again

These are all stages of `wayword run`. Each runs in a process of its own, so that its peak memory is its own; drawing
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
from functools import partial
from pathlib import Path
from typing import Any

STAGES = ("log", "rankings", "contexts", "propensity", "demand", "completion", "estimates", "index")
SIZES = (100_000, 300_000, 1_000_000, 3_800_000)
WARM_UP = 3_000
SMALLEST = 0.05
"""Of a stage that takes fewer seconds, growth says nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clicks", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--keep", type=Path, default=None, help="Folder for the simulated logs.")
    parser.add_argument("--stage", nargs=3, metavar=("STAGE", "DATA", "WORKSPACE"), help=argparse.SUPPRESS)
    parser.add_argument("--draw", nargs=2, metavar=("CLICKS", "DATA"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        stage, data, workspace = arguments.stage
        print(json.dumps(run_stage(stage, Path(data), Path(workspace))))
    elif arguments.draw:
        draw(int(arguments.draw[0]), Path(arguments.draw[1]))
    else:
        measure(WARM_UP, arguments.keep)
        found: dict[int, dict[str, dict[str, float]]] = {}
        for clicks in sorted(arguments.clicks):
            found[clicks] = measure(clicks, arguments.keep)
            print(f"{clicks:,} clicks: {json.dumps(found[clicks])}", file=sys.stderr, flush=True)
        print(table(found))


def measure(clicks: int, keep: Path | None) -> dict[str, dict[str, float]]:
    """Seconds, processor seconds and gigabytes of each stage at this size."""
    with tempfile.TemporaryDirectory() as folder:
        data = (keep or Path(folder)) / f"debian-{clicks}"
        if not (data / "clicks.parquet").exists():
            _in_process("--draw", str(clicks), str(data))
        return {
            stage: json.loads(_in_process("--stage", stage, str(data), f"{folder}/workspace"))
            for stage in STAGES
        }


def _in_process(*options: str) -> str:
    done = subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def draw(clicks: int, data: Path) -> None:
    """Simulate the log."""
    import wayword

    wayword.simulate("debian", clicks=clicks, seed=0, out=data, clicks_only=True)


def run_stage(name: str, data: Path, workspace: Path) -> dict[str, float]:
    """Make one artefact; those of the stages before it are there already."""
    from wayword import pipeline
    from wayword.config import Config
    from wayword.plan import Inputs
    from wayword.progress import Progress
    from wayword.store.workspace import building

    inputs = Inputs.at(data / "clicks.parquet", data / "rankings.parquet")
    settings = Config.parse({"prefixes": {"start": "first-word"}})
    planned = pipeline.stages(settings, inputs, Progress())
    result: dict[str, float] = {}
    with building(workspace, Progress()) as build:
        for stage in STAGES[: min(STAGES.index(name) + 1, len(planned))]:
            result = _timed(partial(build.stage, stage, planned[stage]))
        if name == "index":
            finished = build.finish(settings.saved())
            result = _timed(partial(pipeline.index_of, finished, settings, Progress()))
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
    """The slope of log seconds over log clicks, by least squares.

    >>> growth([100, 1000], [2.0, 20.0])
    '1.00'
    """
    if len(sizes) < 2 or min(seconds) < SMALLEST:
        return "–"
    x, y = [math.log(n) for n in sizes], [math.log(s) for s in seconds]
    middle, mean = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - middle) * (b - mean) for a, b in zip(x, y, strict=True))
    return f"{slope / sum((a - middle) ** 2 for a in x):.2f}"


def table(found: dict[int, dict[str, dict[str, float]]]) -> str:
    """Markdown: a row per stage, seconds (processor seconds) and gigabytes per size."""
    sizes = list(found)
    lines = [f"| stage | {' | '.join(f'{n:,} clicks' for n in sizes)} | grows as clicks to the power of |"]
    lines.append("|---" * (len(sizes) + 2) + "|")
    for stage in STAGES:
        cells = [found[n][stage] for n in sizes]
        lines.append(_row(stage, cells, growth(sizes, [c["seconds"] for c in cells])))
    whole: list[dict[str, Any]] = [
        {
            "seconds": sum(c["seconds"] for c in found[n].values()),
            "processor": sum(c["processor"] for c in found[n].values()),
            "gigabytes": max(c["gigabytes"] for c in found[n].values()),
        }
        for n in sizes
    ]
    lines.append(_row("all", whole, growth(sizes, [c["seconds"] for c in whole])))
    return "\n".join(lines)


def _row(name: str, cells: list[dict[str, float]], slope: str) -> str:
    shown = (f"{c['seconds']:.1f} s ({c['processor']:.1f} s) {c['gigabytes']:.2f} GB" for c in cells)
    return f"| {name} | {' | '.join(shown)} | {slope} |"


if __name__ == "__main__":
    main()
