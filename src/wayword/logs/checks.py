"""Validation: every check finds its offending rows, and a log with any is refused with a count and five examples."""

from dataclasses import dataclass
from typing import Any

from wayword.engines import Engine
from wayword.errors import LogError

EXAMPLES = 5


@dataclass(frozen=True)
class Check:
    """Rows of `table` that satisfy `bad` are wrong; `found` says what they have, `expected` what they should."""

    found: str
    expected: str
    table: str
    bad: str


LOG_CHECKS = (
    Check("a row without a query", "text in `query`", "rows", "raw_query IS NULL OR trim(raw_query) = ''"),
    Check(
        "a rank that is not a whole number from 1 up",
        "the 1-based position at which the clicked document was shown",
        "rows",
        "document IS NOT NULL AND (rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank))",
    ),
    Check(
        "a weight that is negative or not a number",
        "a finite weight from 0 up, or none (counts as 1)",
        "rows",
        "NOT (weight >= 0 AND weight < CAST('inf' AS DOUBLE)) OR (weight IS NULL AND weight_text IS NOT NULL)",
    ),
)

JUDGMENT_CHECKS = (
    LOG_CHECKS[0],
    Check("a judgment without a document", "a document in every row", "rows", "document IS NULL"),
    Check(
        "a grade that is negative or not a number",
        "a finite grade from 0 (not relevant) up",
        "rows",
        "weight IS NULL OR NOT (weight >= 0 AND weight < 1000)",
    ),
)

SEARCH_CHECKS = (
    Check(
        "a search_id that stands for two queries or two prefixes",
        "one query and one prefix per search_id",
        "(SELECT search_id, count(DISTINCT text) AS queries, count(DISTINCT prefix) AS prefixes, "
        "min(raw_query) AS one, max(raw_query) AS another FROM typed GROUP BY search_id)",
        "queries > 1 OR prefixes > 1",
    ),
    Check(
        "a document with two ranks (or grades) in one search",
        "one rank per document and search",
        "(SELECT search_id, document, min(rank) AS low, max(rank) AS high, min(weight) AS weight_low, "
        "max(weight) AS weight_high FROM typed WHERE document IS NOT NULL GROUP BY search_id, document)",
        "low <> high OR (low IS NULL AND weight_low <> weight_high)",
    ),
)

RANKINGS_CHECKS = (
    Check("a row without a query", "text in `query`", "ranked", "raw_query IS NULL OR trim(raw_query) = ''"),
    Check("a row without a document", "a document in every row", "ranked", "document IS NULL"),
    Check(
        "a rank that is not a whole number from 1 up",
        "the 1-based position of the document in the query's result list",
        "ranked",
        "rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank)",
    ),
    Check(
        "a (query, document) with two ranks",
        "one rank per query and document",
        "(SELECT raw_query AS query, document, min(rank) AS one_rank, max(rank) AS another_rank "
        "FROM ranked GROUP BY raw_query, document)",
        "one_rank <> another_rank",
    ),
)


def enforce(engine: Engine, checks: tuple[Check, ...], *, source: str) -> None:
    """Run the checks in order and refuse the source with all that failed."""
    problems = [problem for check in checks if (problem := _problem(engine, check))]
    if problems:
        raise LogError(f"{source} cannot be used:\n" + "\n".join(problems))


def _problem(engine: Engine, check: Check) -> str | None:
    count = engine.arrow(f"SELECT count(*) AS n FROM {check.table} AS t WHERE {check.bad}").to_pylist()[0][
        "n"
    ]
    if not count:
        return None
    rows = engine.arrow(f"SELECT * FROM {check.table} AS t WHERE {check.bad} LIMIT {EXAMPLES}").to_pylist()
    examples = "\n".join(f"    {describe(row)}" for row in rows)
    return f"- found {check.found} ({count:,} in all); expected {check.expected}. For example:\n{examples}"


def describe(row: dict[str, Any]) -> str:
    """One offending row for people: its place in the file first, what it does not have left out."""
    place = f"row {row['input_row'] + 1}: " if "input_row" in row else ""
    values = {name: value for name, value in row.items() if value is not None and name != "input_row"}
    return place + ", ".join(f"{name.removeprefix('raw_')}={value!r}" for name, value in values.items())
