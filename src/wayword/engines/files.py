"""Input files: their formats, and their column names, which are validated before an engine reads the file.

Engines compare column names without case and silently rename duplicates, so files with ambiguous names are rejected
here.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.errors import LogError
from wayword.store.input_file import InputFile

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
LONGEST_HEADER = 1 << 20
"""Bytes of the first record of a CSV file; a longer one is refused rather than read."""
ROW = "input_row"
"""Column added to every table that is read: the 0-based row number in the file."""


def kind_of(file: InputFile) -> str:
    """The suffix that determines the format of a file, without `.gz`."""
    path = file.path
    kind = path.with_suffix("").suffix.lower() if is_compressed(path) else path.suffix.lower()
    known = (PARQUET, *DELIMITERS, *JSON_LINES)
    if kind not in known or (kind == PARQUET and is_compressed(path)):
        raise LogError(
            f"Found {path.name}; expected a file ending in {', '.join(known)} (CSV and JSON may be .gz)."
        )
    if file.size == 0:
        raise LogError(f"{path} is empty: it has 0 bytes. Expected columns and at least one row.")
    return kind


def is_compressed(path: Path) -> bool:
    """Whether the file name ends in `.gz`."""
    return path.suffix.lower() == ".gz"


def names_in_header(path: InputFile, delimiter: str) -> list[str]:
    """Column names of a CSV or TSV file: its first record."""
    try:
        with gzip.open(path.opened) if is_compressed(path.path) else path.opened.open("rb") as file:
            head = file.read(LONGEST_HEADER + 1)
        cut = len(head) > LONGEST_HEADER
        text = io.StringIO(
            codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=not cut), newline=""
        )
        names = next(csv.reader(text, delimiter=delimiter), [])
    except UnicodeDecodeError as problem:
        raise LogError(
            f"{path} is not UTF-8 text ({problem}). Save it as UTF-8, or let `wayword import` do it (also for tables "
            "of products and rankings: --documents, --rankings)."
        ) from problem
    except (OSError, EOFError, zlib.error, csv.Error) as problem:
        raise LogError(f"Cannot read {path}: {problem}") from problem
    if cut and not text.read(1):
        raise LogError(
            f"The first line of {path} has more than {LONGEST_HEADER:,} bytes; expected the names of the columns."
        )
    return distinct(names, path)


def names_in_parquet(path: InputFile) -> list[str]:
    """Column names of a Parquet file."""
    try:
        return distinct(pq.read_schema(path.opened).names, path)
    except (OSError, pa.ArrowException) as problem:
        raise LogError(f"Cannot read {path}: {problem}") from problem


def distinct(names: Sequence[str], path: InputFile) -> list[str]:
    """Validate column names: none may be empty, reserved, or equal to another but for case."""
    if not names:
        raise LogError(f"{path} is empty: it has no columns. Expected columns and at least one row.")
    seen: dict[str, str] = {}
    for place, name in enumerate(names, start=1):
        if "\0" in name:
            raise LogError(f"{path}: the name of column {place} has a NUL character ({name!r}). Rename it.")
        if not name.strip():
            raise LogError(
                f"{path}: column {place} of {len(names)} has no name. Name it, or leave it out (pandas: "
                "index=False)."
            )
        if name.lower() == ROW:
            raise LogError(f"{path} has a column {name}; Wayword uses that name itself. Rename the column.")
        if name.lower() in seen:
            raise LogError(
                f"{path} has two columns of one name: {seen[name.lower()]!r} and {name!r} (case does not count). "
                "Rename one of them."
            )
        seen[name.lower()] = name
    return list(names)
