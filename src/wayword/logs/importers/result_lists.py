"""Result lists in one cell, such as `d1;d2;d3` or `["d1", "d2"]`: what a search returned, the best first."""

from collections.abc import Sequence
from dataclasses import dataclass

from wayword.logs.importers.literals import text

COLUMN = "results"
SEPARATORS = "|;,\t "
"""The likeliest first: an id may have a comma, hardly a bar."""
WRONG = f"(starts_with(ltrim({COLUMN}), '{{') OR TRY(json_type({COLUMN}, '$[0]')) IN ('OBJECT', 'ARRAY'))"
"""SQL for whether a cell holds something else than a list of documents."""


@dataclass(frozen=True)
class Lists:
    """SQL for the documents of a cell, and how the cells were understood."""

    sql: str
    said: Sequence[str]


def find(cells: Sequence[str]) -> Lists:
    """How the lists of a column are separated, by its first cells; without any, there is no such column.

    >>> find(["d1;d2;d3", "d1", "d4;d2"]).said
    ["results are lists of documents, the best first, separated by ';'"]
    >>> find(['["d1", "d2"]']).said
    ['results are lists of documents, the best first, in brackets']
    """
    if not cells:
        return Lists("NULL::VARCHAR[]", [])
    bracketed = all(cell.startswith("[") for cell in cells)
    separator = "," if bracketed else max(SEPARATORS, key=lambda each: sum(each in cell for cell in cells))
    parts = f"string_split(trim({COLUMN}, '[]'), {text(separator)})"
    plain = f"list_transform({parts}, lambda item: trim(item, ' ''\"'))"
    items = f"""CASE WHEN coalesce(TRY(json_type({COLUMN})), '') = 'ARRAY' THEN from_json({COLUMN}, '["VARCHAR"]')
                     ELSE {plain} END"""
    form = "in brackets" if bracketed else f"separated by {separator!r}"
    return Lists(
        f"list_filter({items}, lambda item: trim(item) <> '')",
        [f"results are lists of documents, the best first, {form}"],
    )
