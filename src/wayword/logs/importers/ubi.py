"""OpenSearch UBI: query records and events (docs/ubi.md), also as Parquet; read by `wayword.logs.ubi`."""

from collections.abc import Collection
from pathlib import Path

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers import bots
from wayword.logs.importers.job import Format, Job, Outcome
from wayword.logs.importers.literals import text
from wayword.logs.importers.sources import PARQUET, Source
from wayword.logs.ubi.clicks import CLICKS
from wayword.logs.ubi.read import read_ubi
from wayword.logs.ubi.summary import PARTS


def recognises(names: Collection[str]) -> bool:
    """Query records, or events, bare or as `_source`."""
    found = {name.removeprefix("_source.") for name in names}
    return "user_query" in found or {"action_name", "event_attributes"} <= found


def read(job: Job) -> Outcome:
    """Read records and events."""
    files = {_as_lines(job, source): source.path for source in job.sources}
    bot_rows, about_bots = 0, list[str]()

    def without_bots(engine: DuckDB) -> None:
        nonlocal bot_rows, about_bots
        bot_rows, about_bots = bots.leave_out(engine, job.bots)

    log = read_ubi(
        *files,
        out=job.out,
        click_actions=CLICKS,
        weights=job.weights,
        first_ordinal=job.first_rank,
        unreadable=job.unreadable,
        memory=job.memory,
        names=files,
        reporter=job.reporter,
        filtered=without_bots,
    )
    counts = {
        part: {name: log.report[name] for name in names if log.report[name]} for part, names in PARTS.items()
    }
    said = [f"positions begin at {first}" for first in log.first_ordinals.values() if first == 0]
    said += [f"context columns: {', '.join(log.context)}"] if log.context else []
    dropped = counts["left out"] | ({bots.DROPPED: bot_rows} if bot_rows else {})
    return Outcome(counts["read"], counts["kept"], dropped, said, [*about_bots, *log.notes])


def _as_lines(job: Job, source: Source) -> Path:
    """The file under a name that the reader of UBI takes; Parquet as JSON Lines."""
    lines = source.plain.with_suffix(".ndjson")
    if source.kind != PARQUET:
        source.plain.replace(lines)
        return lines
    rows = f"SELECT CAST(to_json(r) AS VARCHAR) AS line FROM read_parquet({text(str(source.plain))}) AS r"
    try:
        job.engine.copy(rows, lines, "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'")
    except LogError as problem:
        raise LogError(f"Cannot read {source.path}: {problem}") from problem
    return lines


FORMAT = Format("ubi", "OpenSearch User Behavior Insights: query records and events", recognises, read)
