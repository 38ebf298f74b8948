"""Parses UBI records: every line of the files becomes a row of one of three tables. No line can stop the others.

`asked`, the query records: place (the number of the line, over all files), application, query_id, query,
person, time, hits, attributes. `events`: place, application, query_id, query, person, time, action, object, ordinal,
completion. `left_out`, the malformed lines: place, kind (one of `line_check.REASONS`), found, line.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.checks import EXAMPLES
from wayword.logs.ubi.line_check import REASONS, TWICE, UNREADABLE, problem
from wayword.logs.ubi.lines import SCHEMA, blocks
from wayword.logs.ubi.schema import OTHER_HITS, Event, Query, json_structure
from wayword.progress import Progress

_WRAPPERS = {"index": "JSON", "create": "JSON", "_source": "JSON"}
"""Fields that a bulk file or an export puts around a record."""
_SPELLINGS = {name: ["VARCHAR"] for name in OTHER_HITS}
_STRUCTURE = json.dumps({**json_structure(Query), **json_structure(Event), **_WRAPPERS, **_SPELLINGS})
_HITS = f"coalesce({', '.join(f'r.{name}' for name in ('query_response_hit_ids', *OTHER_HITS))})"
_MILLISECONDS = "TRY_CAST(r.timestamp AS DOUBLE)"
_INSTANT = "coalesce(TRY_CAST(r.timestamp AS TIMESTAMPTZ), TRY_CAST(upper(r.timestamp) AS TIMESTAMPTZ))"
_OBJECTS = [
    f"{record}{field}"
    for record in ("$", "$._source")
    for field in (
        "",
        ".query_attributes",
        ".event_attributes",
        ".event_attributes.object",
        ".event_attributes.position",
        ".event_attributes.completion",
    )
]
_TWICE = (
    f"len(list_filter(json_keys(text, {_OBJECTS}), lambda keys: len(keys) > len(list_distinct(keys)))) > 0"
)
"""Whether an object that is read has two fields of one name, which parsers understand differently."""
_KIND = f"""
    CASE WHEN text = '' THEN 'blank'
         WHEN reason IS NOT NULL THEN reason
         WHEN r IS NULL THEN '{UNREADABLE}'
         WHEN {_TWICE} THEN '{TWICE}'
         WHEN nullif(r.action_name, '') IS NULL AND r.user_query IS NULL AND r.query_id IS NULL
         THEN CASE WHEN r.index IS NULL AND r.create IS NULL THEN 'other' ELSE 'bulk' END
         WHEN coalesce(r.application, '') <> coalesce(:application, r.application, '') THEN 'elsewhere'
         WHEN nullif(r.action_name, '') IS NULL THEN 'query'
         ELSE 'event' END"""
_BLOCK = f"""
    WITH decoded AS (
      SELECT place, reason, found, regexp_replace(TRY(decode(bytes)), '^\\s+', '') AS text FROM wayword_rows
    ), parsed AS (
      SELECT *, CASE WHEN reason IS NULL AND starts_with(text, '{{') AND json_valid(text)
                     THEN from_json(text, '{_STRUCTURE}') END AS whole
      FROM decoded
    ), unwrapped AS (
      SELECT *, CASE WHEN whole._source IS NULL THEN whole
                     ELSE from_json(whole._source, '{_STRUCTURE}') END AS r
      FROM parsed
    ), timed AS (
      SELECT *, CASE WHEN {_MILLISECONDS} IS NULL THEN {_INSTANT}
                     ELSE TRY(make_timestamptz(CAST({_MILLISECONDS} * 1000 AS BIGINT))) END AS moment
      FROM unwrapped
    )
    SELECT place, {_KIND} AS kind, coalesce(r.application, '') AS application,
           nullif(r.query_id, '') AS query_id, r.user_query AS query,
           coalesce(nullif(r.user_id, ''), nullif(r.client_id, '')) AS person,
           CASE WHEN isfinite(moment) AND year(moment) BETWEEN 1 AND 9999 THEN moment END AS time,
           r.action_name AS action, nullif(r.event_attributes.object.object_id, '') AS object,
           TRY_CAST(r.event_attributes.position.ordinal AS DOUBLE) AS ordinal,
           list_filter({_HITS}, lambda id: id <> '') AS hits,
           r.query_attributes AS attributes, r.event_attributes.completion AS completion,
           found, coalesce(left(text, 200), '(not UTF-8)') AS line
    FROM timed
"""
_COMMON = "place, application, query_id, query, person, time"
_PARTS = {
    "asked": f"SELECT {_COMMON}, hits, attributes FROM block WHERE kind = 'query'",
    "events": f"SELECT {_COMMON}, action, object, ordinal, completion FROM block WHERE kind = 'event'",
    "left_out": f"SELECT place, kind, found, line FROM block WHERE kind IN {REASONS}",
    "kinds": "SELECT kind, count(*) AS n, max(place) AS latest FROM block GROUP BY kind",
}


@dataclass(frozen=True)
class Source:
    """A file, the number of its first line, its lines, those without a character, and one at which it was truncated."""

    path: Path
    first: int
    lines: int
    empty: int
    cut_off: int | None


def prepare(engine: DuckDB) -> None:
    """Create the tables, without rows."""
    _add(engine, SCHEMA.empty_table(), None)


def read(
    engine: DuckDB,
    files: Sequence[Path],
    *,
    application: str | None,
    reporter: Progress,
    names: Mapping[Path, Path] | None = None,
) -> list[Source]:
    """Read all files into the tables; `names` are their names in messages, where they are others."""
    prepare(engine)
    sources: list[Source] = []
    sizes = [file.stat().st_size for file in files]
    first = 0
    for number, file in enumerate(files):
        end, kept = first, 0
        for block, count_of_lines in blocks(file, first):
            _add(engine, block, application)
            end, kept = end + count_of_lines, kept + block.num_rows
        sources.append(
            Source(
                (names or {}).get(file, file), first, end - first, end - first - kept, _cut_off(engine, first)
            )
        )
        first = end
        reporter.advance(sum(sizes[: number + 1]), sum(sizes))
    return sources


def _add(engine: DuckDB, lines: pa.Table, application: str | None) -> None:
    problems = [problem(line) or (None, None) for line in lines["bytes"].to_pylist()]
    for place, name in enumerate(("reason", "found")):
        lines = lines.append_column(name, pa.array([one[place] for one in problems], pa.string()))
    engine.load("block", lines, _BLOCK, application=application)
    for table, sql in _PARTS.items():
        engine.append(table, sql)


def _cut_off(engine: DuckDB, first: int) -> int | None:
    """The last line of a file that begins at `first`, if it is unreadable: a record that was being written."""
    row = engine.arrow(
        f"""SELECT max(latest) AS latest, max(CASE WHEN kind = '{UNREADABLE}' THEN latest END) AS unreadable
            FROM kinds WHERE latest >= {first} AND kind <> 'blank'"""
    ).to_pylist()[0]
    return row["latest"] if row["latest"] == row["unreadable"] else None


def check(engine: DuckDB, sources: Sequence[Source], *, unreadable: float) -> dict[str, int]:
    """Count the records; a truncated end of a file is accepted, other malformed lines up to a share of all, or one."""
    rows = engine.arrow("SELECT kind, CAST(sum(n) AS BIGINT) AS n FROM kinds GROUP BY kind").to_pylist()
    kinds = Counter({row["kind"]: row["n"] for row in rows})
    cut_off = sum(source.cut_off is not None for source in sources)
    kinds[UNREADABLE] -= cut_off
    lines = kinds.total() - kinds["blank"]
    kinds["blank"] += sum(source.empty for source in sources)
    left_out = sum(kinds[reason] for reason in REASONS)
    if left_out > max(1, unreadable * lines):
        raise LogError(
            f"{left_out:,} of {lines:,} lines are no UBI records; expected one JSON object per line (NDJSON), and no "
            f"more than {unreadable:.1%} that cannot be used:\n"
            + "\n".join(describe_left_out(engine, sources))
            + "\nMend the files, or allow more with --unreadable."
        )
    return {
        "files": len(sources),
        "query records": kinds["query"],
        "events": kinds["event"],
        "lines that name an index": kinds["bulk"],
        "blank lines": kinds["blank"],
        "records cut off at the end of a file": cut_off,
        **{reason: kinds[reason] for reason in REASONS},
        "records that are neither queries nor events": kinds["other"],
        "records of other applications": kinds["elsewhere"],
        "times that cannot be read": sum(
            count(engine, f"{t} WHERE time IS NULL") for t in ("asked", "events")
        ),
    }


def describe_left_out(engine: DuckDB, sources: Sequence[Source]) -> list[str]:
    """Each reason for which lines were left out: their number, and the first of them with file and line."""
    cut_off = [source.cut_off for source in sources if source.cut_off is not None]
    rows = engine.arrow(
        f"""SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY kind) AS n FROM left_out
                           WHERE NOT list_contains(:cut_off, place))
            QUALIFY row_number() OVER (PARTITION BY kind ORDER BY place) <= {EXAMPLES} ORDER BY kind, place""",
        cut_off=cut_off,
    ).to_pylist()
    described = {row["kind"]: [f"{row['n']:,} {row['kind']}. For example:"] for row in rows}
    for row in rows:
        found = f" ({row['found']})" if row["found"] else ""
        described[row["kind"]].append(f"    {_where(row['place'], sources)}: {row['line'].rstrip()!r}{found}")
    return ["\n".join(part) for part in described.values()]


def _where(place: int, sources: Sequence[Source]) -> str:
    source = next(s for s in sources if s.first <= place < s.first + s.lines)
    return f"{source.path}:{place - source.first + 1}"


def count(engine: DuckDB, table: str) -> int:
    """The number of rows of a table, optionally with a condition."""
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())
