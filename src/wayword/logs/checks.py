"""Validation: each check selects invalid rows; any such row raises an error with their count and five examples."""

from dataclasses import dataclass
from typing import Any

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs.columns import CONTEXT, Columns

EXAMPLES = 5
LARGEST = 1e100
"""Largest absolute value in a context column; the sum of squares over a log stays finite."""


@dataclass(frozen=True)
class Check:
    """Rows of `table` that satisfy the SQL condition `bad` are invalid; the message has `found` and `expected`."""

    found: str
    expected: str
    table: str
    bad: str
    name: str = ""
    """What `wayword check` calls it."""

    def count(self, engine: Engine) -> int:
        """Number of invalid rows."""
        rows = engine.arrow(f"SELECT count(*) AS n FROM {self.table} AS t WHERE {self.bad}")
        return int(rows["n"][0].as_py())

    def examples(self, engine: Engine, *, first_line: int | None = None) -> list[str]:
        """The first invalid rows, described."""
        rows = engine.arrow(
            f"SELECT * FROM {self.table} AS t WHERE {self.bad} ORDER BY 1, 2 LIMIT {EXAMPLES}"
        ).to_pylist()
        return [describe(row, first_line=first_line) for row in rows]


LOG_CHECKS = (
    Check(
        "a row without a query",
        "text in `query`",
        "typed",
        "text IS NULL OR text = ''",
        "empty_queries",
    ),
    Check(
        "a row without a search_id",
        "one in every row, or no column `search_id` (then every row is a search)",
        "typed",
        "search_id IS NULL",
        "search_id",
    ),
    Check(
        "a rank that is not a whole number from 1 up",
        "the 1-based position at which the clicked document was shown",
        "typed",
        "document_id IS NOT NULL AND (rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank))",
        "ranks",
    ),
    Check(
        "a weight that is negative, huge or not a number",
        "a weight from 0 to a thousand million, or none (counts as 1)",
        "typed",
        "NOT (weight >= 0 AND weight <= 1000000000) OR (weight IS NULL AND weight_text IS NOT NULL)",
        "weights",
    ),
)

JUDGMENT_CHECKS = (
    *LOG_CHECKS[:2],
    Check(
        "a judgment without a document",
        "a document in every row",
        "typed",
        "document_id IS NULL",
        "documents",
    ),
    Check(
        "a grade that is negative or not a number",
        "a finite grade from 0 (not relevant) up",
        "typed",
        "weight IS NULL OR NOT (weight >= 0 AND weight < 1000)",
        "grades",
    ),
)

SEARCH_CHECKS = (
    Check(
        "a search_id that stands for two queries or two prefixes",
        "one query and one prefix per search_id",
        "(SELECT search_id, count(DISTINCT text) AS queries, "
        "count(DISTINCT coalesce(prefix, CASE WHEN untyped THEN '' END)) AS prefixes, "
        "min(raw_query) AS one, max(raw_query) AS another FROM typed WHERE search_id IN ("
        "SELECT search_id FROM typed GROUP BY search_id HAVING min(text) <> max(text) OR "
        "min(coalesce(prefix, CASE WHEN untyped THEN '' END)) <> max(coalesce(prefix, CASE WHEN untyped THEN '' END))"
        ") GROUP BY search_id)",  # few: to count distinct texts of every search takes long
        "queries > 1 OR prefixes > 1",
        "search_queries",
    ),
    Check(
        "a search_id that stands for two users",
        "one user per search_id",
        "(SELECT search_id, min(user_id) AS one, max(user_id) AS another FROM typed GROUP BY search_id)",
        "one <> another",
        "search_users",
    ),
    Check(
        "a document with two ranks (or grades) in one search",
        "one rank per document and search",
        "(SELECT search_id, document_id, min(rank) AS low, max(rank) AS high, min(weight) AS weight_low, "
        "max(weight) AS weight_high FROM typed WHERE document_id IS NOT NULL GROUP BY search_id, document_id)",
        "low <> high OR (low IS NULL AND weight_low <> weight_high)",
        "search_ranks",
    ),
)

RANKINGS_CHECKS = (
    Check(
        "a row without a query",
        "text in `query`",
        "(SELECT r.*, f.text FROM ranked AS r LEFT JOIN ranked_forms AS f ON f.raw = r.raw_query)",
        "text IS NULL OR text = ''",
        "rankings_queries",
    ),
    Check(
        "a row without a document",
        "a document in every row",
        "ranked",
        "document_id IS NULL",
        "rankings_documents",
    ),
    Check(
        "a rank that is not a whole number from 1 up",
        "the 1-based position of the document in the query's result list",
        "ranked",
        "rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank)",
        "rankings_ranks",
    ),
    Check(
        "a (query, document) with two ranks",
        "one rank per query and document",
        "(SELECT raw_query AS query, document_id, min(rank) AS one_rank, max(rank) AS another_rank "
        "FROM ranked GROUP BY raw_query, document_id)",
        "one_rank <> another_rank",
        "rankings_two_ranks",
    ),
)


def context_checks(engine: Engine, columns: Columns) -> tuple[Check, ...]:
    """Checks of context columns: one value per search (known at completion time), no infinite or huge number."""
    kinds = engine.columns("typed")
    checks = []
    for name, stored in zip(columns.context, columns.stored, strict=True):
        column = engine.quote(stored)
        one = Check(
            f"a search_id with two values of the context column {name}",
            "one context per search (leave out a column that describes the click)",
            f"(SELECT search_id, min({column}) AS one, max({column}) AS another FROM typed GROUP BY search_id)",
            "one <> another",
            "search_contexts",
        )
        small = Check(
            f"a number that is infinite or too large in the context column {name}",
            f"numbers from -{LARGEST:g} to {LARGEST:g}",
            f"(SELECT input_row, raw_query, {column} AS number FROM typed)",
            f"abs(number) > {LARGEST}",
            "context_numbers",
        )
        checks += [one, small] if kinds[stored].upper() == "DOUBLE" else [one]
    return tuple(checks)


def enforce(engine: Engine, checks: tuple[Check, ...], *, source: str) -> None:
    """Run the checks in order; raise one `LogError` with all that failed."""
    problems = [problem for check in checks if (problem := _problem(engine, check))]
    if problems:
        raise LogError(f"{source} cannot be used:\n" + "\n".join(problems))


def _problem(engine: Engine, check: Check) -> str | None:
    count = check.count(engine)
    if not count:
        return None
    examples = "\n".join(f"    {example}" for example in check.examples(engine))
    return f"- found {check.found} ({count:,} in all); expected {check.expected}. For example:\n{examples}"


_SHOWN_AS = {
    "raw_query": "query",
    "document_id": "document",
    "rank_text": "rank",
    "weight_text": "weight",
    "user_id": "user",
    "time_text": "time",
}
_INTERNAL = ("input_row", "text", "untyped")


def describe(row: dict[str, Any], *, first_line: int | None = None) -> str:
    """Format a row for a message: its number, or its line in the file if that of the first row is known; then the
    values without nulls."""
    place = ""
    if "input_row" in row:
        known = first_line is not None
        place = f"line {row['input_row'] + first_line}: " if known else f"row {row['input_row'] + 1}: "
    given = {name: value for name, value in row.items() if value is not None and name not in _INTERNAL}
    shown = {
        _SHOWN_AS.get(name, name.removeprefix(CONTEXT)): value for name, value in reversed(given.items())
    }
    return place + ", ".join(f"{name}={value!r}" for name, value in reversed(shown.items()))
