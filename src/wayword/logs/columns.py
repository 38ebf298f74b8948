"""The columns of a log, and how they arrive: typed, but nothing dropped or guessed yet."""

from dataclasses import dataclass

from wayword.engines import Engine
from wayword.errors import LogError

REQUIRED = ("query", "document", "rank")
JUDGED = ("query", "document", "grade")
OPTIONAL = ("prefix", "search_id", "weight", "user", "time")
NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Columns:
    """Which columns a log has: `context` are those that Wayword does not know by name."""

    names: tuple[str, ...]
    context: tuple[str, ...]
    judged: bool

    def has(self, name: str) -> bool:
        """Whether the log came with this column."""
        return name in self.names


def find(engine: Engine, raw: str, *, judged: bool, source: str) -> Columns:
    """Look at a raw table's columns; the required ones must be there."""
    names = tuple(name for name in engine.columns(raw) if name != "input_row")
    required = JUDGED if judged else REQUIRED
    missing = [name for name in required if name not in names]
    if missing:
        raise LogError(
            f"{source} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(names)}\n  expected: {', '.join(required)}"
            f" (optional: {', '.join(OPTIONAL)}; every other column is context)\n"
            "Rename the columns, or export them under these names."
        )
    return Columns(names, tuple(n for n in names if n not in {*required, *OPTIONAL, "rank", "grade"}), judged)


def typed(engine: Engine, raw: str, columns: Columns) -> None:
    """Step `rows`: one row per raw row, every known column of its type (null where it has no such value)."""
    text = {
        n: f"CAST({n} AS VARCHAR)" if columns.has(n) else "CAST(NULL AS VARCHAR)"
        for n in (*OPTIONAL, "grade")
    }
    number = {
        n: f"TRY_CAST({n} AS DOUBLE)" if columns.has(n) else "CAST(NULL AS DOUBLE)" for n in ("rank", "grade")
    }
    weight = "TRY_CAST(weight AS DOUBLE)" if columns.has("weight") else "CAST(1 AS DOUBLE)"
    engine.step(
        "rows",
        f"""
        SELECT input_row,
               CAST(query AS VARCHAR) AS raw_query,
               NULLIF(CAST(document AS VARCHAR), '') AS document,
               {number["rank"]} AS rank,
               {text["weight"]} AS weight_text,
               {number["grade"] if columns.judged else weight} AS weight,
               {text["prefix"]} AS raw_prefix,
               NULLIF({text["search_id"]}, '') AS search_id,
               {text["user"]} AS user_id,
               {text["time"]} AS time_text
               {"".join(f", {_context(engine, raw, n)}" for n in columns.context)}
        FROM {raw}
        """,
    )


def _context(engine: Engine, raw: str, name: str) -> str:
    """A context column stays a number where it is one, also when it arrives as text, as in a CSV file."""
    column = engine.quote(name)
    kind = engine.columns(raw)[name].upper().split("(")[0]
    if kind in NUMERIC or (kind == "VARCHAR" and _all_numbers(engine, raw, column)):
        return f"TRY_CAST({column} AS DOUBLE) AS {column}"
    return f"CAST({column} AS VARCHAR) AS {column}"


def _all_numbers(engine: Engine, raw: str, column: str) -> bool:
    counts = engine.arrow(
        f"SELECT count({column}) AS given, count(TRY_CAST({column} AS DOUBLE)) AS numbers FROM {raw}"
    ).to_pylist()[0]
    return bool(counts["given"]) and counts["given"] == counts["numbers"]
