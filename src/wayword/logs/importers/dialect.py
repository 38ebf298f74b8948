"""The dialect of a CSV file: its separator and the names of its columns, found in its first lines."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wayword.errors import LogError

SEPARATORS = ",;\t|^~\x01"
SAMPLE = 1 << 18
"""Bytes that are looked at."""
RECORDS = 200
PREAMBLE = 20
"""Lines that may stand above the names of the columns."""


@dataclass(frozen=True)
class Dialect:
    """The separator, the names of the columns, lines before the first row, whether the last of them names the columns,
    whether quotes count, and which sign quotes."""

    separator: str
    names: tuple[str, ...]
    skipped: int
    headed: bool
    quoted: bool = True
    mark: str = '"'


def find(path: Path, *, shown: Path, quoted: bool = True) -> Dialect:
    """Find the dialect of a UTF-8 file. A file without a header has the names column1, column2, …"""
    text = _sample(path)
    told = text.startswith("sep=") and text[5:6] == "\n"  # Excel's way of naming the separator
    separator = text[4] if told else ""
    body = text.partition("\n")[2] if told else text
    comments = 0 if told else _comments(body)
    body = "".join(body.splitlines(keepends=True)[comments:])
    if not body.strip():
        raise LogError(
            f"{shown} is empty: it has no columns. Expected names of columns and at least one row."
        )
    separator = separator or max(SEPARATORS, key=lambda each: _fit(body, each, quoted=quoted))
    if quoted and _is_single_quoted(body, separator):
        first = next(csv.reader(io.StringIO(body, newline=""), delimiter=separator, quotechar="'"))
        headed = _is_header(first)
        return Dialect(separator, _names(first, headed), told + comments + headed, headed, quoted, "'")
    above = 0 if told or comments else _above(body, separator, quoted=quoted)
    body = "".join(body.splitlines(keepends=True)[above:])
    first = next(iter(_records(body, separator, quoted=quoted)), [])
    headed = _is_header(first)
    return Dialect(separator, _names(first, headed), told + comments + above + headed, headed, quoted)


def _is_single_quoted(text: str, separator: str) -> bool:
    """Whether the names of columns stand between single quotes.

    >>> _is_single_quoted("'query';'rank'\\n'tv';'1'", ";"), _is_single_quoted("query;rank\\n'tv;1", ";")
    (True, False)
    """
    fields = [field.strip() for field in next(filter(str.strip, text.splitlines()), "").split(separator)]
    return '"' not in text and len(fields) > 1 and all(len(f) > 2 and f[0] == f[-1] == "'" for f in fields)


def _above(text: str, separator: str, *, quoted: bool) -> int:
    """Lines above the names of columns, such as the title of an export: the first with fewer fields than most have.

    >>> _above("Report, all shops\\n\\nquery,item,rank\\ntv,1,1\\ntv,2,2", ",", quoted=True)
    2
    """
    most = _usual(_records(text, separator, quoted=quoted))[0]
    lines = text.splitlines(keepends=True)[: PREAMBLE + 1]
    for place, line in enumerate(lines):
        record = next(iter(_records(line, separator, quoted=quoted)), [])
        filled = sum(bool(field.strip()) for field in record)
        if filled > most * 2 / 3 or (len(record) >= most and filled > most / 2):
            return place
        if line.count('"') % 2:
            break
    return 0


def _usual(records: Sequence[Sequence[str]]) -> tuple[int, float]:
    """How many fields most records have, and their share."""
    if not records:
        return 1, 0.0
    (fields, number), *_ = Counter(map(len, records)).most_common(1)
    return fields, number / len(records)


def _comments(text: str) -> int:
    """Lines that begin with # before the names of columns, as some exports have.

    >>> _comments("# export\\nquery,rank\\ntv,1"), _comments("#query,rank\\ntv,1")
    (1, 0)
    """
    lines = text.splitlines()
    count = next((place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    commas = [max(line.count(separator) for separator in SEPARATORS) for line in lines[: count + 1]]
    return count if count and commas[-1] > max(commas[:-1]) else 0


def _sample(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(SAMPLE)
    if len(data) == SAMPLE:
        data = data[: data.rfind(b"\n") + 1] or data
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _records(text: str, separator: str, *, quoted: bool) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    reader = (
        csv.reader(lines, delimiter=separator)
        if quoted
        else csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    )
    found: list[list[str]] = []
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) == RECORDS:
                break
    except csv.Error:
        pass  # a field too long for the sample; the records before it tell enough
    return found


def _fit(text: str, separator: str, *, quoted: bool) -> tuple[float, int]:
    """How well a separator explains the lines: the share with as many fields as most have, and that number."""
    fields, share = _usual(_records(text, separator, quoted=quoted))
    return (round(share, 1), fields) if fields > 1 else (0.0, 1)


def _is_header(first: Sequence[str]) -> bool:
    """Names of columns are no numbers, no times and not empty.

    >>> _is_header(["search_term", "position"]), _is_header(["tv", "3", "2026-01-01"])
    (True, False)
    """
    return not any(field.strip()[:1].isdigit() for field in first) and any(field.strip() for field in first)


def _names(first: Sequence[str], headed: bool) -> tuple[str, ...]:
    return _distinct(first if headed else [f"column{place}" for place in range(1, len(first) + 1)])


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names without surrounding spaces; an empty or repeated one is named by its place.

    >>> _distinct(["Query ", "", "query"])
    ('Query', 'column2', 'query_3')
    """
    made: list[str] = []
    for place, given in enumerate(names, start=1):
        name = given.strip().strip("\0") or f"column{place}"
        taken = {each.lower() for each in made}
        made.append(f"{name}_{place}" if name.lower() in taken else name)
    return tuple(made)
