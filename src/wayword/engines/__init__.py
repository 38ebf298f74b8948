"""Engines store tables and run named SQL steps. DuckDB is the only member; another is one more file.

A step is written once, in SQL common to all engines: `CAST`, window functions, `md5`, `instr`, `substr`, joins and
group-bys. A difference between dialects is a method here, not an `if` in a step. Values are bound as `:name`, never
formatted into the text.
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

    def keep(self, sql: str, path: Path, order: str) -> None:
        """Store the rows of a query as the table `path` of an artefact, sorted by the columns `order`."""
        ...

    def fetch(self, table: str, path: Path) -> None:
        """Create `table` from what `keep` stored."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """Column names of a table, in order, with the engine's names of their types."""
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


def uniform(key: str) -> str:
    """SQL for a pseudo-random number in [0, 1) from the first 24 bits of the md5 of the text `key`.

    Unlike `random()`, it is the same on every engine.
    """
    digits = [
        f"(instr('0123456789abcdef', substr(md5({key}), {i + 1}, 1)) - 1) * {16 ** (5 - i)}" for i in range(6)
    ]
    return f"(({' + '.join(digits)}) / CAST({16**6} AS DOUBLE))"
