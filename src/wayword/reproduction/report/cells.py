"""The cells of a table: as people read them, and as programs do."""

import csv
import io
from collections.abc import Iterator
from itertools import chain

from wayword.reproduction.report.exhibits import Cell, Column, Interval, Table
from wayword.reproduction.report.numerals import MISSING, number, span


def shown(cell: Cell, column: Column) -> tuple[str, str]:
    """What a cell says, and its interval, empty if it has none."""
    match cell:
        case str():
            return cell, ""
        case Interval(value, low, high):
            ends = span(low, high, column.digits, sign=column.sign)
            return number(float(value), column.digits, sign=column.sign), ends
        case None:
            return MISSING, ""
    return number(cell, column.digits, sign=column.sign), ""


def sort_value(cell: Cell) -> float | None:
    """The number by which a cell sorts; a text sorts by itself, a missing value comes last."""
    if isinstance(cell, Interval):
        return cell.value
    return None if isinstance(cell, str) else cell


def numeric(table: Table) -> tuple[bool, ...]:
    """For each column whether it holds numbers: at least one, and no text."""
    columns = zip(*table.rows, strict=True) if table.rows else ([()] * len(table.columns))
    return tuple(
        any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)
        for cells in columns
    )


def csv_of(table: Table) -> str:
    """The raw numbers of a table: all their digits, an interval in three columns, nothing for a missing value."""
    wide = [any(isinstance(row[at], Interval) for row in table.rows) for at in range(len(table.columns))]
    names = [
        (column.name, f"{column.name} low", f"{column.name} high") if is_wide else (column.name,)
        for column, is_wide in zip(table.columns, wide, strict=True)
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(chain(*names))
    for row in table.rows:
        writer.writerow(chain(*(_raw(cell, is_wide) for cell, is_wide in zip(row, wide, strict=True))))
    return file.getvalue()


def _raw(cell: Cell, wide: bool) -> Iterator[str]:
    values = (cell.value, cell.low, cell.high) if isinstance(cell, Interval) else (cell,)
    yield from ("" if value is None else str(value) for value in values)
    yield from ("",) * (3 - len(values) if wide else 0)
