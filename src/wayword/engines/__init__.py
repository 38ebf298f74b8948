"""Where tables live: an engine runs named SQL steps. DuckDB is the first member; another is one more file.

A step is written once, in the SQL that members share: `CAST`, window functions, `md5`, `instr`, `substr`, ordinary
joins and group-bys. What differs between dialects is a method here, not an `if` in a step. Values are bound as
`:name`, never pasted into the text.
"""

from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa


class Engine(Protocol):
    """What a stage may ask of the place where its tables live."""

    def read(self, table: str, path: Path) -> None:
        """Make `table` from a Parquet, CSV, TSV or JSON Lines file, with a 0-based column `input_row`.

        Parquet keeps its types; the others give text, with null for an empty field of a CSV file that is not quoted.
        """
        ...

    def load(self, table: str, rows: pa.Table) -> None:
        """Make `table` from Arrow."""
        ...

    def step(self, table: str, sql: str, /, **values: Any) -> None:
        """Make `table` from a query over earlier tables; a failure names the step and shows its SQL."""
        ...

    def arrow(self, sql_or_table: str, /, **values: Any) -> pa.Table:
        """The rows of a table or query, in Arrow."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """Column names of a table with the engine's name for their types, in order."""
        ...

    def quote(self, column: str) -> str:
        """SQL for a column whose name comes from the user."""
        ...

    def ordered_sum(self, value: str, order: str) -> str:
        """SQL for the sum of `value` added up in the order of `order`, so that equal rows give equal bits."""
        ...

    def instant(self, text: str) -> str:
        """SQL for the moment that an ISO timestamp names, as a number that sorts; null where it names none."""
        ...

    def close(self) -> None:
        """Give back memory and files."""
        ...


def uniform(key: str) -> str:
    """SQL for a number in [0, 1) that depends on the text `key` alone: the first 24 bits of its md5.

    Every engine computes the same one, unlike its own `random()`.
    """
    digits = [
        f"(instr('0123456789abcdef', substr(md5({key}), {i + 1}, 1)) - 1) * {16 ** (5 - i)}" for i in range(6)
    ]
    return f"(({' + '.join(digits)}) / CAST({16**6} AS DOUBLE))"
