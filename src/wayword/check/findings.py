"""All checks, in order: the form of the files, rows, searches and clicks, then what was given beside the log."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from msgspec import structs

from wayword.check import impressions, queries, rankings, ranks, reading, sample, searches, times, users
from wayword.check.finding import LEVELS, Finding
from wayword.check.ranks import from_zero
from wayword.check.table import Tables
from wayword.config import Config
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs import columns, log
from wayword.logs.checks import JUDGMENT_CHECKS, LOG_CHECKS
from wayword.rankings import table as rankings_table
from wayword.store.input_file import InputFile

Check = Callable[[Tables], Iterator[Finding]]
OF_ROWS: tuple[Check, ...] = (
    queries.empty,
    queries.markup,
    queries.personal,
    searches.search_id,
    searches.contradictions,
    searches.duplicates,
    ranks.valid,
    times.times,
    users.rates,
)
"""Checks that see every row of the log as it is."""
OF_SEARCHES: tuple[Check, ...] = (ranks.absurd, ranks.same, users.shares, sample.tested)
"""Checks of the searches and clicks whose rows can be used."""
OF_RANKINGS: tuple[Check, ...] = (rankings.coverage, rankings.below, rankings.agreement)


@dataclass(frozen=True)
class Given:
    """The files to check, and how they are read; see `wayword.pipeline.run`."""

    log: InputFile
    rankings: InputFile | None = None
    impressions: InputFile | None = None
    judged: bool = False
    lenient: bool = False
    first_rank: int = 1


def findings(
    engine: DuckDB, given: Given, settings: Config | None = None, *, now: datetime | None = None
) -> list[Finding]:
    """Everything that the checks find, the worst first. A fault ends no check that can still be made."""
    found = list(_findings(engine, given, settings or Config(), now or datetime.now(UTC)))
    return sorted(found, key=lambda one: LEVELS.index(one.level))


def _findings(engine: DuckDB, given: Given, settings: Config, now: datetime) -> Iterator[Finding]:
    read = reading.read(engine, "raw", given.log)
    yield from read.findings
    if not read.readable:
        return
    known = columns.named(engine, "raw", judged=given.judged)
    tables = Tables(engine, str(given.log), known, settings, now, read.first_line, given.lenient)
    rows = tables.count("raw")
    if not rows:
        yield Finding("file", "FAIL", f"{given.log} has columns but no row. Expected at least one search.")
        return
    yield _columns(tables, rows)
    log.rows(engine, known)
    tables.forget("raw")
    for check in OF_ROWS:
        yield from check(tables)
    tables.forget("rows")
    yield from _searches(tables)
    if given.impressions is not None:
        there, found = impressions.read(tables, given.impressions, given.first_rank)
        yield found
        tables = replace(tables, impressions=there)
    if not tables.count("clicks" if known.judged else "clicks WHERE weight > 0"):
        if known.has("document") and (known.judged or known.has("rank")):
            yield Finding(
                "clicks",
                "FAIL",
                f"{given.log} has no click that can be used. Expected rows with `document` and `rank`, and "
                "with a weight above 0 where there are weights.",
            )
        return
    for check in OF_SEARCHES:
        yield from check(tables)
    yield from impressions.clicks(tables)
    if given.rankings is not None:
        yield from _rankings(engine, tables, given.rankings)


def _columns(tables: Tables, rows: int) -> Finding:
    """Columns that are missing, or of a type that cannot be used."""
    do = f"`wayword import {tables.source} --out log` renames columns (--map query=THEIR_NAME)."
    try:
        columns.find(tables.engine, "raw", judged=tables.columns.judged, source=tables.source)
    except LogError as problem:
        return Finding("columns", "FAIL", str(problem), "What needs these columns is not checked.", do)
    names = ", ".join(tables.columns.names)
    return Finding(
        "columns", "PASS", f"{tables.source} has {rows:,} rows with the columns {names}.", count=rows
    )


def _searches(tables: Tables) -> Iterator[Finding]:
    """Steps `searches` and `clicks`, of the rows that can be used, with ranks from 1."""
    engine, zero = tables.engine, int(from_zero(tables) and not tables.columns.judged)
    checks = JUDGMENT_CHECKS if tables.columns.judged else LOG_CHECKS
    moved = ", ".join(
        f"rank + {zero} AS rank" if name == "rank" else engine.quote(name) for name in engine.columns("typed")
    )
    engine.step("moved", f"SELECT {moved} FROM typed")
    valid = " AND ".join(f"({check.bad}) IS NOT TRUE" for check in checks)
    engine.step("typed", f"SELECT * FROM moved WHERE {valid}")
    tables.forget("moved")
    try:
        log.searches_and_clicks(engine, tables.columns, tables.settings.log, source=tables.source)
    except LogError as problem:
        yield Finding("split", "FAIL", str(problem))
        by_hash = structs.replace(tables.settings.log, split="hash", half_life_days=0.0)
        log.searches_and_clicks(engine, tables.columns, by_hash, source=tables.source)


def _rankings(engine: DuckDB, tables: Tables, file: InputFile) -> Iterator[Finding]:
    source = str(file)
    read = reading.read(engine, "raw_rankings", file)
    yield from (replace(found, name=f"rankings_{found.name}") for found in read.findings)
    if not read.readable:
        return
    try:
        rankings_table.rows(engine, source=source)
    except LogError as problem:
        yield Finding("rankings_columns", "FAIL", str(problem), do="Rename the columns, or export them so.")
        return
    yield from rankings.rows(tables, source, read.first_line)
    if not tables.count("ranked"):
        yield Finding(
            "rankings_file",
            "FAIL",
            f"{source} has no row that can be used. Expected the results of each query.",
        )
        return
    tables.forget("raw_rankings")
    rankings.placed(tables)
    for check in OF_RANKINGS:
        yield from check(tables)


def failed(found: Sequence[Finding]) -> bool:
    """Whether one is a FAIL."""
    return any(one.level == "FAIL" for one in found)
