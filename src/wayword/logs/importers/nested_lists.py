"""Lists inside JSON: one object per search with its clicks or results in a list, made one object per item."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.logs.importers import json_lines, records
from wayword.logs.importers.columns import listed
from wayword.logs.importers.job import Job
from wayword.logs.importers.literals import text
from wayword.logs.importers.names import ROLES
from wayword.logs.importers.sources import JSON, Source

SEARCH, POSITION = "search_id", "position"


def flattened(job: Job) -> tuple[Job, list[str]]:
    """The job with a record per item, where the documents are in a list; and what was done."""
    names = [name for name in job.records.names if name.lower() not in map(str.lower, job.mapping.values())]
    if (
        "document" in job.mapping
        or any(source.kind != JSON for source in job.sources)
        or _column("document", names)
    ):
        return job, []
    found = _lists(job.records.sample)
    path = next((path for path, fields in found.items() if _column("document", fields)), None)
    if path is None:
        return job, []
    fields = found[path]
    identified = "search_id" in job.mapping or bool(_column("search_id", names) or _column("query", fields))
    numbered = bool(_column("clicked", fields)) and not _column("rank", [*fields, *names])
    for number, source in enumerate(job.sources):
        _flatten(job.engine, source, path, search="" if identified else f"{number}-", numbered=numbered)
    rows = records.of(job.engine, job.sources)
    return replace(job, records=rows), [f"a record for each item of the list {'.'.join(path)}"]


def _column(role: str, names: Sequence[str]) -> list[str]:
    return listed(role, ROLES[role], names)


def _lists(objects: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """The lists of objects in some objects, and the fields of their items.

    >>> _lists([{"q": "tv", "page": {"hits": [{"id": "a", "rank": 1}]}}])
    {('page', 'hits'): ['id', 'rank']}
    """
    found: dict[tuple[str, ...], dict[str, None]] = {}

    def walk(value: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for key, inner in value.items():
            if isinstance(inner, dict) and len(path) < json_lines.DEEPEST:
                walk(inner, (*path, key))
            elif isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
                for item in inner:
                    found.setdefault((*path, key), {}).update(dict.fromkeys(json_lines.paths([item])))

    for value in objects:
        walk(value, ())
    return {path: list(fields) for path, fields in found.items()}


def _flatten(engine: DuckDB, source: Source, path: Sequence[str], *, search: str, numbered: bool) -> None:
    """Write a line per item. A line without items stays one."""
    found = "$" + "".join(f'."{key}"' for key in path)
    item = f"json_merge_patch(json_object('{POSITION}', place), item)" if numbered else "item"
    patch = f"CASE WHEN item IS NOT NULL THEN {item} END"
    for key in reversed(path):
        patch = f"json_object({text(key)}, {patch})"
    own = (
        f"json_merge_patch(line::JSON, json_object('{SEARCH}', {text(search)} || n))"
        if search
        else "line::JSON"
    )
    made = source.plain.with_suffix(".items")
    engine.copy(
        f"""SELECT CASE WHEN readable THEN CAST(json_merge_patch({own}, {patch}) AS VARCHAR) ELSE line END AS line
            FROM (
              SELECT *, unnest(items) AS item, generate_subscripts(items, 1) AS place FROM (
                SELECT line, n, readable, CASE WHEN readable AND coalesce(json_array_length(line, {text(found)}), 0) > 0
                         THEN from_json(json_extract(line, {text(found)}), '["JSON"]') ELSE [NULL::JSON] END AS items
                FROM (SELECT line, row_number() OVER () AS n, coalesce(json_valid(line), false) AS readable
                      FROM {records.lines_of([str(source.plain)])} WHERE trim(line) <> '')))""",
        made,
        "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'",
    )
    made.replace(source.plain)
