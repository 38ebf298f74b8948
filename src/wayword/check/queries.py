"""Checks of the queries: empty ones, markup and code, personal data."""

from collections.abc import Iterator

import pyarrow as pa

from wayword.check.finding import Finding, counted, percent, share
from wayword.check.table import Tables
from wayword.logs.checks import LOG_CHECKS
from wayword.privacy_filter import PATTERNS, matching
from wayword.rankings.display_form import has_markup

KINDS = {"email": "e-mail address", "card": "card number", "phone": "phone number"}
"""The patterns of `[index] withhold`, in words."""


def empty(log: Tables) -> Iterator[Finding]:
    """Rows without a query."""
    if not log.has("query"):
        return
    do = f"Leave these rows out: `wayword import {log.source} --out log` does, and counts them."
    found = log.invalid(LOG_CHECKS[0], do=do)
    yield found or Finding("empty_queries", "PASS", "Every row has a query.")


def markup(log: Tables) -> Iterator[Finding]:
    """Queries that are markup, code or addresses: written by programs, not by people."""
    if not log.has("query"):
        return
    raw = log.engine.arrow("SELECT raw AS raw FROM forms WHERE text <> ''")["raw"]
    bad = [text for text in raw.to_pylist() if has_markup(text)]
    log.engine.load("markup_forms", pa.table({"raw": pa.array(bad, pa.string())}))
    found = "typed AS t JOIN markup_forms AS m ON m.raw = t.raw_query"
    rows, all_rows = log.count(found), log.count("typed")
    if not rows:
        yield Finding("markup", "PASS", "No query is markup or code.")
        return
    texts = log.row(f"SELECT count(DISTINCT raw_query) AS n FROM {found}")["n"]
    yield Finding(
        "markup",
        "WARN",
        f"{counted(rows, 'row')} ({percent(share(rows, all_rows))}) {'has' if rows == 1 else 'have'} a query that is "
        f"markup, code or an address: {counted(texts, 'text')}.",
        "Such queries are never suggested, but count as searches. Mostly programs write them.",
        "If people did not type these, leave them out, with all searches of the users who sent them.",
        rows,
        log.examples(f"SELECT t.input_row, t.raw_query FROM {found} ORDER BY t.input_row"),
    )


def personal(log: Tables) -> Iterator[Finding]:
    """Queries that look like personal data. The examples name the rows and not the text."""
    if not log.has("query"):
        return
    texts = log.engine.arrow("SELECT DISTINCT text FROM forms WHERE text <> ''")["text"].to_pylist()
    kinds = [(text, kind) for kind in PATTERNS for text in _of_kind(texts, kind)]
    log.engine.load(
        "personal_texts",
        pa.table(
            {
                "text": pa.array([text for text, _ in kinds], pa.string()),
                "kind": pa.array([KINDS[kind] for _, kind in kinds], pa.string()),
            }
        ),
    )
    log.engine.step(
        "personal_rows",
        """SELECT t.input_row, min(p.kind) AS looks_like FROM typed AS t JOIN personal_texts AS p ON p.text = t.text
           GROUP BY t.input_row""",
    )
    rows = log.count("personal_rows")
    if not rows:
        yield Finding("personal_data", "PASS", "No query looks like an e-mail address, card or phone number.")
        return
    by_kind = log.engine.arrow(
        "SELECT looks_like, count(*) AS n FROM personal_rows GROUP BY looks_like ORDER BY n DESC, looks_like"
    ).to_pylist()
    named = ", ".join(
        counted(row["n"], row["looks_like"], row["looks_like"].replace("address", "addresse") + "s")
        for row in by_kind
    )
    yield Finding(
        "personal_data",
        "WARN",
        f"{counted(rows, 'row')} {'has' if rows == 1 else 'have'} a query that looks like personal data: {named}.",
        "Such queries are never suggested ([index] withhold), but they are in the log and in the workspace.",
        "Remove them from the log if you may not keep them. Product numbers can look like phone numbers.",
        rows,
        log.examples("SELECT * FROM personal_rows ORDER BY input_row"),
    )


def _of_kind(texts: list[str], kind: str) -> list[str]:
    return [text for text, is_one in zip(texts, matching(texts, [kind]), strict=True) if is_one]
