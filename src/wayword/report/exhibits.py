"""The contents of a report: sections, each a Markdown template with the tables, figures and values that it shows;
numbers as text for people, and with all their digits as CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    header: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    strong: frozenset[int] = frozenset()

    @property
    def columns(self) -> list[Column]:
        """The header; a name alone is a column with three digits."""
        return [Column(one) if isinstance(one, str) else one for one in self.header]


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


def shown(cell: Cell, digits: int = 3, *, sign: bool = False) -> str:
    """The text of a cell: a value with the ends of its interval, if both are known, and a dash between these only where
    no sign could be mistaken for it.

    >>> shown(Interval(0.2, 0.1, 0.25), 2), shown(Interval(0, -0.1, 0.25), 1, sign=True), shown("text")
    ('0.20 (0.10–0.25)', '0.0 (−0.1 to +0.2)', 'text')
    """
    if isinstance(cell, str):
        return cell
    if not isinstance(cell, Interval):
        return number(cell, digits, sign=sign)
    value, low, high = (number(float(end), digits, sign=sign) for end in (cell.value, cell.low, cell.high))
    if math.isnan(cell.low) or math.isnan(cell.high):
        return value
    return f"{value} ({low}{' to ' if sign or cell.low < 0 else '–'}{high})"


def csv_of(table: Table) -> str:
    """The raw numbers of a table: all their digits, an interval in three columns, nothing for a missing value."""
    file = io.StringIO()
    columns = []
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        columns.append([column.name, *(cell.value if isinstance(cell, Interval) else cell for cell in cells)])
        if any(isinstance(cell, Interval) for cell in cells):
            for end in ("low", "high"):
                columns.append([f"{column.name} {end}", *(getattr(cell, end, None) for cell in cells)])
    csv.writer(file, lineterminator="\n").writerows(zip(*columns, strict=True))
    return file.getvalue()
