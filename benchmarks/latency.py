"""Prints how long one answer of the default policy takes in process, by kind of prefix: p50, p99 and the longest.

python benchmarks/latency.py                             # makes a workspace of 300,000 clicks of `debian` first
python benchmarks/latency.py --workspace w               # asks this one
taskset -c 0 python benchmarks/latency.py --workspace w  # on one core

Every prefix of a kind is asked once, after others of all kinds that leave every function compiled. Processor time is
told too, since other programs on the machine do not count there.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from quality import mistyped

import wayword
from wayword.engines import tables
from wayword.request import MODES
from wayword.serving.completer import Completer
from wayword.text import cuts, normalise

CLICKS = 300_000
SETTINGS = {
    "prefixes": {"start": "first-word"},
    "retriever": {"model": "popular"},
    "ranker": {"max_contexts": 1000, "rounds": 10},
}
ALPHABET = list("abcdefghijklmnopqrstuvwxyz ")
WARM_UP = 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, default=None)
    parser.add_argument("--prefixes", type=int, default=1000, help="So many of each kind.")
    arguments = parser.parse_args()
    with workspace_at(arguments.workspace) as workspace:
        completer = Completer.open(workspace)
        texts = tables.read(wayword.Workspace.open(workspace).folder("rankings"), "queries")
        asked = prefixes(texts["text"].to_pylist(), arguments.prefixes + WARM_UP)
        print("| mode | prefix | p50 | p99 | longest | p50 of processor time | p99 | longest |")
        print("|---" * 8 + "|")
        for mode in MODES:
            for warm in asked.values():
                timed(completer, warm[:WARM_UP], mode)
            for kind, typed in asked.items():
                wall, processor = timed(completer, typed[WARM_UP:], mode)
                print(f"| {mode} | {kind} | {row(wall)} | {row(processor)} |", flush=True)
            completer = Completer.open(workspace)  # forgets what was asked


@contextmanager
def workspace_at(given: Path | None) -> Iterator[Path]:
    """The given workspace, or a new one that goes away afterwards."""
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        data = wayword.simulate("debian", clicks=CLICKS, seed=0, out=Path(folder) / "data", clicks_only=True)
        wayword.run(
            data / "clicks.parquet",
            data / "rankings.parquet",
            out=Path(folder) / "workspace",
            config=wayword.Config.parse(SETTINGS),
        )
        yield Path(folder) / "workspace"


def prefixes(texts: list[str], many: int) -> dict[str, list[str]]:
    """Distinct normalised prefixes of each kind; of short ones as many as there are."""
    rng = np.random.default_rng(0)

    def known() -> str:
        found = cuts(texts[int(rng.integers(len(texts)))], start="first-word")
        return found[int(rng.integers(len(found)))] if found else ""

    def wrong(mistakes: int) -> str:
        text = known()
        for _ in range(mistakes):
            text = mistyped(text, rng, ALPHABET) if text else ""
        return text

    def new() -> str:
        words = ("".join(rng.choice(ALPHABET[:-1], rng.integers(3, 10))) for _ in range(rng.integers(1, 4)))
        return " ".join(words)

    short = sorted({text[:length] for text in texts for length in (1, 2)})
    rng.shuffle(short)
    return {
        "known": _distinct(known, many),
        "one mistake": _distinct(lambda: wrong(1), many),
        "two mistakes": _distinct(lambda: wrong(2), many),
        "new words": _distinct(new, many),
        "one or two characters": short[:many],
    }


def _distinct(draw: Callable[[], str], many: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < many:
        if text := normalise(draw()):
            found[text] = None
    return list(found)


def timed(completer: Completer, asked: list[str], mode: str) -> tuple[list[int], list[int]]:
    """Nanoseconds of each call: on the wall, and of this thread."""
    wall, processor = [], []
    for prefix in asked:
        ran, started = time.thread_time_ns(), time.perf_counter_ns()
        completer.complete(prefix, 10, mode=mode)
        wall.append(time.perf_counter_ns() - started)
        processor.append(time.thread_time_ns() - ran)
    return wall, processor


def row(nanoseconds: list[int]) -> str:
    found = np.percentile(np.array(nanoseconds) / 1e6, [50, 99, 100])
    return " | ".join(f"{value:.2f} ms" for value in found)


if __name__ == "__main__":
    main()
