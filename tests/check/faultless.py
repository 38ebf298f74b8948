"""A log without a fault, its rankings and its impressions, and what the checks say about changed ones."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from wayword.check.finding import Finding
from wayword.check.findings import Given, findings
from wayword.config import Config
from wayword.engines.duck import DuckDB
from wayword.store.input_file import InputFile

Row = dict[str, Any]
SEARCHES, QUERIES, DEPTH, USERS = 600, 20, 10, 60
START = datetime(2026, 1, 5, tzinfo=UTC)
NOW = datetime(2026, 11, 19, 14, 0, tzinfo=UTC)
CONFIG = Config.parse({"check": {"few_test": 10, "enough_test": 20}})
"""600 searches have about 60 to test with."""


def log() -> list[Row]:
    """One click per search, at ranks 1 to 5; a search every hour, each user one every 60 hours."""
    return [
        {
            "search_id": f"s{i}",
            "query": f"query {i % QUERIES}",
            "document": f"d{i % QUERIES}-{i % 5 + 1}",
            "rank": i % 5 + 1,
            "user": f"u{i % USERS}",
            "time": (START + timedelta(hours=i)).isoformat(),
        }
        for i in range(SEARCHES)
    ]


def rankings() -> list[Row]:
    """Ten documents of its own for each query."""
    return [
        {"query": f"query {q}", "document": f"d{q}-{rank}", "rank": rank}
        for q in range(QUERIES)
        for rank in range(1, DEPTH + 1)
    ]


def impressions(rows: Sequence[Row]) -> list[Row]:
    """What each search showed: all ten documents."""
    return [
        {
            "search_id": row["search_id"],
            "query": row["query"],
            "document": f"d{row['query'].split()[1]}-{rank}",
            "rank": rank,
            "clicked": int(rank == row["rank"]),
        }
        for row in rows
        for rank in range(1, DEPTH + 1)
    ]


def write(
    path: Path, rows: Sequence[Row], *, delimiter: str = ",", end: str = "\n", encoding: str = "utf-8"
) -> Path:
    """Write rows as a text table."""
    with path.open("w", newline="", encoding=encoding) as file:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, names, delimiter=delimiter, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    return path


def check(
    log: Path,
    rankings: Path | None = None,
    impressions: Path | None = None,
    *,
    config: Config = CONFIG,
    **options: Any,
) -> list[Finding]:
    """What is found in files, at a fixed time."""
    ranked, shown = (None if path is None else InputFile(path) for path in (rankings, impressions))
    engine = DuckDB(threads=1)
    try:
        return findings(engine, Given(InputFile(log), ranked, shown, **options), config, now=NOW)
    finally:
        engine.close()


def checked(
    folder: Path,
    rows: Sequence[Row] | None = None,
    *,
    ranked: Sequence[Row] | None = None,
    shown: Sequence[Row] | None = None,
    **options: Any,
) -> list[Finding]:
    """What is found in a log and rankings, by default without a fault, and in impressions."""
    return check(
        write(folder / "log.csv", log() if rows is None else rows),
        write(folder / "rankings.csv", rankings() if ranked is None else ranked),
        None if shown is None else write(folder / "impressions.csv", shown),
        **options,
    )


def faults(found: Sequence[Finding]) -> dict[str, tuple[str, int]]:
    """The level and the count of all findings that are no PASS, by name."""
    return {one.name: (one.level, one.count) for one in found if one.level != "PASS"}


def named(found: Sequence[Finding], name: str) -> Finding:
    """The finding of a name."""
    (one,) = [one for one in found if one.name == name]
    return one
