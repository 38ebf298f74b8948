"""DuckDB, embedded: the default engine."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from wayword.engines import files, limits
from wayword.engines.kept import Kept
from wayword.errors import LogError, WaywordError
from wayword.store.input_file import InputFile

_CSV = """read_csv(:path, columns = {columns}, delim = {delimiter}, auto_detect = false, header = true, quote = '"',
    escape = '"', comment = '', nullstr = '', allow_quoted_nulls = false, compression = {compression})"""
_JSON = "read_json(:path, columns = {columns}, format = 'newline_delimited', compression = {compression})"
_JSON_OBJECTS = "read_ndjson_objects(:path, compression = {compression})"
_PARQUET = "read_parquet(:path, binary_as_string = true, hive_partitioning = false)"
PARQUET_FORM = (
    "FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 8192"
)
"""Written in two thirds of the time of DuckDB's own settings, and smaller: ids are seldom worth a dictionary."""
LONGEST_REASON = 1000
"""Maximum length of a DuckDB error in a message: it may quote a whole invalid line."""
WRITTEN_AT_ONCE = 1 << 17
"""Rows per row group of a Parquet file."""


class DuckDB:
    """An in-memory database that spills to a folder in `spill` beyond available memory, or beyond `memory` ("2GB")."""

    def __init__(
        self, *, threads: int | None = None, spill: Path | None = None, memory: str | None = None
    ) -> None:
        self._spill = tempfile.TemporaryDirectory(
            prefix="wayword-spill-", dir=spill, ignore_cleanup_errors=True
        )
        settings: dict[str, Any] = {"temp_directory": self._spill.name}
        given = {"threads": threads, "memory_limit": memory}
        settings |= {name: value for name, value in given.items() if value}
        self._connection = duckdb.connect(config=settings)
        self._connection.execute("SET TimeZone = 'UTC'")  # the same log gives the same tables everywhere

    def read(self, table: str, path: Path | InputFile) -> None:
        """See `Engine.read`."""
        source = InputFile.of(path)
        kind = files.kind_of(source)
        alias = Path(tempfile.mkdtemp(dir=self._spill.name)) / f"input{kind}"
        alias.symlink_to(source.opened)  # DuckDB interprets characters such as * and = in a path
        try:
            self._execute(
                f"CREATE OR REPLACE TABLE {table} AS SELECT row_number() OVER () - 1 AS {files.ROW}, * "
                f"FROM {self._reader(kind, source, str(alias))}",
                {"path": str(alias)},
            )
        except duckdb.Error as problem:
            raise LogError(f"Cannot read {path}: {_brief(problem, str(alias), source.path)}") from problem

    def _reader(self, kind: str, path: InputFile, alias: str) -> str:
        """SQL for the rows of a file; CSV and JSON values are text, so that no type is inferred from a sample."""
        if kind == files.PARQUET:
            limits.check_parquet(path)
            files.names_in_parquet(path)
            return _PARQUET
        compressed = files.is_compressed(path.path)
        if compressed or kind in files.DELIMITERS:
            limits.check_text(path, compressed=compressed, lines=kind in files.DELIMITERS)
        compression = _text("gzip" if compressed else "none")
        if kind in files.JSON_LINES:
            objects = _JSON_OBJECTS.format(compression=compression)
            names = self._json_names(objects, path, alias)
            return _JSON.format(columns=self._json_types(objects, names, alias), compression=compression)
        delimiter = files.DELIMITERS[kind]
        columns = _types(dict.fromkeys(files.names_in_header(path, delimiter), "VARCHAR"))
        return _CSV.format(columns=columns, delimiter=_text(delimiter), compression=compression)

    def salvage(
        self,
        table: str,
        path: InputFile,
        names: Sequence[str],
        *,
        delimiter: str,
        encoding: str = "utf-8",
        mixed: bool = False,
    ) -> None:
        """Create `table` of those rows of a faulty text file that can be read, and `{table}_unread` (line, reason,
        content) of the lines that cannot.

        `names` are the columns of a CSV or TSV file; JSON Lines have their own. `mixed`: lines end in different ways.
        """
        kind, compressed = files.kind_of(path), files.is_compressed(path.path)
        limits.check_text(path, compressed=compressed, lines=kind in files.DELIMITERS)
        alias = Path(tempfile.mkdtemp(dir=self._spill.name)) / f"input{kind}"
        alias.symlink_to(path.opened)
        compression = _text("gzip" if compressed else "none")
        salvage = self._salvage_json if kind in files.JSON_LINES else self._salvage_csv
        options = f"encoding = {_text(encoding)}, strict_mode = {str(not mixed).lower()}, delim = {_text(delimiter)}"
        try:
            salvage(table, path, str(alias), names, compression, options)
        except duckdb.Error as problem:
            raise LogError(f"Cannot read {path}: {_brief(problem, str(alias), path.path)}") from problem

    def _salvage_csv(
        self, table: str, _path: InputFile, alias: str, names: Sequence[str], compression: str, options: str
    ) -> None:
        rejected = f"rejected_{table}"
        self._execute(f"DROP TABLE IF EXISTS {rejected}", {})
        self._execute(
            f"""CREATE OR REPLACE TABLE {table} AS SELECT row_number() OVER () - 1 AS {files.ROW}, *
                FROM read_csv(:path, columns = {_types(dict.fromkeys(names, "VARCHAR"))}, auto_detect = false,
                header = true, quote = '"', escape = '"', comment = '', nullstr = '', allow_quoted_nulls = false,
                compression = {compression},
                store_rejects = true, rejects_table = {_text(rejected)}, rejects_scan = {_text(rejected + "_scan")},
                {options})""",
            {"path": alias},
        )
        self._execute(
            f"""CREATE OR REPLACE TABLE {table}_unread AS SELECT line, lower(CAST(error_type AS VARCHAR)) AS reason,
                coalesce(csv_line, '') AS content FROM {rejected}""",
            {},
        )

    def _salvage_json(
        self, table: str, path: InputFile, alias: str, _names: Sequence[str], compression: str, _options: str
    ) -> None:
        self._execute(
            f"""CREATE OR REPLACE TABLE {table}_unread AS SELECT * FROM (
                  SELECT row_number() OVER () AS line, 'no JSON object' AS reason, content FROM read_csv(:path,
                    columns = {{content: 'VARCHAR'}}, auto_detect = false, header = false, delim = chr(1), quote = '',
                    escape = '', strict_mode = false, compression = {compression})) AS t
                WHERE content IS NOT NULL AND coalesce(TRY(json_type(content)), '') <> 'OBJECT'""",
            {"path": alias},
        )
        objects = (
            f"(SELECT * FROM read_ndjson_objects(:path, ignore_errors = true, compression = {compression}))"
        )
        valid = f"(SELECT * FROM {objects} WHERE json_type(json) = 'OBJECT') AS objects"
        if not self._execute(f"SELECT 1 FROM {valid} LIMIT 1", {"path": alias}).fetchone():
            raise LogError(f"{path} has no line with a JSON object; expected one JSON object per line.")
        names = self._json_names(valid, path, alias)
        self._execute(
            f"""CREATE OR REPLACE TABLE {table} AS SELECT row_number() OVER () - 1 AS {files.ROW}, *
                FROM read_json(:path, columns = {self._json_types(valid, names, alias)},
                format = 'newline_delimited', ignore_errors = true, compression = {compression})""",
            {"path": alias},
        )
        known = " OR ".join(f"{self.quote(name)} IS NOT NULL" for name in names)
        self._execute(f"DELETE FROM {table} WHERE NOT ({known})", {})

    def _json_names(self, objects: str, path: InputFile, alias: str) -> list[str]:
        """The keys of all lines, in order of first occurrence."""
        other = self._execute(
            f"SELECT json FROM {objects} WHERE json_type(json) <> 'OBJECT' LIMIT 1", {"path": alias}
        ).fetchone()
        if other:
            raise LogError(f"{path}: found the line {other[0][:200]}; expected one JSON object per line.")
        rows = self._execute(
            f"""SELECT key FROM (SELECT line, unnest(keys) AS key, unnest(range(len(keys))) AS place FROM (
                  SELECT row_number() OVER () AS line, json_keys(json) AS keys FROM {objects}))
                GROUP BY key ORDER BY min(line), min(place)""",
            {"path": alias},
        ).fetchall()
        return files.distinct([row[0] for row in rows], path)

    def _json_types(self, objects: str, names: list[str], alias: str) -> str:
        """SQL for the type of each key: text, JSON if a value is a list or an object, BOOLEAN if all values are."""
        keys = ["/" + name.replace("~", "~0").replace("/", "~1") for name in names]
        found = ", ".join(f"list(DISTINCT kinds[{place}])" for place in range(1, len(names) + 1))
        kinds = self._execute(
            f"SELECT {found} FROM (SELECT json_type(json, :keys) AS kinds FROM {objects})",
            {"path": alias, "keys": keys},
        ).fetchone()
        return _types({name: _json_type({*of}) for name, of in zip(names, kinds or (), strict=True)})

    def load(
        self, table: str, rows: pa.Table, sql: str = "SELECT * FROM wayword_rows", **values: Any
    ) -> None:
        """See `Engine.load`. `sql` may transform the rows, which it sees as `wayword_rows`."""
        self._connection.register("wayword_rows", rows)
        self.step(table, sql, **values)
        self._connection.unregister("wayword_rows")

    def append(self, table: str, sql: str) -> None:
        """Append a query's rows to `table`; create it if it does not exist."""
        try:
            self._execute(f"CREATE TABLE IF NOT EXISTS {table} AS {sql} LIMIT 0", {})
            self._execute(f"INSERT INTO {table} {sql}", {})
        except duckdb.Error as problem:
            raise _failed(table, sql, problem) from problem

    def write(self, sql: str, path: Path, metadata: Mapping[bytes, bytes] | None = None) -> None:
        """Stream a query's rows into a Parquet file, with `metadata` in its schema."""
        try:
            rows = self._connection.sql(sql).to_arrow_reader(WRITTEN_AT_ONCE)
            schema = rows.schema.with_metadata(dict(metadata)) if metadata else rows.schema
            with pq.ParquetWriter(path, schema, compression="zstd") as file:
                for batch in rows:
                    file.write_batch(batch.replace_schema_metadata(schema.metadata))
        except duckdb.Error as problem:
            raise _failed(path.stem, sql, problem) from problem

    def keep(self, sql: str, path: Path, order: str) -> None:
        """See `Engine.keep`: the rows are sorted on disk if need be, and written as they come."""
        self.write(f"SELECT * FROM ({sql}) AS kept ORDER BY {order}", path)

    def fetch(self, table: str, path: Path, *columns: str) -> None:
        """See `Engine.fetch`. Rows keep their order and are not all in memory."""
        kept = Kept.of(path)
        if kept:
            self.load(table, kept.read(columns))
            return
        names = ", ".join(map(self.quote, columns)) or "*"
        self.step(table, f"SELECT {names} FROM read_parquet(:path)", path=str(path))

    def copy(self, sql: str, path: Path, form: str = PARQUET_FORM) -> None:
        """Write a query's rows into a file by DuckDB itself: on all cores, in the order of the query."""
        try:
            self._execute(f"COPY ({sql}) TO {_text(str(path))} ({form})", {})
        except duckdb.Error as problem:
            raise LogError(_brief(problem, str(path), path)) from problem

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

    def number(self, table: str, sql: str, /, column: str, order: str, **values: Any) -> None:
        """See `Engine.number`."""
        self.step(
            table,
            f"SELECT row_number() OVER (ORDER BY {order}) - 1 AS {column}, t.* FROM ({sql}) AS t",
            **values,
        )

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

    def instant(self, text: str) -> str:
        """See `Engine.instant`."""
        moment = f"TRY_CAST({text} AS TIMESTAMPTZ)"
        return f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"

    def close(self) -> None:
        """See `Engine.close`."""
        self._connection.close()
        self._spill.cleanup()

    def _execute(self, sql: str, values: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(_dollars(sql), values or None)


_QUOTED_OR_PARAMETER = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')|(?<!:):([a-z_]+)\b""")


def _dollars(sql: str) -> str:
    """Rewrite parameters `:name` as `$name` for DuckDB, except inside quotes.

    >>> _dollars('SELECT "a:b", e::INT FROM t WHERE f < :first')
    'SELECT "a:b", e::INT FROM t WHERE f < $first'
    """
    return _QUOTED_OR_PARAMETER.sub(lambda match: match[1] or f"${match[2]}", sql)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _types(columns: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in columns.items()) + "}"


def _json_type(kinds: set[str | None]) -> str:
    if kinds & {"ARRAY", "OBJECT"}:
        return "JSON"
    return "BOOLEAN" if kinds - {"NULL", None} == {"BOOLEAN"} else "VARCHAR"


def _brief(problem: Exception, alias: str, path: Path) -> str:
    """The error of DuckDB without its advice on reader settings."""
    reason = re.split(r"\nPossible (?:fixes|Solution)|\n\nLINE \d|\n  file = ", str(problem))[0]
    return reason.replace(alias, path.name).strip()[:LONGEST_REASON]


def _failed(step: str, sql: str, problem: Exception) -> WaywordError:
    return WaywordError(f"The step '{step}' failed: {problem}\n\n{sql.strip()}")
