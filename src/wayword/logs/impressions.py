"""Impressions: what each search showed, at which rank, and whether it was clicked.

A row is a document shown in a search. Rows that cannot be used are left out and counted; more than the share
`MOST_LEFT_OUT` of one kind is an error with examples. The same row twice (a page that was loaded again) is one
impression, clicked if one of them was.
"""

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import checks, column_types
from wayword.logs.checks import Check
from wayword.logs.columns import TYPES, as_text
from wayword.logs.log import forms
from wayword.logs.times import microseconds
from wayword.store.input_file import InputFile

REQUIRED = ("search_id", "query", "document", "rank", "clicked")
OPTIONAL = ("time", "swap")
MOST_LEFT_OUT = 0.02
"""Share of the rows that may be left out for one reason."""
SHOWN_AGAIN, SAME_RANK = 50, 0.75
"""Of two impressions of a result in a swap experiment, half are at the same rank if it changes places in half of the
searches, at random; all are if only one half of the experiment has the label. Fewer impressions do not tell."""
TWICE = "rows repeat another one, and count once; expected one row per result shown: look for a double export"
TWICE_CLICKED = (
    "rows repeat another one but for `clicked`, and count once, as clicked; expected one row per result shown: look "
    "for clicks that have rows of their own"
)
UNREAD_TIMES = "times that cannot be read, or are before 1970"
_TYPES = {
    **{name: TYPES[name] for name in ("search_id", "query", "document", "rank", "time")},
    "clicked": column_types.Kind(
        "0 and 1, or true and false", column_types.NUMBER.types | {"BOOLEAN", "ENUM"}
    ),
    "swap": column_types.VALUE,
}
_ROW_CHECKS = (
    Check("a row without a search_id", "one in every row", "typed_impressions", "search_id IS NULL"),
    Check("a row without a query", "text in `query`", "typed_impressions", "text IS NULL OR text = ''"),
    Check("a row without a document", "a document in every row", "typed_impressions", "document_id IS NULL"),
    Check(
        "a rank that is not a whole number from 1 up",
        "the position at which the document was shown, from 1 (`--first-rank 0` where the first is 0)",
        "typed_impressions",
        "rank IS NULL OR NOT (rank >= 1 AND rank < 2147483648) OR rank <> floor(rank)",
    ),
    Check(
        "a value of `clicked` that is neither 0 nor 1, true nor false",
        "1 or true where the document was clicked, 0 or false where it was not",
        "typed_impressions",
        "clicked IS NULL",
    ),
)
_SEARCH_CHECKS = (
    Check(
        "a search_id that stands for two queries",
        "one query per search_id",
        """(SELECT search_id, min(text) AS one, max(text) AS another, count(*) AS impressions FROM shown_once
           GROUP BY search_id)""",
        "one <> another",
    ),
    Check(
        "a document that one search shows at two ranks",
        "one rank per document and search (each page view with a search_id of its own)",
        """(SELECT search_id, document_id, min(rank) AS low, max(rank) AS high, count(*) AS impressions
           FROM shown_once GROUP BY search_id, document_id)""",
        "low <> high",
    ),
    Check(
        "two documents that one search shows at one rank",
        "one document per rank (ranks that go on from page to page)",
        """(SELECT search_id, rank, min(document_id) AS one, max(document_id) AS another, count(*) AS impressions
           FROM shown_once GROUP BY search_id, rank)""",
        "one <> another",
    ),
    Check(
        "a search with a label in `swap` on other than two results",
        "the label on the two results that may change places, and on no other",
        """(SELECT search_id, swap, count(*) AS impressions FROM shown_once WHERE swap IS NOT NULL
           GROUP BY search_id, swap)""",
        "impressions <> 2",
    ),
    Check(
        "a label in `swap` that stands for more than two ranks",
        "a label of its own for each pair of ranks, such as 1-4",
        """(SELECT swap, min(rank) AS low, max(rank) AS high, count(DISTINCT rank) AS ranks, count(*) AS impressions
           FROM shown_once WHERE swap IS NOT NULL GROUP BY swap)""",
        "ranks > 2",
    ),
    Check(
        "a label in `swap` whose results hardly change places",
        "both halves of the experiment under the label, those whose results changed places and the others",
        """(SELECT swap, round(sum(same / (n - 1)) / sum(n), 3) AS at_the_same_rank,
                   CAST(sum(n) AS BIGINT) AS impressions
           FROM (SELECT swap, sum(times) AS n, CAST(sum(times * (times - 1)) AS DOUBLE) AS same FROM (
                   SELECT swap, text, document_id, rank, count(*) AS times FROM shown_once WHERE swap IS NOT NULL
                   GROUP BY swap, text, document_id, rank) AS at_rank
                 GROUP BY swap, text, document_id HAVING sum(times) > 1) AS results
           GROUP BY swap)""",
        f"impressions >= {SHOWN_AGAIN} AND at_the_same_rank > {SAME_RANK}",
    ),
)
_KEYS = (
    ("search_id",),
    ("search_id", "document_id"),
    ("search_id", "rank"),
    ("search_id", "swap"),
    ("swap",),
    ("swap",),
)
"""Which impressions contradict each other, for each of the checks of searches."""


def read(engine: Engine, file: InputFile, *, first_rank: int = 1) -> dict[str, int]:
    """Step `impressions` (search_id, query, document, rank, clicked, time, swap); return what was read and left out.

    `query` is normalised, `rank` starts at 1 whatever `first_rank` is in the file, `time` is in microseconds.
    """
    engine.read("raw_impressions", file)
    _typed(engine, source=str(file), first_rank=first_rank)
    rows = _count(engine, "typed_impressions")
    if rows == 0:
        raise LogError(f"{file} is empty: it has columns but no row. Expected what each search showed.")
    left_out = _enforce(engine, _ROW_CHECKS, "count(*)", rows, source=str(file))
    engine.step(
        "shown_once",
        f"""
        SELECT search_id, document_id, CAST(rank AS INTEGER) AS rank, text, max(clicked) AS clicked, min(time) AS time,
               min(swap) AS swap, count(*) AS times, min(clicked) < max(clicked) AS contradictory
        FROM typed_impressions WHERE NOT ({" OR ".join(f"({check.bad})" for check in _ROW_CHECKS)})
        GROUP BY search_id, document_id, rank, text
        """,
    )
    once = _count(engine, "shown_once")
    twice = rows - sum(left_out.values()) - once
    left_out[TWICE_CLICKED] = int(
        engine.arrow("SELECT coalesce(sum(times - 1), 0) AS n FROM shown_once WHERE contradictory")["n"][
            0
        ].as_py()
    )
    left_out[TWICE] = twice - left_out[TWICE_CLICKED]
    contradictory = _enforce(engine, _SEARCH_CHECKS, "sum(impressions)", once, source=str(file))
    _impressions(engine, [i for i, n in enumerate(contradictory.values()) if n])
    counts = {"rows": rows, "impressions": _count(engine, "impressions"), **left_out, **contradictory}
    counts[UNREAD_TIMES] = _count(engine, "typed_impressions WHERE time_text IS NOT NULL AND time IS NULL")
    return {name: n for name, n in counts.items() if n or name in ("rows", "impressions")}


def _typed(engine: Engine, *, source: str, first_rank: int) -> None:
    """Step `typed_impressions`: one row per raw row with typed columns; null where a value cannot be converted."""
    names = tuple(name for name in engine.columns("raw_impressions") if name != "input_row")
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise LogError(
            f"{source} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(names)}\n  expected: {', '.join(REQUIRED)} (optional: {', '.join(OPTIONAL)}; "
            "other columns are not read)\nRename the columns, or export them under these names."
        )
    column_types.check(engine, "raw_impressions", _TYPES, source=source)

    def text(name: str) -> str:
        return (
            f"NULLIF({as_text(engine, 'raw_impressions', name)}, '')"
            if name in names
            else "CAST(NULL AS STRING)"
        )

    forms(engine, "impression_forms", f"SELECT DISTINCT {text('query')} AS query FROM raw_impressions")
    engine.step(
        "timed_impressions",
        f"SELECT *, {text('time')} AS time_text, {text('query')} AS raw_query FROM raw_impressions",
    )
    time = microseconds(engine, "timed_impressions")
    engine.step(
        "typed_impressions",
        f"""
        SELECT r.input_row, {text("search_id")} AS search_id, r.raw_query, {text("document")} AS document_id,
               {text("rank")} AS rank_text, {text("clicked")} AS clicked_text, r.time_text, f.text,
               TRY_CAST({text("rank")} AS DOUBLE) + {1 - first_rank} AS rank,
               CASE WHEN lower({text("clicked")}) IN ('1', 'true', '1.0') THEN 1
                    WHEN lower({text("clicked")}) IN ('0', 'false', '0.0') THEN 0 END AS clicked,
               CASE WHEN {time} >= 0 THEN {time} END AS time, {text("swap")} AS swap
        FROM timed_impressions AS r LEFT JOIN impression_forms AS f ON f.raw = r.raw_query
        """,
    )


def _enforce(
    engine: Engine, rules: tuple[Check, ...], amount: str, rows: int, *, source: str
) -> dict[str, int]:
    """How many impressions each check leaves out; raise `LogError` if one leaves out too many."""
    counts = {
        check.found: int(
            engine.arrow(f"SELECT coalesce({amount}, 0) AS n FROM {check.table} AS t WHERE {check.bad}")["n"][
                0
            ].as_py()
        )
        for check in rules
    }
    checks.enforce(engine, tuple(c for c in rules if counts[c.found] > MOST_LEFT_OUT * rows), source=source)
    return counts


def _impressions(engine: Engine, failed: list[int]) -> None:
    """Step `impressions`, without those that contradict each other by the checks of searches in `failed`."""
    joins, kept = "", ["true"]
    for i in failed:
        keys, check = _KEYS[i], _SEARCH_CHECKS[i]
        same = " AND ".join(f"w{i}.{key} = s.{key}" for key in keys)
        joins += f" LEFT JOIN (SELECT * FROM {check.table} AS t WHERE {check.bad}) AS w{i} ON {same}"
        kept.append(f"w{i}.search_id IS NULL")
    engine.step(
        "impressions",
        f"""
        SELECT s.search_id, s.text AS query, s.document_id AS document, s.rank, s.clicked = 1 AS clicked, s.time, s.swap
        FROM shown_once AS s {joins} WHERE {" AND ".join(kept)}
        """,
    )


def _count(engine: Engine, table: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())
