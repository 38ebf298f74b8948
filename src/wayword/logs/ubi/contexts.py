"""Contexts: the scalar values of `query_attributes` as columns of the log."""

from collections.abc import Sequence

import pyarrow as pa

from wayword.engines import files
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.columns import OPTIONAL, REQUIRED

MOST = 100
"""A log with more context columns than this has names that are values."""
_OURS = {*REQUIRED, *OPTIONAL, "grade", files.ROW}


def build(engine: DuckDB, wanted: Sequence[str] | None = None) -> list[str]:
    """Table `contexts` (query_id and the context columns, as text); the names of its columns. Needs `searches`.

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
    names = _names(engine, wanted)
    spellings = [(name, number) for number, same in enumerate(names.values()) for name in same]
    engine.load(
        "attribute_names",
        pa.table(
            {
                "name": pa.array([name for name, _ in spellings], pa.string()),
                "number": pa.array([number for _, number in spellings], pa.int32()),
            }
        ),
    )
    columns = "".join(
        f", min(CASE WHEN n.number = {number} THEN a.value END) AS {engine.quote(name)}"
        for number, name in enumerate(names)
    )
    engine.step(
        "contexts",
        f"""SELECT a.query_id {columns} FROM attributes AS a JOIN attribute_names AS n ON n.name = a.name
            GROUP BY a.query_id""",
    )
    return list(names)


def _names(engine: DuckDB, wanted: Sequence[str] | None) -> dict[str, list[str]]:
    """The columns, each with its spellings."""
    found = engine.arrow("SELECT DISTINCT name FROM attributes ORDER BY name")["name"].to_pylist()
    usable = [name for name in found if name.strip() and "\0" not in name and name.lower() not in _OURS]
    missing = [name for name in wanted or () if name.lower() not in {known.lower() for known in usable}]
    if missing:
        raise LogError(
            f"Found no attribute {', '.join(missing)} in query_attributes; found {', '.join(usable[:20]) or 'none'}. "
            f"(Only texts, numbers, true and false count, and no attribute named as a column of the log is.)"
        )
    folded: dict[str, list[str]] = {}
    for name in usable:
        if wanted is None or name.lower() in {given.lower() for given in wanted}:
            folded.setdefault(name.lower(), []).append(name)
    if len(folded) > MOST:
        raise LogError(
            f"Found {len(folded):,} attributes in query_attributes ({', '.join(list(folded)[:5])}, …); expected at "
            f"most {MOST}, since each is a context column. Choose some with --context."
        )
    return {same[0]: same for same in folded.values()}
