"""DuckDB, embedded: the default engine."""

import re
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from wayword.errors import LogError, WaywordError

_READERS = {
    ".parquet": "read_parquet(:path)",
    ".csv": "read_csv(:path, header = true, all_varchar = true, nullstr = '')",
    ".tsv": "read_csv(:path, header = true, all_varchar = true, nullstr = '', delim = '\t')",
    ".jsonl": "read_json(:path, format = 'newline_delimited', convert_strings_to_integers = false)",
    ".ndjson": "read_json(:path, format = 'newline_delimited', convert_strings_to_integers = false)",
}


class DuckDB:
    """An in-memory database that spills to `spill` when a step outgrows memory."""

    def __init__(self, *, threads: int | None = None, spill: Path | None = None) -> None:
        self._spill = tempfile.TemporaryDirectory(
            prefix="wayword-spill-", dir=spill, ignore_cleanup_errors=True
        )
        settings: dict[str, Any] = {"temp_directory": self._spill.name}
        self._connection = duckdb.connect(config=settings | ({"threads": threads} if threads else {}))

    def read(self, table: str, path: Path) -> None:
        """See `Engine.read`."""
        suffixes = [s.lower() for s in path.suffixes if s.lower() != ".gz"]
        reader = _READERS.get(suffixes[-1] if suffixes else "")
        if not path.is_file():
            raise LogError(f"There is no file {path}.")
        if reader is None:
            raise LogError(
                f"Found {path.name}; expected a file ending in {', '.join(_READERS)} (CSV and JSON may be .gz)."
            )
        try:
            self._execute(
                f"CREATE OR REPLACE TABLE {table} AS SELECT row_number() OVER () - 1 AS input_row, * "
                f"FROM {reader}",
                {"path": str(path)},
            )
        except duckdb.Error as problem:
            raise LogError(f"Cannot read {path}: {problem}") from problem

    def load(self, table: str, rows: pa.Table) -> None:
        """See `Engine.load`."""
        self._connection.register("wayword_rows", rows)
        self.step(table, "SELECT * FROM wayword_rows")
        self._connection.unregister("wayword_rows")

    def step(self, table: str, sql: str, /, **values: Any) -> None:
        """See `Engine.step`."""
        try:
            self._execute(f"CREATE OR REPLACE TABLE {table} AS {sql}", values)
        except duckdb.Error as problem:
            raise _failed(table, sql, problem) from problem

    def arrow(self, sql_or_table: str, /, **values: Any) -> pa.Table:
        """See `Engine.arrow`."""
        sql = sql_or_table if " " in sql_or_table else f"SELECT * FROM {sql_or_table}"
        try:
            return self._connection.sql(_dollars(sql), params=values or None).to_arrow_table()
        except duckdb.Error as problem:
            raise _failed("result", sql, problem) from problem

    def columns(self, table: str) -> dict[str, str]:
        """See `Engine.columns`."""
        rows = self._execute(f"DESCRIBE {table}", {}).fetchall()
        return {row[0]: row[1] for row in rows}

    def quote(self, column: str) -> str:
        """See `Engine.quote`."""
        return '"' + column.replace('"', '""') + '"'

    def ordered_sum(self, value: str, order: str) -> str:
        """See `Engine.ordered_sum`."""
        return f"sum({value} ORDER BY {order})"

    def close(self) -> None:
        """See `Engine.close`."""
        self._connection.close()
        self._spill.cleanup()

    def _execute(self, sql: str, values: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(_dollars(sql), values or None)


def _dollars(sql: str) -> str:
    """DuckDB's way to write the parameters `:name`."""
    return re.sub(r"(?<!:):([a-z_]+)\b", r"$\1", sql)


def _failed(step: str, sql: str, problem: Exception) -> WaywordError:
    return WaywordError(f"The step '{step}' failed: {problem}\n\n{sql.strip()}")
