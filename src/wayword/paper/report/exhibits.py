"""The contents of a report: sections, each a Markdown template with the tables, figures and values that it shows;
numbers as text for people, and with all their digits as CSV."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any


@dataclass(frozen=True)
class Interval:
    """A value with its interval; sorts by the value."""

    value: float
    low: float
    high: float


Cell = str | int | float | None | Interval


@dataclass(frozen=True)
class Column:
    """A column of a table; `digits` after the point for numbers, `sign` writes a plus before gains."""

    name: str
    digits: int = 3
    sign: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, one per column. `name` is that of its files; the rows numbered in `strong` are set in bold."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    strong: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, with a text for those who do not see it."""

    name: str
    svg: str
    description: str


@dataclass(frozen=True)
class Section:
    """A part of the report; `name` is its anchor, that of its template, and the experiment's name for `--only`.

    The template starts with the section's only heading of level 2; the first section of a report has none.
    """

    name: str
    exhibits: Sequence[Table | Figure] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def number(value: float | int | None, digits: int = 3, *, sign: bool = False) -> str:
    """A number with so many digits after the point, a true minus and thousands apart.

    >>> number(0.41234), number(12345), number(-0.5, 1), number(0.25, 2, sign=True), number(None)
    ('0.412', '12,345', '−0.5', '+0.25', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return f"{'+' * sign}∞" if value > 0 else "−∞"
    digits = 0 if isinstance(value, int) else digits
    rounded = 0.0 if abs(value) < 0.5 * 10.0**-digits else value
    return f"{rounded:{'+' if sign and rounded else ''},.{digits}f}".replace("-", "−")


def span(found: Interval, digits: int = 3, *, sign: bool = False) -> str:
    """The ends of an interval; a dash only where no sign could be mistaken for it. Empty without both ends.

    >>> span(Interval(0.2, 0.1, 0.25), 2), span(Interval(0, -0.1, 0.25), 2, sign=True), span(Interval(1, math.nan, 1))
    ('0.10–0.25', '−0.10 to +0.25', '')
    """
    if math.isnan(found.low) or math.isnan(found.high):
        return ""
    ends = (number(float(end), digits, sign=sign) for end in (found.low, found.high))
    return (" to " if sign or found.low < 0 else "–").join(ends)


def amount(found: Interval, digits: int = 3, *, sign: bool = True) -> str:
    """A value with its interval, for a sentence."""
    return f"{number(found.value, digits, sign=sign)} ({span(found, digits, sign=sign)})"


def shown(cell: Cell, column: Column) -> tuple[str, str]:
    """The text of a cell, and its interval, empty if it has none."""
    if isinstance(cell, str):
        return cell, ""
    if isinstance(cell, Interval):
        value = number(float(cell.value), column.digits, sign=column.sign)
        return value, span(cell, column.digits, sign=column.sign)
    return number(cell, column.digits, sign=column.sign), ""


def numeric(table: Table) -> list[bool]:
    """For each column whether it holds numbers: at least one, and no text."""
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.columns)
    return [
        any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)
        for cells in columns
    ]


def csv_of(table: Table) -> str:
    """The raw numbers of a table: all their digits, an interval in three columns, nothing for a missing value."""
    wide = [any(isinstance(row[at], Interval) for row in table.rows) for at in range(len(table.columns))]
    ends = [("", " low", " high") if is_wide else ("",) for is_wide in wide]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(c.name + end for c, of in zip(table.columns, ends, strict=True) for end in of)
    for row in table.rows:
        writer.writerow(chain(*(_raw(cell, is_wide) for cell, is_wide in zip(row, wide, strict=True))))
    return file.getvalue()


def _raw(cell: Cell, wide: bool) -> Iterator[str]:
    values = (cell.value, cell.low, cell.high) if isinstance(cell, Interval) else (cell,)
    yield from ("" if value is None else str(value) for value in values)
    yield from ("",) * (3 - len(values) if wide else 0)
