"""Measures `wayword import` beside DuckDB that reads the same bytes: time, CPU time and peak memory.

    python benchmarks/ingest.py --rows 10000000 --memory 2GB

Each runs in a process of its own, in turn; the table has the fastest of `--repeats`. `scan` reads every value and keeps
none, `table` reads the file into a table of DuckDB, `parquet` writes the columns of a log as Parquet, as an import does
beside all that it checks; `parquet, tuned` does so with the settings of the import. A hundredth of the rows are there
twice, as in a log of a shop.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from wayword.engines.duck import PARQUET_FORM

KINDS = ("csv", "csv.gz", "jsonl", "parquet")
MAKE = """
    SELECT 's' || search AS search_id, 'query number ' || (hash(search) % 200000) AS search_term,
           'document-' || (hash(place) % 50000) AS sku, CAST(1 + hash(place + 7) % 10 AS INTEGER) AS position,
           'u' || (hash(search) % 500000) AS user_id,
           CAST(TIMESTAMP '2026-01-01' + to_seconds(place) AS VARCHAR) AS time
    FROM (SELECT CASE WHEN row % 100 = 0 AND row > 0 THEN row - 1 ELSE row END AS place, place // 2 AS search
          FROM range({rows}) AS r(row))
"""
READERS = {
    "csv": "read_csv({0})",
    "csv.gz": "read_csv({0})",
    "jsonl": "read_json({0})",
    "parquet": "read_parquet({0})",
}
_WRITE = (
    "COPY (SELECT search_term AS query, sku AS document, position AS rank, search_id, user_id AS user, "
    "CAST(time AS TIMESTAMPTZ) AS time FROM {0}) TO '{1}' "
)
DUCKDB = {
    "scan": "SELECT max(search_id), max(search_term), max(sku), max(position), max(user_id), max(time) FROM {0}",
    "table": "CREATE TABLE log AS SELECT * FROM {0}",
    "parquet": _WRITE + "(COMPRESSION zstd)",
    "parquet, tuned": _WRITE + f"({PARQUET_FORM})",
}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--memory", default="2GB")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="wayword-ingest-") as folder:
        print(f"{given.rows:,} rows, {given.memory}, {os.cpu_count()} processors, best of {given.repeats}\n")
        print("| file | MB | | seconds | CPU seconds | peak MB | speed of the import, of this |")
        print("|---|---|---|---|---|---|---|")
        for kind in given.kinds:
            _compare(Path(folder), kind, given)


def _compare(folder: Path, kind: str, given: argparse.Namespace) -> None:
    file = folder / f"log.{kind}"
    _run("make", folder, file, kind, given)
    what = ("import", *DUCKDB)
    best: dict[str, dict[str, float]] = {}
    for _ in range(given.repeats):
        for each in what:
            found = _run(each, folder, file, kind, given)
            best[each] = min(best.get(each, found), found, key=lambda one: one["cpu"])
    own = best["import"]
    for each in what:
        row = best[each]
        named = "`wayword import`" if each == "import" else f"DuckDB, {each}"
        share = (
            ""
            if each == "import"
            else f"{row['seconds'] / own['seconds']:.2f} ({row['cpu'] / own['cpu']:.2f} by CPU)"
        )
        size = f"{file.stat().st_size / 1e6:,.0f}"
        print(
            f"| {kind} | {size} | {named} | {row['seconds']:.1f} | {row['cpu']:.1f} | {row['peak']:,.0f} | {share} |",
            flush=True,
        )
    file.unlink()


def _run(what: str, folder: Path, file: Path, kind: str, given: argparse.Namespace) -> dict[str, float]:
    arguments = json.dumps([what, str(folder), str(file), kind, given.rows, given.memory])
    done = subprocess.run(
        [sys.executable, __file__, "--one", arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _one(what: str, folder: str, file: str, kind: str, rows: int, memory: str) -> None:
    """Do one of the things in this process, and print what it took."""
    import resource
    import time

    began = time.perf_counter()
    if what == "import":
        from wayword.logs.importers.read import import_log

        log = import_log(file, out=f"{folder}/log", memory=memory)
        if sum(log.outcome.kept.values()) < 0.98 * rows:
            raise SystemExit(f"too few rows were kept: {log.outcome}")
    else:
        _duckdb(what, folder, file, kind, rows, memory)
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = time.perf_counter() - began
    print(
        json.dumps(
            {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024 / 1e6}
        )
    )


def _duckdb(what: str, folder: str, file: str, kind: str, rows: int, memory: str) -> None:
    import duckdb

    connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": f"{folder}/spill"})
    connection.execute("SET TimeZone = 'UTC'")
    if what == "make":
        form = "HEADER" if kind.startswith("csv") else f"FORMAT {'json' if kind == 'jsonl' else 'parquet'}"
        connection.execute(f"COPY ({MAKE.format(rows=rows)}) TO '{file}' ({form})")
        return
    connection.execute(
        DUCKDB[what].format(READERS[kind].format(f"'{file}'"), f"{folder}/duckdb.parquet")
    ).fetchall()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _one(*json.loads(sys.argv[2]))
    else:
        main()
