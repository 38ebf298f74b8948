"""A SQL file whose values are bound, never pasted."""

import re
from pathlib import Path

from wayword.errors import EngineError
from wayword.rankings.sources.json_template import read_template


def read_sql(path: Path | None, place: str, *others: str) -> str:
    """Read a statement with a place for the query, such as `:query`, or one of the `others`."""
    if path is None:
        raise EngineError(
            f"Expected --template: a file of SQL that selects documents, best first, with {place}."
        )
    sql = read_template(path).strip().rstrip(";")
    if not any(re.search(rf"{re.escape(one)}(?!\w)", sql) for one in (place, *others)):
        raise EngineError(
            f"{path} has no place for the query; expected {' or '.join((place, *others))} in its SQL."
        )
    return sql
