"""Time of the table stages on DuckDB, on Sail and on a Spark cluster of two workers on loopback, by number of clicks.

python benchmarks/spark.py --clicks 100000 1000000 --engines duckdb sail cluster --kill

Measured are the stages log, rankings, contexts, propensity and worth, and reading what demand is learned from: all that
is SQL alone. The log is a made shop (benchmarks/made_log.py) with a query per 20 clicks and 15 results per query. Every
engine must fill the same tables (a hash of their rows is compared; floats are rounded to 9 digits). With `--kill`, one
of the two workers is killed while the cluster fills them, and the hash must still be the same.

The cluster needs Java 17 or 21 and Apache Spark (SPARK_HOME).
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import made_log
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword import pipeline
from wayword.config import Config
from wayword.demand import training_data
from wayword.engines import cluster, local_server, tables
from wayword.engines.kept import SUFFIX
from wayword.plan import Inputs
from wayword.progress import SILENT
from wayword.store.workspace import building

STAGES = ("log", "rankings", "contexts", "propensity", "worth")
CLICKS_PER_QUERY, RESULTS = 20, 15
WORKERS = 2
HOST = local_server.HOST


@contextmanager
def workers(home: Path, memory: str) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A standalone Spark cluster of two workers of one core each: its address, and the workers."""
    java = local_server.java_home()
    port, started = local_server.free_port(), []
    with tempfile.TemporaryDirectory(prefix="wayword-cluster-", ignore_cleanup_errors=True) as folder:

        def start(name: str, what: str, *arguments: str) -> "subprocess.Popen[bytes]":
            with (Path(folder) / name).open("wb") as log:
                process = subprocess.Popen(
                    [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**local_server.environment(home, java), "SPARK_WORKER_DIR": f"{folder}/work-{name}"},
                    start_new_session=True,
                )
            started.append(process)
            return process

        ui = ("--webui-port", "0")
        try:
            start("master", "master.Master", "--host", HOST, "--port", str(port), *ui)
            made = [
                start(
                    f"worker-{n}",
                    "worker.Worker",
                    "--cores",
                    "1",
                    "--memory",
                    memory,
                    *ui,
                    f"spark://{HOST}:{port}",
                )
                for n in range(WORKERS)
            ]
            yield f"spark://{HOST}:{port}", made
        finally:
            for process in started:
                local_server.stop(process)


@contextmanager
def served(engine: str, memory: str) -> Iterator[tuple[str | None, list["subprocess.Popen[bytes]"]]]:
    """The engine's address, and its workers."""
    if engine == "duckdb":
        yield None, []
    elif engine == "sail":
        with local_server.sail() as address:
            yield address, []
    else:
        home = local_server.spark_home()
        settings = {"spark.executor.memory": memory, "spark.driver.memory": "1g", "spark.executor.cores": "1"}
        with (
            workers(home, memory) as (master, made),
            local_server.spark(home, master=master, settings=settings) as address,
        ):
            yield address, made


def fill(world: Path, out: Path, address: str | None) -> tuple[dict[str, float], str]:
    """Seconds of each stage, and the hash of all tables."""
    config, seconds = Config(), {}
    if address is None:
        log, rankings = str(world / made_log.LOG), str(world / made_log.RANKINGS)
    else:
        log, rankings = (world / made_log.LOG).as_uri(), (world / made_log.RANKINGS).as_uri()
    inputs = Inputs.at(log, rankings)
    planned = pipeline.stages_before_index(config, inputs, SILENT)
    with cluster.opened(address) as session, building(out, SILENT) as build:
        engines = cluster.engines_of(session, None, build.path)[1] if session else None
        with tables.tables_on(engines):
            for name in STAGES:
                started = time.monotonic()
                build.stage(name, planned[name])
                seconds[name] = time.monotonic() - started
            started = time.monotonic()
            with tables.tables_in(out) as engine:
                tables.fetch_numbered(engine, build.folders)
                read = training_data.read(engine, "unbiased")
            seconds["reading"] = time.monotonic() - started
    return seconds, digest(build.folders, read)


def digest(folders: dict[str, Path], read: training_data.TrainingData) -> str:
    """A hash of the rows of all tables in their order."""
    found = hashlib.sha256()
    for stage in STAGES:
        names = {file.name.removesuffix(SUFFIX).removesuffix(".parquet") for file in folders[stage].glob("*")}
        for name in sorted(names - {"artefact.json"}):
            add(found, tables.read(folders[stage], name))
    for table in (read.clicked, read.searches, read.held_out):
        add(found, table)
    return found.hexdigest()[:16]


def add(found: "hashlib._Hash", table: pa.Table) -> None:
    """Add a table: names, types and rows, floats to nine digits."""
    for name in table.column_names:
        column = table[name].combine_chunks()
        found.update(f"{name} {column.type}".encode())
        if pa.types.is_floating(column.type):
            mantissa, exponent = np.frexp(np.nan_to_num(column.to_numpy(zero_copy_only=False), nan=-1.0))
            found.update(np.round(mantissa * 1e9).astype(np.int64).tobytes() + exponent.tobytes())
        else:
            texts = pc.fill_null(column.cast(pa.large_string()), "\0")
            found.update(pc.binary_length(texts).to_numpy().tobytes() + "".join(texts.to_pylist()).encode())


def killed_after(seconds: float, process: "subprocess.Popen[bytes]") -> threading.Timer:
    """A timer that kills a worker and its executor at once."""

    def kill() -> None:
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def measure(world: Path, engine: str, memory: str, *, kill: float = 0.0) -> dict[str, object]:
    """One line of the table."""
    with tempfile.TemporaryDirectory(prefix="wayword-bench-") as folder:
        started = time.monotonic()
        with served(engine, memory) as (address, made):
            began = time.monotonic()
            timer = killed_after(kill, made[0]) if kill else None
            seconds, found = fill(world, Path(folder) / "out", address)
            whole = sum(seconds.values())
            if timer:
                timer.cancel()
                assert made[0].poll() is not None, "the worker was not killed"
                engine += ", a worker killed"
        return {"engine": engine, "start": began - started, **seconds, "tables": whole, "digest": found}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clicks", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument(
        "--engines", nargs="+", choices=("duckdb", "sail", "cluster"), default=["duckdb", "sail"]
    )
    parser.add_argument(
        "--kill", action="store_true", help="Also with a worker of the cluster killed half-way."
    )
    parser.add_argument("--memory", default="2g", help="Of each worker.")
    parser.add_argument("--folder", type=Path, default=None, help="Where made logs are kept.")
    given = parser.parse_args()
    root = given.folder or Path(tempfile.mkdtemp(prefix="wayword-made-"))
    for clicks in given.clicks:
        world, queries = root / str(clicks), clicks // CLICKS_PER_QUERY
        if not (world / made_log.LOG).exists():
            made_log.write(world, queries=queries, pairs=queries * RESULTS, clicks=clicks)
        rows: list[dict[str, object]] = []
        for engine in given.engines:
            rows.append(measure(world, engine, given.memory))
            print(json.dumps({"clicks": clicks, **rows[-1]}), flush=True)
            if engine == "cluster" and given.kill:
                half = float(str(rows[-1]["tables"])) / 2
                rows.append(measure(world, engine, given.memory, kill=half))
                print(json.dumps({"clicks": clicks, **rows[-1]}), flush=True)
        if len({row["digest"] for row in rows}) > 1:
            sys.exit(f"The engines filled different tables: {rows}")
        columns = ["engine", "start", *STAGES, "reading", "tables"]
        print(f"\n{clicks:,} clicks\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for row in rows:
            cells = [
                f"{row[name]:.1f}" if isinstance(row[name], float) else str(row[name]) for name in columns
            ]
            print(f"| {' | '.join(cells)} |")
    if given.folder is None:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
