"""The columns of a log, and their conversion to typed columns; no row is dropped."""

from dataclasses import dataclass

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import column_types

REQUIRED = ("query", "document", "rank")
JUDGED = ("query", "document", "grade")
OPTIONAL = ("prefix", "search_id", "weight", "user", "time")
TYPES = {
    **dict.fromkeys(("query", "document", "prefix", "search_id", "user"), column_types.TEXT),
    **dict.fromkeys(("rank", "grade", "weight"), column_types.NUMBER),
    "time": column_types.TIME,
}
CONTEXT = "context_"
"""Prefix of context column names in every table, so that they cannot collide with other columns."""


@dataclass(frozen=True)
class Columns:
    """The columns of a log; `context` are those without a predefined meaning."""

    names: tuple[str, ...]
    context: tuple[str, ...]
    judged: bool

    @property
    def stored(self) -> tuple[str, ...]:
        """Names of the context columns in the tables."""
        return tuple(CONTEXT + name for name in self.context)

    def has(self, name: str) -> bool:
        """Whether the log has this column."""
        return name in self.names


def find(engine: Engine, raw: str, *, judged: bool, source: str) -> Columns:
    """The columns of a raw table; a missing required column raises `LogError`."""
    found = named(engine, raw, judged=judged)
    required = JUDGED if judged else REQUIRED
    missing = [name for name in required if not found.has(name)]
    if missing:
        raise LogError(
            f"{source} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(found.names)}\n  expected: {', '.join(required)}"
            f" (optional: {', '.join(OPTIONAL)}; every other column is context)\n"
            "Rename the columns, or export them under these names."
        )
    expected = {**dict.fromkeys(found.context, column_types.VALUE), **TYPES}
    column_types.check(engine, raw, expected, source=source)
    return found


def named(engine: Engine, raw: str, *, judged: bool) -> Columns:
    """The columns of a raw table, whether all are there that are required, or not."""
    names = tuple(name for name in engine.columns(raw) if name != "input_row")
    required = JUDGED if judged else REQUIRED
    context = tuple(n for n in names if n not in {*required, *OPTIONAL, "rank", "grade"})
    return Columns(names, context, judged)


def typed(engine: Engine, raw: str, columns: Columns) -> None:
    """Step `rows`: one row per raw row with typed columns; null where a value cannot be converted."""

    def text(name: str) -> str:
        number = name in ("weight", "grade")
        return as_text(engine, raw, name, number=number) if columns.has(name) else "CAST(NULL AS STRING)"

    rank, amount = ("CAST(NULL AS STRING)", "grade") if columns.judged else (text("rank"), "weight")
    engine.step(
        "rows",
        f"""
        SELECT input_row,
               {text("query")} AS raw_query,
               NULLIF({text("document")}, '') AS document_id,
               {rank} AS rank_text,
               TRY_CAST({rank} AS DOUBLE) AS rank,
               NULLIF({text(amount)}, '') AS weight_text,
               TRY_CAST({text(amount)} AS DOUBLE) AS weight,
               {text("prefix")} AS raw_prefix,
               NULLIF({text("search_id")}, '') AS search_id,
               NULLIF({text("user")}, '') AS user_id,
               NULLIF({text("time")}, '') AS time_text
               {"".join(f", {_context(engine, raw, n)} AS {engine.quote(CONTEXT + n)}" for n in columns.context)}
        FROM {raw}
        """,
    )


def as_text(engine: Engine, table: str, name: str, *, number: bool = False) -> str:
    """SQL for a column as text. Integral floats lose the ".0" that integer columns with nulls get, and NaN, which some
    programs write instead of null, is null unless the column is for a `number`."""
    column = engine.quote(name)
    text = f"CAST({column} AS STRING)"
    if engine.columns(table)[name].upper() not in ("FLOAT", "DOUBLE"):
        return text
    whole = f"{column} = floor({column}) AND abs({column}) < {2**53}"
    missing = "" if number else f"WHEN isnan({column}) THEN NULL "
    return f"CASE {missing}WHEN {whole} THEN CAST(CAST({column} AS BIGINT) AS STRING) ELSE {text} END"


def _context(engine: Engine, raw: str, name: str) -> str:
    """SQL for a context column: a number if all of its values are numeric, whatever its type in the file.

    So a CSV file, in which every value is text, gives the same table as Parquet. NaN and empty text count as missing.
    """
    text, number = (context_value(engine, raw, name, number=number) for number in (False, True))
    counts = engine.arrow(
        f"""SELECT count({text}) AS given, count(CASE WHEN TRY_CAST({text} AS DOUBLE) IS NOT NULL THEN 1 END) AS numbers
            FROM {raw}"""
    ).to_pylist()[0]
    return text if not counts["given"] or counts["given"] > counts["numbers"] else number


def context_value(engine: Engine, table: str, name: str, *, number: bool) -> str:
    """SQL for a context column as text or as a number, as the log stores it; null where a value cannot be converted."""
    text = f"NULLIF({as_text(engine, table, name)}, '')"
    value = f"TRY_CAST({text} AS DOUBLE)"
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END" if number else text
