"""Reading a file with all its faults: what is wrong with its form is found, and what can be read is read."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wayword.check.finding import Finding, Level, counted
from wayword.check.form import ENDS, SEPARATORS, TextForm, scan
from wayword.engines import files
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.checks import EXAMPLES
from wayword.store.input_file import InputFile

MOST_BROKEN = 1000
"""With more broken lines, rows are named by their numbers, not by their lines."""
LONGEST = 100
"""Characters of a line in an example."""


@dataclass(frozen=True)
class Reading:
    """What was found about the form of a file, and whether there is a table of its rows."""

    findings: tuple[Finding, ...] = ()
    readable: bool = True
    first_line: int | None = None
    """The line of the first row, if every row is a line."""


def read(engine: DuckDB, table: str, file: InputFile) -> Reading:
    """Create `table` from a file as `Engine.read` does, or of the rows that can be read."""
    if file.size == 0:
        return _unreadable(f"{file} is empty: it has 0 bytes. Expected columns and at least one row.")
    kind = files.kind_of(file)
    try:
        if kind == files.PARQUET:
            engine.read(table, file)
            return Reading()
        return _read_text(engine, table, file, kind)
    except LogError as problem:
        return _unreadable(str(problem))


def _unreadable(problem: str) -> Reading:
    found = Finding("file", "FAIL", problem, "Nothing else of this file can be checked.", "Export it again.")
    return Reading((found,), readable=False)


def _read_text(engine: DuckDB, table: str, file: InputFile, kind: str) -> Reading:
    form = scan(file, quotes=kind in files.DELIMITERS)
    expected = files.DELIMITERS.get(kind, "")
    delimiter = _separator(form.header, expected)
    wrong = [*_encoding(form, file), *_separated(form, file, expected, delimiter)]
    problem = None if wrong else _refused(engine, table, file)
    salvaged = bool(wrong) or problem is not None
    if salvaged:
        names, mixed = _names(form.header, delimiter) if expected else [], form.mixed is not None
        engine.salvage(table, file, names, delimiter=delimiter, encoding=form.encoding, mixed=mixed)
        broken = _broken(engine, table, file)
        wrong += [*_line_ends(form, file, "FAIL"), *broken]
        if problem is not None and not broken and not mixed:
            do = f"Correct it; `wayword import {file} --out log` reads other forms."
            wrong.append(Finding("file", "FAIL", problem, do=do))
    elif expected:
        wrong += _line_ends(form, file, "WARN")
    line = _first_line(engine, table, form, header=bool(expected), broken=salvaged)
    return Reading(tuple(wrong), first_line=line)


def _refused(engine: DuckDB, table: str, file: InputFile) -> str | None:
    """Create `table` of a file without faults; else why it is refused."""
    try:
        engine.read(table, file)
    except LogError as problem:
        return str(problem)
    return None


def _separator(header: str, expected: str) -> str:
    """The separator of a header: another than expected only if that gives one column."""
    if not expected or len(_cells(header, expected)) > 1:
        return expected
    return max((expected, *SEPARATORS), key=lambda one: (len(_cells(header, one)), one == expected))


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:
        return []


def _names(header: str, delimiter: str) -> list[str]:
    """The names of the columns, made different from each other."""
    seen: set[str] = set()
    names = []
    for place, cell in enumerate(_cells(header, delimiter), start=1):
        name = cell.replace("\0", "").strip() or f"column {place}"
        name = f"{name} {place}" if name.lower() in seen or name.lower() == files.ROW else name
        seen.add(name.lower())
        names.append(name)
    return names


def _encoding(form: TextForm, file: InputFile) -> Iterator[Finding]:
    if form.not_utf8 is not None:
        yield Finding(
            "encoding",
            "FAIL",
            f"{file} is not UTF-8 text: line {form.not_utf8:,} is not. It looks like {form.encoding}.",
            f"All other checks read it as {form.encoding}.",
            f"Save it as UTF-8: `wayword import {file} --out log` does.",
            1,
        )


def _separated(form: TextForm, file: InputFile, expected: str, delimiter: str) -> Iterator[Finding]:
    if delimiter != expected:
        yield Finding(
            "separator",
            "FAIL",
            f"{file} has one column, {form.header[:LONGEST]!r}: its values are separated by {SEPARATORS[delimiter]}. "
            f"Expected {SEPARATORS[expected]}.",
            f"All other checks read it with {SEPARATORS[delimiter]}.",
            "Rename it to end in .tsv."
            if delimiter == "\t"
            else f"`wayword import {file} --out log` reads any separator.",
            1,
        )


def _line_ends(form: TextForm, file: InputFile, level: Level) -> Iterator[Finding]:
    if form.mixed is None:
        return
    kinds = ", ".join(f"{n:,} {ENDS[end]}" for end, n in form.ends.most_common() if n)
    yield Finding(
        "line_ends",
        level,
        f"{file} mixes line ends ({kinds}): line {form.mixed:,} is the first that ends otherwise than line 1.",
        "Files that were joined have this; rows may be read as one, or as none.",
        f"Write all lines with one end: `wayword import {file} --out log` does, or dos2unix.",
        form.ends.total() - max(form.ends.values()),
    )


def _broken(engine: DuckDB, table: str, file: InputFile) -> list[Finding]:
    """Lines that are no rows."""
    count = _count(engine, f"{table}_unread")
    if not count:
        return []
    rows: Sequence[dict[str, str]] = engine.arrow(
        f"""SELECT line, min(reason) AS reason, min(content) AS content FROM {table}_unread
            GROUP BY line ORDER BY line LIMIT {EXAMPLES}"""
    ).to_pylist()
    return [
        Finding(
            "broken_rows",
            "FAIL",
            f"{counted(count, 'line')} of {file} cannot be read.",
            "All other checks leave them out.",
            f"Correct them; `wayword import {file} --out log` leaves a few out, and counts them.",
            count,
            tuple(
                f"line {row['line']}: {row['reason']}: {row['content'].strip()[:LONGEST]!r}" for row in rows
            ),
        )
    ]


def _first_line(engine: DuckDB, table: str, form: TextForm, *, header: bool, broken: bool) -> int | None:
    """The line of the first row, if every line is a row, or was left out for a reason; `input_row` then counts those
    left out, too."""
    rows, left_out = (
        _count(engine, name) if there else 0 for name, there in ((table, True), (f"{table}_unread", broken))
    )
    if rows + left_out != form.lines - header or form.quoted_ends or left_out > MOST_BROKEN:
        return None
    if left_out and header:
        row = f"r.{files.ROW}"
        names = ", ".join(f"r.{engine.quote(name)}" for name in engine.columns(table) if name != files.ROW)
        engine.step(
            "broken_before",
            f"""SELECT line - row_number() OVER (ORDER BY line) - 1 AS first
                FROM (SELECT DISTINCT line FROM {table}_unread) AS t""",
        )
        engine.step(
            table,
            f"""SELECT {row} + (SELECT count(*) FROM broken_before AS b WHERE b.first <= {row}) AS {files.ROW}, {names}
                FROM {table} AS r""",
        )
    return 1 + header


def _count(engine: DuckDB, table: str) -> int:
    key = "line" if table.endswith("_unread") else files.ROW
    return int(engine.arrow(f"SELECT count(DISTINCT {key}) AS n FROM {table}")["n"][0].as_py())
