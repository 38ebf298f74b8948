"""Spark through Spark Connect: Apache Spark clusters, Databricks, and Sail. No attribute of a JVM is used.

Every step is written to storage as Parquet and read back, so that its plan does not grow and a lost executor repeats
one step only. The storage is a folder that the cluster and this process both see.
"""

import tempfile
import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wayword.engines import files, spark_errors
from wayword.engines.kept import Kept
from wayword.engines.remote_file import RemoteFile
from wayword.engines.storage import STEPS, Storage
from wayword.errors import LogError
from wayword.store.input_file import InputFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_OF_PARTITION = 33
"""monotonically_increasing_id() is a partition's number times 2^33, plus the row's number in it."""
_TYPES = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "void": '"NULL"',
    "timestamp_ntz": "TIMESTAMP",
}
_SHARED = ("VARCHAR", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN")
"""Types that are uploaded as they are; others as text, as DuckDB writes it."""
_WITHOUT_SECONDS = "^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}(:?[0-9]{2})?)?$"
NUMBERED_AT_ONCE = 1_000_000
"""Rows that one task may sort to number them; more are numbered by ranges."""
RANGES = 128


class Spark:
    """The engine of one run. `storage` is its folder; `session` stays open when the engine is closed."""

    def __init__(
        self, session: "SparkSession", storage: Storage, *, numbered_at_once: int = NUMBERED_AT_ONCE
    ) -> None:
        self._session = session
        self._kept = storage.under("tables")
        self._steps = storage.under(f"{STEPS}{uuid.uuid4().hex[:12]}")
        self._written: list[str] = []
        self._numbered_at_once = numbered_at_once
        self._read_types: dict[str, dict[str, str]] = {}

    def read(self, table: str, path: Path | InputFile) -> None:
        """See `Engine.read`. A file of this machine is read here, and uploaded; what a URL names, the engine reads."""
        source = InputFile.of(path)
        if isinstance(source, RemoteFile):
            self._read_remote(table, source)
            return
        from wayword.engines.duck import DuckDB

        with tempfile.TemporaryDirectory(prefix="wayword-upload-") as folder:
            reader, rows = DuckDB(spill=Path(folder)), Path(folder) / "rows.parquet"
            try:
                reader.read(table, source)
                types = reader.columns(table)
                columns = ", ".join(
                    name if kind in _SHARED else f"CAST({name} AS VARCHAR) AS {name}"
                    for name, kind in ((reader.quote(name), kind) for name, kind in types.items())
                )
                reader.write(f"SELECT {columns} FROM {table} ORDER BY {files.ROW}", rows)
            finally:
                reader.close()
            target = self._next(table)
            target.upload(rows)
        self._view(table, self._session.read.parquet(target.url))
        self._read_types[table] = types

    def _read_remote(self, table: str, source: RemoteFile) -> None:
        """Parquet files, whose rows are numbered in the order in which the engine reads them."""
        found = source.storage.listing()
        if not found:
            raise LogError(f"There is no file {source}.")
        files.distinct(source.storage.schema().names, source)
        with spark_errors.said(f"reading {source}"):
            rows = self._session.read.parquet(source.storage.url)
            columns = ", ".join(self._plain(name, kind) for name, kind in rows.dtypes)
            self._view(f"{table}_files", rows)
        placed, parts = f"{table}_placed", f"{table}_parts"
        self.step(
            placed, f"SELECT monotonically_increasing_id() AS {files.ROW}_place, {columns} FROM {table}_files"
        )
        counts = self.arrow(
            f"""SELECT shiftright({files.ROW}_place, {_ROWS_OF_PARTITION}) AS part, count(*) AS n FROM {placed}
                GROUP BY 1 ORDER BY part"""
        )
        n = counts["n"].to_numpy()
        self.load(parts, pa.table({"part": counts["part"], "before": np.cumsum(n) - n}))
        row = f"p.before + (r.{files.ROW}_place & {(1 << _ROWS_OF_PARTITION) - 1})"
        names = ", ".join(f"r.{self.quote(name)}" for name in rows.columns)
        self.step(
            table,
            f"""SELECT {row} AS {files.ROW}, {names} FROM {placed} AS r
                JOIN {parts} AS p ON p.part = shiftright(r.{files.ROW}_place, {_ROWS_OF_PARTITION})""",
        )

    def _plain(self, name: str, kind: str) -> str:
        """SQL for a column as DuckDB reads it: bytes are text, and a time with a zone shows it."""
        column = self.quote(name)
        if kind == "binary":
            return f"CAST({column} AS STRING) AS {column}"
        if kind == "timestamp":
            return f"concat(CAST({column} AS STRING), '+00') AS {column}"
        return column

    def load(self, table: str, rows: pa.Table) -> None:
        """See `Engine.load`."""
        target = self._next(table)
        try:
            target.write(rows)
        except OSError as problem:
            raise spark_errors.not_writable(target.url, problem) from problem
        self._view(table, self._session.read.parquet(target.url))

    def step(self, table: str, sql: str, /, **values: Any) -> None:
        """See `Engine.step`."""
        self._save(table, sql, self._next(table), values)

    def number(self, table: str, sql: str, /, column: str, order: str, **values: Any) -> None:
        """See `Engine.number`. Many rows are cut into ranges of the first column of `order`, so that no task sorts
        them all."""
        unnumbered = f"{table}_unnumbered"
        self.step(unnumbered, sql, **values)
        ranges, bounds = "0", {}
        if self._count(unnumbered) > self._numbered_at_once:
            first = order.split(",", 1)[0].removesuffix(" NULLS LAST")
            limits = self._limits(unnumbered, first)
            below = f"size(filter(:limits, one -> one <= {first}))"
            ranges, bounds = (
                f"CASE WHEN {first} IS NULL THEN {len(limits) + 1} ELSE {below} END",
                {"limits": limits},
            )
        cut, before = f"{table}_cut", f"{table}_before"
        self.step(cut, f"SELECT CAST({ranges} AS INTEGER) AS {column}_range, * FROM {unnumbered}", **bounds)
        counts = self.arrow(
            f"SELECT {column}_range AS part, count(*) AS n FROM {cut} GROUP BY {column}_range ORDER BY part"
        )
        n = counts["n"].to_numpy()
        self.load(before, pa.table({"part": counts["part"], "before": np.cumsum(n) - n}))
        names = ", ".join(f"t.{self.quote(name)}" for name in self.columns(unnumbered))
        by = f"row_number() OVER (PARTITION BY t.{column}_range ORDER BY {order})"
        self.step(
            table,
            f"""SELECT CAST(p.before + {by} - 1 AS BIGINT) AS {column}, {names}
                FROM {cut} AS t JOIN {before} AS p ON p.part = t.{column}_range""",
        )

    def _limits(self, table: str, column: str) -> list[Any]:
        """Values of a column between which there are about equally many rows: of one row in 256 by md5, or of more."""
        sample = f"SELECT DISTINCT {column} AS one FROM {table} WHERE {column} IS NOT NULL"
        digits = "substr(md5(CAST(one AS STRING)), 1, 2)"
        found = self.arrow(f"SELECT one FROM ({sample}) AS t WHERE {digits} = '00' LIMIT 1000000")["one"]
        ordered = sorted(found.to_pylist())
        parts = min(RANGES, len(ordered))
        return [ordered[place * len(ordered) // parts] for place in range(parts)]

    def arrow(self, sql_or_table: str, /, **values: Any) -> pa.Table:
        """See `Engine.arrow`."""
        sql = sql_or_table if " " in sql_or_table else f"SELECT * FROM {sql_or_table}"
        with spark_errors.failed("result", sql):
            return self._sql(sql, values).toArrow()

    def keep(self, sql: str, path: Path, order: str) -> None:
        """See `Engine.keep`: the rows stay in the storage, and `path` says where."""
        target = self._kept.under(f"{path.stem}-{uuid.uuid4().hex[:12]}")
        columns = self._save(f"{path.stem}", sql, target, {}, view=False)
        rows = self._session.read.parquet(target.url) if target.listing() else None
        with spark_errors.failed(path.stem, sql):
            n = rows.count() if rows is not None else 0
        Kept(target.url, n, tuple(one.split()[0] for one in order.split(",")), columns).write(path)

    def fetch(self, table: str, path: Path, *columns: str) -> None:
        """See `Engine.fetch`: tables that were kept are read where they are; others are uploaded."""
        kept = Kept.of(path)
        if kept is None:
            import pyarrow.parquet as pq

            self.load(table, pq.read_table(path, columns=list(columns) or None, memory_map=True))
            return
        if not kept.rows:
            self.load(table, kept.read(columns))
            return
        with spark_errors.failed(table, f"reading {kept.url}"):
            rows = self._session.read.parquet(kept.storage().url)
            self._view(table, rows.select(*map(self.quote, columns)) if columns else rows)

    def columns(self, table: str) -> dict[str, str]:
        """See `Engine.columns`."""
        if table in self._read_types:
            return dict(self._read_types[table])
        with spark_errors.failed(table, f"the columns of {table}"):
            fields = self._session.table(table).schema.fields
        return {field.name: _type_name(field.dataType) for field in fields}

    def quote(self, column: str) -> str:
        """See `Engine.quote`."""
        return "`" + column.replace("`", "``") + "`"

    def ordered_sum(self, value: str, order: str) -> str:
        """See `Engine.ordered_sum`. Needs the values of one group in the memory of one task."""
        term = f"term_{zlib.crc32(value.encode()):08x}"  # Sail names a column by its fields: two sums need two names
        keys = ", ".join(f"{one.strip()} AS key_{place}" for place, one in enumerate(order.split(",")))
        rows = f"collect_list(struct({keys}, CAST({value} AS DOUBLE) AS {term}))"
        add = f"CAST(0 AS DOUBLE), (total, {term}) -> total + coalesce({term}, CAST(0 AS DOUBLE))"
        summed = f"aggregate(transform(array_sort({rows}), row -> row.{term}), {add})"
        return f"CASE WHEN count({value}) > 0 THEN {summed} END"

    def instant(self, text: str) -> str:
        """See `Engine.instant`."""
        whole = (
            f"regexp_replace({text}, '{_WITHOUT_SECONDS}', '$1:00$2')"  # Sail reads no time without seconds
        )
        return f"unix_micros(TRY_CAST({whole} AS TIMESTAMP))"

    def close(self) -> None:
        """Drop the tables of the run; what was kept stays."""
        for table in dict.fromkeys(self._written):
            self._session.catalog.dropTempView(table)
        self._steps.remove()

    def _count(self, table: str) -> int:
        return int(self.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())

    def _sql(self, sql: str, values: dict[str, Any]) -> "DataFrame":
        return self._session.sql(sql, args=values or None)

    def _next(self, table: str) -> Storage:
        return self._steps.under(f"{len(self._written):04d}-{table}")

    def _save(
        self, table: str, sql: str, target: Storage, values: dict[str, Any], *, view: bool = True
    ) -> pa.Schema:
        """Write a query's rows, and make a view of what was written. Returns its columns."""
        with spark_errors.failed(table, sql):
            rows = self._sql(sql, values)
            schema = rows.schema
            rows.write.mode("error").parquet(target.url)
            if view:
                self._view(table, self._session.read.schema(schema).parquet(target.url))
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(schema)

    def _view(self, table: str, rows: "DataFrame") -> None:
        self._read_types.pop(table, None)
        rows.createOrReplaceTempView(table)
        self._written.append(table)


def _type_name(kind: Any) -> str:
    """The name that DuckDB has for a type of Spark."""
    simple = kind.simpleString()
    if simple.startswith("array<"):
        return f"{_type_name(kind.elementType)}[]"
    return str(_TYPES.get(simple, simple.upper()))
