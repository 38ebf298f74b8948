"""What a report consists of: sections of paragraphs, tables and figures. Plain values, drawn by `page`.

Sentences (the lead, texts, conclusions, captions, notes) may hold Markdown's inline marks; titles and cells are plain.
"""

from dataclasses import dataclass
from typing import Literal

Value = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column of a table; `digits` after the point for numbers, `sign` writes a plus before gains."""

    name: str
    digits: int = 3
    sign: bool = False


@dataclass(frozen=True)
class Interval:
    """A value with its interval; sorts by the value."""

    value: float
    low: float
    high: float


Cell = Value | Interval


@dataclass(frozen=True)
class Table:
    """Rows of cells, one per column. `name` is that of its files; the best rows can be set in bold by `strong`."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    strong: frozenset[int] = frozenset()
    """Numbers of the rows that stand out."""


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, with one sentence that says what it shows and a text for those who do not see it."""

    name: str
    title: str
    conclusion: str
    svg: str
    description: str
    caption: str = ""
    """What stands below the drawing: how to read it, where its numbers come from."""


@dataclass(frozen=True)
class Text:
    """A paragraph in Markdown's inline marks (`code`, **strong**, *emphasis*, [text](address)), or a list of them."""

    text: str
    kind: Literal["paragraph", "item", "heading"] = "paragraph"


Exhibit = Table | Figure | Text


@dataclass(frozen=True)
class Section:
    """One experiment; `name` is its anchor and what `--only` calls it."""

    name: str
    title: str
    exhibits: tuple[Exhibit, ...]


@dataclass(frozen=True)
class Report:
    """Everything that is written; `lead` is what a manager reads."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
