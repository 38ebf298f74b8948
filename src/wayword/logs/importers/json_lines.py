"""JSON Lines: the objects of a file, the paths of their fields, and where a line is."""

import json
import mmap
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers.literals import text
from wayword.logs.importers.sources import Source

SAMPLED = 200
"""Lines from which the names of the fields are taken."""
DEEPEST = 3
"""Levels of nested objects whose fields have names of their own, such as `event.query`."""
LONGEST = 1 << 24
"""Bytes of a line."""
LARGEST = 1 << 30
"""Bytes of an object of several lines."""


def make_lines(engine: DuckDB, source: Source) -> None:
    """Write the objects of a JSON list, or of a file whose objects have several lines each, as lines."""
    with source.plain.open("rb") as file:
        start = file.readline(LONGEST).removeprefix(b"\xef\xbb\xbf").lstrip()
    listed = start.startswith(b"[")
    if not listed and start.rstrip() != b"{":
        return
    form = "array" if listed else "unstructured"
    longest = max(LONGEST, min(source.plain.stat().st_size + 1, LARGEST))
    made = source.plain.with_suffix(".lines")
    try:
        engine.copy(
            f"""SELECT CAST(json(json) AS VARCHAR) AS line FROM read_json_objects({text(str(source.plain))},
                format = '{form}', maximum_object_size = {longest})""",
            made,
            "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'",
        )
    except LogError as problem:
        begins, what = (
            ("[", "JSON list of objects") if listed else ("{ alone", "JSON object of several lines")
        )
        raise LogError(
            f"{source.path} begins with {begins} and is no {what}: {problem} Expected JSON Lines (one object "
            "per line), objects of several lines, or a list of objects."
        ) from problem
    made.replace(source.plain)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects among the first lines of a file."""
    with path.open("rb") as file:
        for line in islice(iter(lambda: file.readline(LONGEST), b""), 5 * SAMPLED):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def paths(objects: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The fields of some objects, also nested ones (`event.query`) where most values are objects, with JSON paths.

    >>> paths([{"q": "tv", "event": {"rank": 1}}])
    {'q': '$."q"', 'event': '$."event"', 'event.rank': '$."event"."rank"'}
    """
    found: dict[str, str] = {}

    def walk(values: Sequence[dict[str, Any]], name: str, path: str, depth: int) -> None:
        for key in dict.fromkeys(key for value in values for key in value if key and '"' not in key):
            found.setdefault(f"{name}{key}", f'{path}."{key}"')
            given = [value[key] for value in values if value.get(key) is not None]
            inner = [value for value in given if isinstance(value, dict)]
            if depth < DEEPEST and 2 * len(inner) > len(given):
                walk(inner, f"{name}{key}.", f'{path}."{key}"', depth + 1)

    walk(objects, "", "$", 1)
    return found


def line_of(path: Path, line: str) -> int | None:
    """The number of the first line with this text."""
    sought = line.encode()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.find(sought)
        while place >= 0 and not _is_line(data, place, place + len(sought)):
            place = data.find(sought, place + 1)
        if place < 0:
            return None
        lines, begin = 1, 0
        while begin < place:
            end = min(place, begin + (1 << 24))
            lines += data[begin:end].count(b"\n")
            begin = end
        return lines


def _is_line(data: mmap.mmap, begin: int, end: int) -> bool:
    """Whether these bytes are a whole line."""
    return (begin == 0 or data[begin - 1 : begin] == b"\n") and data[end : end + 1] in (b"\n", b"\r", b"")
