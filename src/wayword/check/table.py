"""The tables that checks look at, and small questions about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from wayword.check.finding import Finding, Level
from wayword.config import CheckConfig, Config
from wayword.engines import Engine
from wayword.logs.checks import EXAMPLES, Check, describe
from wayword.logs.columns import Columns


@dataclass(frozen=True)
class Tables:
    """A log in an engine (`typed`, later `searches` and `clicks`), with what was given beside it.

    Checks of rows see every row as it is in the file; those of searches see the rows that can be used.
    """

    engine: Engine
    source: str
    columns: Columns
    settings: Config
    now: datetime
    first_line: int | None = None
    """The line of the file with the first row, if every row is a line."""
    lenient: bool = False
    """Clicks that the rankings cannot explain are dropped, as with `run --lenient`."""
    impressions: bool = False
    """There is a table `impressions`."""

    @property
    def limits(self) -> CheckConfig:
        """The thresholds."""
        return self.settings.check

    def has(self, *names: str) -> bool:
        """Whether the log has these columns."""
        return all(map(self.columns.has, names))

    def row(self, sql: str, **values: Any) -> dict[str, Any]:
        """The one row of a query."""
        found: dict[str, Any] = self.engine.arrow(sql, **values).to_pylist()[0]
        return found

    def count(self, table: str) -> int:
        """Number of rows of a table, or of a table with a condition."""
        return int(self.row(f"SELECT count(*) AS n FROM {table}")["n"])

    def forget(self, *tables: str) -> None:
        """Free the memory of tables whose rows are not needed any more."""
        for table in tables:
            self.engine.step(table, f"SELECT * FROM {table} LIMIT 0")

    def examples(self, sql: str, **values: Any) -> tuple[str, ...]:
        """The first rows of an ordered query, described; those with `input_row` by their place in the file."""
        rows = self.engine.arrow(f"{sql} LIMIT {EXAMPLES}", **values).to_pylist()
        return tuple(describe(row, first_line=self.first_line) for row in rows)

    def invalid(self, check: Check, level: Level = "FAIL", *, do: str = "") -> Finding | None:
        """What a check of `logs.checks` finds; None if it finds nothing."""
        return invalid(self.engine, check, level, first_line=self.first_line, do=do)


def invalid(
    engine: Engine, check: Check, level: Level = "FAIL", *, first_line: int | None = None, do: str = ""
) -> Finding | None:
    """What a check of `logs.checks` finds; None if it finds nothing."""
    count = check.count(engine)
    if not count:
        return None
    return Finding(
        check.name,
        level,
        f"Found {check.found}: {count:,} in all. Expected {check.expected}.",
        do=do,
        count=count,
        examples=tuple(check.examples(engine, first_line=first_line)),
    )
