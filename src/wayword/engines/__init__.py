"""Engines store tables and run named SQL steps: DuckDB, and Spark (also Sail) through Spark Connect.

A step is written once, in SQL common to all engines: `CAST`, window functions, `md5`, `instr`, `substr`, joins and
group-bys. A difference between dialects is a method here, not an `if` in a step. Values are bound as `:name`, never
formatted into the text. What is nullable is ordered with `NULLS LAST`, and a table that grows with the log is excluded
by `NOT EXISTS`, as `NOT IN` would send all of it to every executor.
"""

from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from wayword.store.input_file import InputFile


class Engine(Protocol):
    """The operations that stages use."""

    def read(self, table: str, path: Path | InputFile) -> None:
        """Create `table` from a Parquet, CSV, TSV or JSON Lines file, with a 0-based column `input_row`.

        Parquet keeps its types; CSV gives text, and an empty unquoted field is null; JSON Lines give text but where a
        value is a list or an object, or all are boolean. A file that expands too far is refused.
        """
        ...

    def load(self, table: str, rows: pa.Table) -> None:
        """Create `table` from Arrow."""
        ...

    def step(self, table: str, sql: str, /, **values: Any) -> None:
        """Create `table` from a query over earlier tables; an error names the step and shows its SQL."""
        ...

    def arrow(self, sql_or_table: str, /, **values: Any) -> pa.Table:
        """The rows of a table or query as Arrow."""
        ...

    def number(self, table: str, sql: str, /, column: str, order: str, **values: Any) -> None:
        """Create `table` from a query whose rows are numbered from 0 in `order`: BIGINT, in the first column `column`.

        `order` must not leave ties.
        """
        ...

    def keep(self, sql: str, path: Path, order: str) -> None:
        """Store the rows of a query as the table `path` of an artefact, sorted by the columns `order`."""
        ...

    def fetch(self, table: str, path: Path, *columns: str) -> None:
        """Create `table` from what `keep` stored, or from some of its columns, also where another engine did."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """Column names of a table, in order, with the names that DuckDB has for their types."""
        ...

    def quote(self, column: str) -> str:
        """SQL for a user-supplied column name."""
        ...

    def ordered_sum(self, value: str, order: str) -> str:
        """SQL for the sum of `value` in the order of `order`, so that equal rows give bit-identical sums."""
        ...

    def instant(self, text: str) -> str:
        """SQL for an ISO timestamp as microseconds since 1970; null where the text is not one."""
        ...

    def close(self) -> None:
        """Release memory and files."""
        ...


PARTS = 1024
"""Parts into which a table of clicks is cut to be summed as a whole."""


def totals(
    engine: Engine, table: str, order: str, *, by: str = "search", **values: str
) -> dict[str, float | None]:
    """The sums of SQL `values` over a whole table in a fixed order: first within parts by the number `by`, so that no
    task has all rows. Null without rows."""
    parts = ", ".join(f"{engine.ordered_sum(value, order)} AS {name}" for name, value in values.items())
    sums = ", ".join(f"{engine.ordered_sum(name, 'part')} AS {name}" for name in values)
    found: dict[str, float | None] = engine.arrow(
        f"""SELECT {sums} FROM (SELECT part, {parts} FROM (
              SELECT *, {by} % {PARTS} AS part FROM {table}) AS cut GROUP BY part) AS summed"""
    ).to_pylist()[0]
    return found


def uniform(key: str) -> str:
    """SQL for a pseudo-random number in [0, 1) from the first 24 bits of the md5 of the text `key`.

    Unlike `random()`, it is the same on every engine.
    """
    digits = [
        f"(instr('0123456789abcdef', substr(md5({key}), {i + 1}, 1)) - 1) * {16 ** (5 - i)}" for i in range(6)
    ]
    return f"(({' + '.join(digits)}) / CAST({16**6} AS DOUBLE))"
