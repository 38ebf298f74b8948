"""The log: searches and their clicks, from a click log or from graded judgments.

Two tables come out. `searches`: search (a number), search_id, split, text (the normalised query), raw_query, prefix
(normalised, null where the log has none), user_id, time_text, recency (how much the search weighs, see `clock`) and the
context columns (named `context_…`). `clicks`: search, document_id, rank, weight; a search without a click has no row
there.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import checks, clock, columns, splits
from wayword.store.input_file import InputFile
from wayword.text import normalise_distinct


@dataclass(frozen=True)
class Log:
    """The columns and the counts of a log."""

    columns: columns.Columns
    report: dict[str, int | str]


def build(engine: Engine, path: Path | InputFile, config: LogConfig, *, judged: bool = False) -> Log:
    """Steps `searches` and `clicks`: read, validate, normalise and split a file."""
    engine.read("raw", path)
    given = columns.find(engine, "raw", judged=judged, source=str(path))
    rows(engine, given)
    if _count(engine, "typed") == 0:
        raise LogError(f"{path} is empty: it has columns but no row. Expected at least one search.")
    checks.enforce(engine, checks.JUDGMENT_CHECKS if judged else checks.LOG_CHECKS, source=str(path))
    whole = (*checks.SEARCH_CHECKS, *checks.context_checks(engine, given))
    checks.enforce(engine, whole, source=str(path))
    split = searches_and_clicks(engine, given, config, source=str(path))
    return Log(given, {**_report(engine), "split": split, "sentence": f"Searches are split {split}."})


def rows(engine: Engine, given: columns.Columns) -> None:
    """Step `typed`: the rows of `raw` with typed columns and normalised texts, whether they are valid or not."""
    columns.typed(engine, "raw", given)
    _normalise(engine, given)


def searches_and_clicks(engine: Engine, given: columns.Columns, config: LogConfig, *, source: str) -> str:
    """Steps `searches` and `clicks`, of valid rows in `typed`. Returns how the searches are split."""
    _searches(engine, given)
    times = clock.read(engine, timed=given.has("time"))
    clock.date(engine, times)
    clock.weigh(engine, times, config.half_life_days, source=source)
    split = splits.assign(engine, config, times, source=source)
    _clicks(engine, judged=given.judged)
    return split


def forms(engine: Engine, table: str, sql: str) -> None:
    """Load `table` (raw, text): the distinct strings that `sql` selects, and their normal forms."""
    raw = [text for text in engine.arrow(sql).column(0).to_pylist() if text is not None]
    known = normalise_distinct(raw)
    engine.load(
        table,
        pa.table({"raw": pa.array(known.keys(), pa.string()), "text": pa.array(known.values(), pa.string())}),
    )


def _normalise(engine: Engine, given: columns.Columns) -> None:
    """Step `typed`: rows with the normalised query and prefix.

    Without a column search_id, every row of a click log is a search, identified by its row number; judgments with the
    same query and prefix are one search (no normal form contains a line break).
    """
    forms(engine, "forms", "SELECT DISTINCT raw_query FROM rows UNION SELECT DISTINCT raw_prefix FROM rows")
    search_id = "r.search_id"
    if not given.has("search_id"):
        of_judgment = "concat(q.text, chr(10), coalesce(p.text, ''))"
        search_id = of_judgment if given.judged else "CAST(r.input_row AS STRING)"
    engine.step(
        "typed",
        f"""
        SELECT r.input_row, {search_id} AS search_id, r.raw_query, q.text AS text,
               NULLIF(p.text, '') AS prefix, p.text = '' AS untyped, r.document_id, r.rank_text, r.rank, r.weight_text,
               r.weight, r.user_id, r.time_text {"".join(f", r.{engine.quote(n)}" for n in given.stored)}
        FROM rows AS r LEFT JOIN forms AS q ON q.raw = r.raw_query LEFT JOIN forms AS p ON p.raw = r.raw_prefix
        """,
    )


def _searches(engine: Engine, given: columns.Columns) -> None:
    context = "".join(f", min({engine.quote(n)}) AS {engine.quote(n)}" for n in given.stored)
    engine.number(
        "unsplit",
        f"""
        SELECT min(input_row) AS first_row, search_id, min(text) AS text, min(raw_query) AS raw_query,
               min(prefix) AS prefix, bool_or(coalesce(untyped, false)) AS untyped, min(user_id) AS user_id,
               min(time_text) AS time_text {context}
        FROM typed GROUP BY search_id
        """,
        "search",
        "first_row",
    )


def _clicks(engine: Engine, *, judged: bool) -> None:
    """Step `clicks`. Repeated clicks are kept; repeated judgments are one."""
    engine.step(
        "clicks",
        f"""
        SELECT {"DISTINCT" if judged else ""}
               s.search, t.document_id, CAST(t.rank AS INTEGER) AS rank, coalesce(t.weight, 1) AS weight
        FROM typed AS t JOIN searches AS s ON s.search_id = t.search_id
        WHERE t.document_id IS NOT NULL
        """,
    )


def _report(engine: Engine) -> dict[str, int | str]:
    return {
        "searches": _count(engine, "searches"),
        "clicks": _count(engine, "clicks"),
        "searches with a click": _count(engine, "(SELECT DISTINCT search FROM clicks)"),
        **{
            f"searches for {split}": _count(engine, f"searches WHERE split = '{split}'")
            for split in splits.SPLITS
        },
    }


def _count(engine: Engine, table: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM {table}").column("n")[0].as_py())
