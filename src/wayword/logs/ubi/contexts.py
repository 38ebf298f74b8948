"""Contexts: the scalar values of `query_attributes` as columns of the log.

Anybody may post attributes, so a name that few searches have is no column, nor is a value that does not fit its column:
one text in a column of numbers would make them all categories, and an infinite number would stop a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from wayword.engines import files
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.checks import LARGEST
from wayword.logs.columns import OPTIONAL, REQUIRED
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import LONGEST_NAME, LONGEST_VALUE, TYPING_SESSION

MOST = 100
"""Context columns: those that most searches have."""
RAREST = 0.01
"""The share of searches that must have an attribute to make it a column."""
NUMERIC = 0.99
"""The share of numbers among the values of a column of numbers."""
RARE, MISFITS = ("attributes that are no context columns", "values that do not fit their context column")
EXAMPLES = 5
_NUMBER = f"abs(TRY_CAST(a.value AS DOUBLE)) <= {LARGEST}"
_FITS = f"length(a.value) <= {LONGEST_VALUE} AND (NOT n.numeric OR coalesce({_NUMBER}, false))"
_OURS = {*REQUIRED, *OPTIONAL, "grade", files.ROW, TYPING_SESSION}


@dataclass(frozen=True)
class Contexts:
    """The names of the columns, the counts of what was left out, and notes about it."""

    columns: list[str]
    report: dict[str, int]
    notes: list[str]


def build(engine: DuckDB, wanted: Sequence[str] | None = None) -> Contexts:
    """Table `contexts` (query_id and the context columns, as text). Needs `searches`.

    Names that differ in case alone are one column, under the first of them in the alphabet.
    """
    engine.step(
        "attributes",
        """
        SELECT s.query_id, a.key AS name, a.value ->> '$' AS value
        FROM (SELECT query_id, attributes FROM searches WHERE json_type(attributes) = 'OBJECT') AS s,
             json_each(s.attributes) AS a
        WHERE a.type NOT IN ('OBJECT', 'ARRAY', 'NULL')
        """,
    )
    names, rare = _names(engine, wanted)
    _number(engine, names)
    columns = "".join(
        f", min(CASE WHEN n.number = {number} AND {_FITS} THEN a.value END) AS {engine.quote(name)}"
        for number, name in enumerate(names)
    )
    named = "attributes AS a JOIN attribute_names AS n ON n.name = a.name"
    engine.step("contexts", f"SELECT a.query_id {columns} FROM {named} GROUP BY a.query_id")
    misfits = count(engine, f"{named} WHERE NOT ({_FITS})")
    return Contexts(list(names), {RARE: len(rare), MISFITS: misfits}, _notes(rare))


def _notes(rare: Sequence[str]) -> list[str]:
    if not rare:
        return []
    shown = ", ".join(map(repr, rare[:EXAMPLES])) + ", …" * (len(rare) > EXAMPLES)
    return [
        f"{len(rare):,} attributes in query_attributes are no context columns, since less than {RAREST:.0%} of "
        f"the searches have them or {MOST} others are more frequent ({shown}): --context NAME takes one nevertheless"
    ]


def _number(engine: DuckDB, names: Mapping[str, Sequence[str]]) -> None:
    """Table `attribute_names` (name, number, numeric): the column of a spelling, and whether it is numeric."""
    spellings = [(name, number) for number, same in enumerate(names.values()) for name in same]
    engine.load(
        "attribute_spellings",
        pa.table(
            {
                "name": pa.array([name for name, _ in spellings], pa.string()),
                "number": pa.array([number for _, number in spellings], pa.int32()),
            }
        ),
    )
    engine.step(
        "attribute_names",
        f"""
        SELECT s.name, s.number, coalesce(c.numeric, false) AS numeric FROM attribute_spellings AS s LEFT JOIN (
          SELECT n.number, count(*) FILTER ({_NUMBER}) >= {NUMERIC} * count(*)
                           OR count(TRY_CAST(a.value AS DOUBLE)) = count(*) AS numeric
          FROM attributes AS a JOIN attribute_spellings AS n ON n.name = a.name GROUP BY n.number
        ) AS c ON c.number = s.number
        """,
    )


def _names(engine: DuckDB, wanted: Sequence[str] | None) -> tuple[dict[str, list[str]], list[str]]:
    """The columns, each with its spellings; and the first spellings of attributes that are too rare."""
    found = engine.arrow("SELECT name, count(*) AS n FROM attributes GROUP BY name ORDER BY name").to_pylist()
    folded: dict[str, list[str]] = {}
    searches: dict[str, int] = {}
    for row in found:
        name, key = row["name"], row["name"].lower()
        if _is_usable(name):
            folded.setdefault(key, []).append(name)
            searches[key] = searches.get(key, 0) + row["n"]
    if wanted is not None:
        return _wanted(folded, wanted), []
    least = RAREST * count(engine, "searches")
    frequent = sorted(
        (key for key in folded if searches[key] >= least), key=lambda key: (-searches[key], key)
    )
    chosen = set(frequent[:MOST])
    return (
        {same[0]: same for key, same in folded.items() if key in chosen},
        [same[0] for key, same in folded.items() if key not in chosen],
    )


def _is_usable(name: str) -> bool:
    return bool(name.strip()) and "\0" not in name and len(name) <= LONGEST_NAME and name.lower() not in _OURS


def _wanted(folded: Mapping[str, list[str]], wanted: Sequence[str]) -> dict[str, list[str]]:
    keys = {name.lower() for name in wanted}
    if missing := [name for name in wanted if name.lower() not in folded]:
        usable = ", ".join(same[0] for same in list(folded.values())[:20])
        raise LogError(
            f"Found no attribute {', '.join(missing)} in query_attributes; found {usable or 'none'}. "
            f"(Only texts, numbers, true and false count, and no attribute named as a column of the log is.)"
        )
    if len(keys) > MOST:
        raise LogError(f"Found {len(keys):,} names of context columns; expected at most {MOST}.")
    return {same[0]: same for key, same in folded.items() if key in keys}
