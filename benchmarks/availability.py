"""Prints how long it takes until what is not available is not served: a new index, beside a whole run.

python benchmarks/availability.py                    # packages, 60,000 clicks: two minutes

Wall-clock and processor seconds (all cores), each of a process that has compiled its functions before.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import wayword
from wayword.pipeline import index_of, with_availability
from wayword.progress import Progress
from wayword.store.workspace import Workspace

GONE = 0.1
"""Share of the documents that are not available."""
Seconds = tuple[float, float]


def seconds(work: Callable[[], object]) -> Seconds:
    """Wall-clock and processor time."""
    started, before = time.monotonic(), os.times()
    work()
    after = os.times()
    return time.monotonic() - started, after.user + after.system - before.user - before.system


def main() -> None:
    """Run, take a tenth of the documents away, and print both times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="packages")
    parser.add_argument("--clicks", type=int, default=60_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = wayword.simulate(asked.world, clicks=asked.clicks, seed=0, out=folder / "data")
        documents = pq.read_table(data / "documents.parquet")
        gone = np.random.default_rng(0).random(documents.num_rows) < GONE
        pq.write_table(documents.append_column("available", pa.array(~gone)), folder / "documents.parquet")
        files = data / "clicks.parquet", data / "rankings.parquet"

        def run(out: str) -> Workspace:
            return wayword.run(*files, documents=data / "documents.parquet", out=folder / out)

        def apply() -> None:
            workspace = with_availability(
                Workspace.open(folder / "timed"), folder / "documents.parquet", Progress()
            )
            index_of(workspace, workspace.config, Progress())

        run("first")
        whole, new = seconds(lambda: run("timed")), seconds(apply)
    print("| | seconds | processor seconds |\n|---|---|---|")
    for name, (wall, processor) in (("whole run", whole), ("availability and index", new)):
        print(f"| {name} | {wall:.1f} | {processor:.1f} |")
    print(f"| ratio | {new[0] / whole[0]:.2f} | {new[1] / whole[1]:.2f} |")


if __name__ == "__main__":
    main()
