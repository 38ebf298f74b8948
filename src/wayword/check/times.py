"""Checks of times: unreadable ones, and clocks that are wrong."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from wayword.check.finding import Finding, counted, percent, share
from wayword.check.table import Tables
from wayword.logs.times import SECOND, microseconds


def timed(log: Tables) -> None:
    """Step `timed`: input_row, search_id, user_id and time in microseconds (null: unreadable) of rows with a time."""
    log.engine.step(
        "timed",
        f"""SELECT input_row, search_id, user_id, time_text, {microseconds(log.engine, "typed")} AS moment FROM typed
            WHERE time_text IS NOT NULL""",
    )


def times(log: Tables) -> Iterator[Finding]:
    """Times that cannot be read, are in the future, or before there was such a log."""
    if not log.has("time"):
        return
    timed(log)
    rows, unread = log.count("timed"), log.count("timed WHERE moment IS NULL")
    if unread:
        yield _unread(log, unread, rows)
    latest = log.now + timedelta(hours=log.limits.future_hours)
    oldest = datetime(log.limits.oldest_year, 1, 1, tzinfo=UTC)
    future, past = f"moment > {_microseconds(latest)}", f"moment < {_microseconds(oldest)}"
    ahead, behind = log.count(f"timed WHERE {future}"), log.count(f"timed WHERE {past}")
    if ahead + behind:
        found = [
            f"{counted(n, 'row')} {where}"
            for n, where in (
                (
                    ahead,
                    f"after now, {log.now:%Y-%m-%d %H:%M} UTC, by more than {log.limits.future_hours} hours",
                ),
                (behind, f"before {log.limits.oldest_year}"),
            )
            if n
        ]
        yield Finding(
            "clock",
            "WARN",
            f"The clock was wrong: {', and '.join(found)} ({percent(share(ahead + behind, rows))}).",
            "What is split or weighed by time takes these searches for the newest or the oldest.",
            "Take the time of the server, not of the browser; look whether numbers are seconds or milliseconds.",
            ahead + behind,
            log.examples(
                f"SELECT input_row, search_id, time_text FROM timed WHERE {future} OR {past} ORDER BY input_row"
            ),
        )
    if rows and not unread + ahead + behind:
        span = log.row("SELECT min(moment) AS first, max(moment) AS last FROM timed")
        yield Finding("times", "PASS", f"The times are from {_day(span['first'])} to {_day(span['last'])}.")


def _unread(log: Tables, unread: int, rows: int) -> Finding:
    needed = log.settings.log.split == "time"
    return Finding(
        "times",
        "FAIL" if needed else "WARN",
        f"{counted(unread, 'time')} of {rows:,} ({percent(share(unread, rows))}) cannot be read. Expected ISO "
        "timestamps such as 2026-01-31 14:05:00, or numbers since 1970.",
        '[log] split = "time" needs all of them.'
        if needed
        else "Nothing that goes by time knows these rows.",
        f"Write the times so: `wayword import {log.source} --out log` reads other forms.",
        unread,
        log.examples(
            "SELECT input_row, search_id, time_text FROM timed WHERE moment IS NULL ORDER BY input_row"
        ),
    )


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


def _day(at: int) -> str:
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%d}"
