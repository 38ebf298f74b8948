"""Click rows: tables that have a row per click, or per search without one.

The files are read once, into a table that waits on disk where it outgrows memory; hashes of searches and of their
documents say which rows must be compared with others, usually few.
"""

from dataclasses import dataclass

from wayword.errors import LogError
from wayword.logs.columns import CONTEXT, OPTIONAL
from wayword.logs.importers import bots, times
from wayword.logs.importers.columns import Mapped
from wayword.logs.importers.job import CLICKS, FILES, Job, Outcome, refuse_if_broken, rows_of
from wayword.logs.importers.literals import quote, text
from wayword.logs.importers.records import Place
from wayword.logs.ubi.schema import DEEPEST_RANK
from wayword.store import disk

KEPT, BROKEN, WRONG, NO_QUERY, NO_SEARCH, NO_DOCUMENT, NO_RANK, BOT = range(8)
REASONS = {
    NO_QUERY: "rows without a query",
    NO_SEARCH: "rows without a search id",
    NO_DOCUMENT: "clicks without a document",
    NO_RANK: f"clicks without a rank from 1 to {DEEPEST_RANK:,}",
    BOT: bots.DROPPED,
}
TWICE, MOVED = "rows that are there twice", "clicks on a document that its search has at another rank, too"
_INVISIBLE = "' \t\n\r\x0b\x0c\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff'"
_VISIBLE = f"""CASE WHEN ascii(query) BETWEEN 33 AND 126 THEN query
                    ELSE nullif(trim(query, {_INVISIBLE}), '') END"""
_TRIMMED = ("document", "search_id", "session", "user", "prefix", "weight", "time")
_STRAY = 10
"""Positions 0 are stray ones if there are more than so many times as many positions 1."""


def _trimmed(column: str) -> str:
    """SQL for a text without surrounding spaces, null if empty. Few have them; trimming takes ten times as long."""
    return f"CASE WHEN {_spaced(column)} THEN nullif(trim({column}), '') ELSE nullif({column}, '') END"


def _spaced(column: str) -> str:
    """SQL for whether a text begins or ends with a space."""
    return f"contains({column}, ' ') AND (starts_with({column}, ' ') OR ends_with({column}, ' '))"


@dataclass(frozen=True)
class ClickTable:
    """The columns of a table of clicks, and SQL for its rows."""

    job: Job
    mapped: Mapped
    time: times.Form | None

    def relation(self, **how: bool) -> str:
        """The rows as texts."""
        return _texts(self.job, self.mapped, **how)

    def has(self, role: str) -> bool:
        """Whether the table has such a column."""
        return role in self.mapped.roles

    @property
    def identified(self) -> bool:
        """Whether rows of one search can be told; else each row is a search."""
        return self.has("search_id") or self.has("session") or (self.has("user") and self.has("time"))

    @property
    def dated(self) -> bool:
        """Whether equal rows are the same event."""
        return self.identified or self.has("time")

    @property
    def contexts(self) -> str:
        """The context columns in a list of columns, under names that no other column has."""
        return "".join(f", {quote(CONTEXT + name)}" for name in self.mapped.contexts)

    @property
    def optional(self) -> str:
        """Further columns of the log in a list of columns."""
        return (
            "".join(f", {quote(name)}" for name in OPTIONAL if name != "search_id" and self.has(name))
            + self.contexts
        )

    def cleaned(self, relation: str) -> str:
        """Rows as texts without surrounding spaces, and the `id` of their search; empty texts are null."""
        texts = "".join(f"{_trimmed(quote(name))} AS {quote(name)}, " for name in _TRIMMED if self.has(name))
        rank = f"CASE WHEN {_spaced('rank')} THEN trim(rank) ELSE rank END"
        return f"""
            SELECT *, {self._id()} AS id FROM (SELECT * REPLACE ({texts} {_VISIBLE} AS query, {rank} AS rank)
                                               FROM ({relation}))"""

    def typed(self, rows: str) -> str:
        """Cleaned rows with typed columns, and the `reason` for which a row is dropped whatever others say."""
        moment = self.time.sql if self.time else "NULL::TIMESTAMPTZ"
        blank = "id IS NULL" if self.identified else "false"
        return f"""
            SELECT *, CASE WHEN broken IS NOT NULL THEN {BROKEN} WHEN query IS NULL THEN {NO_QUERY}
                           WHEN {self.job.records.nested("query", "document")} THEN {WRONG}
                           WHEN (rank IS NULL AND rank_text IS NOT NULL AND document IS NOT NULL) OR rank <> floor(rank)
                                OR (weight_text IS NOT NULL AND coalesce(NOT weight BETWEEN 0 AND 1e9, true))
                           THEN {WRONG}
                           WHEN {blank} THEN {NO_SEARCH}
                           WHEN document IS NULL AND rank >= 1 THEN {NO_DOCUMENT} ELSE {KEPT} END::UTINYINT AS reason
            FROM (SELECT * EXCLUDE (rank, weight, time), time AS time_text, {moment} AS time,
                         rank AS rank_text, TRY_CAST(rank AS DOUBLE) AS rank,
                         weight AS weight_text, TRY_CAST(weight AS DOUBLE) AS weight FROM ({rows}))"""

    def _id(self) -> str:
        """SQL for what is the same in the rows of one search, and in no others."""
        if self.has("search_id"):
            return "search_id"
        if self.has("session"):
            return "session || '/' || left(md5(lower(query)), 12)"
        if self.identified:
            return """coalesce("user", '') || '/' || left(md5(query || '/' || coalesce(time, '')), 12)"""
        return "NULL::VARCHAR"

    @property
    def who(self) -> str | None:
        """SQL for who searched, if rows say so."""
        return next((quote(name) for name in ("user", "session") if self.has(name)), None)

    @property
    def pair(self) -> str:
        """SQL for a hash of a search and its document, of cleaned rows, which two of them may share."""
        if not self.dated:
            return "NULL::UBIGINT"
        return "hash(id, document)" if self.identified else """hash("user", time, query, document)"""


def read(job: Job, mapped: Mapped) -> Outcome:
    """Read a table of clicks."""
    time = times.find(job.engine, _texts(job, mapped), "time") if "time" in mapped.roles else None
    table = ClickTable(job, mapped, time)
    rows, dropped, notes = _look(table)
    notes += _mark_bots(table)
    first, said = _first_rank(table)
    dropped |= _judge(table, first)
    with disk.filled(job.out) as unfinished:
        job.engine.copy(_kept(table, first), unfinished / CLICKS)
        kept = _counts(table, str(unfinished / CLICKS))
    for name in FILES[1:]:
        (job.out / name).unlink(missing_ok=True)  # of an earlier log
    if time:
        said.append(f"times are {time.name}")
    if not table.dated:
        notes.append(
            "rows have neither a search id nor a time: each is a search of its own, and equal rows are kept"
        )
    return Outcome({"rows": rows}, kept, dropped, said, notes)


def _texts(job: Job, mapped: Mapped, **how: bool) -> str:
    roles = ("query", "document", "rank", "search_id", "session", "user", "time", "prefix", "weight")
    fields = {role: mapped.roles.get(role) for role in roles}
    fields |= {"clock": mapped.roles["clock"]} if "clock" in mapped.roles else {}
    return job.records.relation(
        {**fields, **{CONTEXT + name: column for name, column in mapped.contexts.items()}}, **how
    )


def _look(table: ClickTable) -> tuple[int, dict[str, int], list[str]]:
    """Table `rows_read`: the rows, with what decides about them. The numbers of lines and of broken ones, and notes."""
    job = table.job
    same = f'hash(query, "user", prefix{table.contexts})' if table.has("search_id") else "NULL::UBIGINT"
    cleaned = f"SELECT *, {table.pair} AS pair, {same} AS same FROM ({table.cleaned(table.relation(counting=True))})"
    job.engine.step(
        "rows_read",
        f"""
        SELECT part, reason, query, document, document IS NULL AS unclicked,
               CASE WHEN abs(rank) < 1e9 THEN CAST(rank AS INTEGER) END AS rank, id
               {table.optional}{", session" if table.who == quote("session") else ""}, pair, same,
               time IS NULL AND time_text IS NOT NULL AS undated
        FROM ({table.typed(cleaned)})
        """,
    )
    counts = rows_of(job.engine, "SELECT part, reason, count(*) AS n FROM rows_read GROUP BY ALL")
    read = {row["part"]: sum(r["n"] for r in counts if r["part"] == row["part"]) for row in counts}
    rejected, places = job.records.rejected(read)
    broken, wrong = (sum(r["n"] for r in counts if r["reason"] == reason) for reason in (BROKEN, WRONG))
    lines = sum(read.values()) + rejected
    if not lines:
        raise LogError(f"{job.source}: found no row. Expected the names of columns, and a row per click.")
    if broken or wrong:
        places += _places(table)
    expected = "as many fields as columns, and a number as the rank of a click"
    notes = refuse_if_broken(job, rejected + broken, wrong, lines, places, expected=expected)
    if undated := _number(table, "rows_read WHERE undated"):
        notes.append(_undated(table, undated))
    return lines, {"broken lines": rejected + broken, "records with a value of the wrong type": wrong}, notes


def _undated(table: ClickTable, number: int) -> str:
    moment = table.time.sql if table.time else "NULL"
    examples = rows_of(
        table.job.engine,
        f"""SELECT DISTINCT time FROM ({table.relation()}) WHERE time IS NOT NULL AND trim(time) <> ''
                                                             AND {moment} IS NULL LIMIT 3""",
    )
    shown = ", ".join(repr(row["time"]) for row in examples)
    return (
        f"{number:,} times cannot be read, and are missing in the log: {shown}. Expected ISO 8601, such as "
        "2026-12-31 23:59, or one of the other forms of docs/import.md, the same in all rows"
    )


def _mark_bots(table: ClickTable) -> list[str]:
    """Give rows of bots their reason; notes about them."""
    if table.who is None or table.time is None or table.job.bots == bots.KEEP:
        return []
    search = "id" if table.identified else "concat(query, time)"
    rows = (
        f"SELECT {table.who} AS who, time AS moment, {search} AS search FROM rows_read WHERE reason = {KEPT}"
    )
    left_out, notes = bots.find(table.job.engine, rows, table.job.bots)
    if left_out:
        table.job.engine.step(
            "rows_read",
            f"""SELECT * REPLACE (CASE WHEN reason = {KEPT} AND {table.who} IN (FROM bots) THEN {BOT} ELSE reason END
                                  ::UTINYINT AS reason) FROM rows_read""",
        )
    return notes


def _places(table: ClickTable) -> list[Place]:
    """Where the first rows are that are broken or of the wrong type."""
    values = (
        "concat('query ', query, ', document ', document, ', rank ', rank_text, ', weight ' || weight_text)"
    )
    return table.job.records.places(
        f"""SELECT part, file, place, coalesce(broken, {values}) AS text
            FROM ({table.typed(table.cleaned(table.relation(placed=True)))}) WHERE reason IN ({BROKEN}, {WRONG})"""
    )


def _first_rank(table: ClickTable) -> tuple[int, list[str]]:
    """Where positions begin: as given, else at 0 if clicks at 0 are not rare beside those at 1."""
    if table.job.first_rank is not None:
        return table.job.first_rank, []
    zeros, ones = (
        _number(table, f"rows_read WHERE rank = {rank} AND NOT unclicked AND reason = {KEPT}")
        for rank in (0, 1)
    )
    if zeros and zeros * _STRAY >= ones:
        return 0, [f"positions begin at 0 ({zeros:,} clicks are there): 1 is added to all"]
    if zeros:
        return 1, [
            f"positions begin at 1; {zeros:,} clicks at 0 are left out (--first-rank 0 if it is the first)"
        ]
    return 1, []


def _placed(first: int) -> str:
    """SQL for whether a row has a usable rank, or needs none."""
    return f"(unclicked OR coalesce(rank BETWEEN {first} AND {DEEPEST_RANK - 1 + first}, false))"


def _judge(table: ClickTable, first: int) -> dict[str, int]:
    """Tables `several` (ids of several searches) and `repeated_rows` (rows with the search and document of others).

    Ids of several queries or users are made ids of one by adding a hash of these.
    """
    engine = table.job.engine
    found = rows_of(engine, "SELECT reason, count(*) AS n FROM rows_read GROUP BY reason")
    counts = {REASONS[row["reason"]]: row["n"] for row in found if row["reason"] in REASONS}
    counts[REASONS[NO_RANK]] = _number(table, f"rows_read WHERE reason = {KEPT} AND NOT {_placed(first)}")
    valid = f"rows_read WHERE reason = {KEPT} AND {_placed(first)}"
    # A bit for each document of a search: fewer bits than rows may be a row that is there twice.
    engine.step(
        "suspected",
        f"""SELECT hash(id) AS search, coalesce(min(same) <> max(same), false) AS differing,
                   count(pair) <> bit_count(bit_or(1::UBIGINT << (pair % 64))) AS repeating
            FROM {valid} GROUP BY search HAVING differing OR repeating""",
    )
    columns = ("lower(query)", *map(quote, [name for name in ("user", "prefix") if table.has(name)]))
    differ = " OR ".join(
        f"count(DISTINCT {c}) > 1"
        for c in (*columns, *(quote(CONTEXT + name) for name in table.mapped.contexts))
    )
    engine.step(
        "several",
        f"""SELECT id FROM {valid} AND hash(id) IN (SELECT search FROM suspected WHERE differing)
            GROUP BY id HAVING {differ}""",
    )
    engine.step(
        "repeated",
        f"""SELECT pair FROM {valid} AND pair IS NOT NULL AND hash(id) IN (SELECT search FROM suspected WHERE repeating)
            GROUP BY pair HAVING count(*) > 1""",
    )
    _judge_repeated(table, first)
    why = {
        row["why"]: row["n"]
        for row in rows_of(engine, "SELECT why, count(*) AS n FROM repeated_rows GROUP BY why")
    }
    return counts | {TWICE: why.get(TWICE, 0), MOVED: why.get(MOVED, 0)}


def _rows(table: ClickTable, first: int) -> str:
    """SQL for the usable rows, with the ids of their searches."""
    search = "id"
    if _number(table, "several"):
        whose = ", ".join(["lower(query)", *map(quote, [n for n in ("user", "prefix") if table.has(n)])])
        apart = f"id || '/' || left(md5(concat_ws('/', {whose}{table.contexts})), 12)"
        search = f"CASE WHEN id IN (SELECT id FROM several) THEN {apart} ELSE id END"
    return f"""SELECT * REPLACE (rank - {first - 1} AS rank), {search} AS search_id FROM rows_read
               WHERE reason = {KEPT} AND {_placed(first)}"""


def _judge_repeated(table: ClickTable, first: int) -> None:
    """Table `repeated_rows`, with why one is dropped: it is there before, or contradicts the rank of an earlier one."""
    engine = table.job.engine
    equal = ["search_id", "query", "document", "rank"]
    equal += [quote(name) for name in ("user", "time", "weight") if table.has(name)]
    time = "time NULLS LAST, " if table.has("time") else ""
    earlier = f"first_value(rank) OVER (PARTITION BY search_id, query, document ORDER BY {time}n)"
    moved = f"document IS NOT NULL AND rank <> {earlier}" if table.identified else "false"
    engine.step(
        "repeated_rows",
        f"""SELECT *, CASE WHEN row_number() OVER (PARTITION BY {", ".join(equal)} ORDER BY n) > 1 THEN '{TWICE}'
                           WHEN {moved} THEN '{MOVED}' END AS why
            FROM (SELECT *, row_number() OVER () AS n FROM ({_rows(table, first)}) SEMI JOIN repeated USING (pair))""",
    )


def _kept(table: ClickTable, first: int) -> str:
    """SQL for the rows of the log."""
    search = ", search_id" if table.identified else ""
    named = "".join(f", {quote(CONTEXT + name)} AS {quote(name)}" for name in table.mapped.contexts)
    further = table.optional.removesuffix(table.contexts) + named
    columns = f"query, document, CASE WHEN document IS NOT NULL THEN rank END AS rank{search}{further}"
    if not _number(table, "repeated"):
        return f"SELECT {columns} FROM ({_rows(table, first)})"
    return f"""SELECT {columns} FROM ({_rows(table, first)}) ANTI JOIN repeated USING (pair)
               UNION ALL SELECT {columns} FROM (SELECT * FROM repeated_rows WHERE why IS NULL ORDER BY n)"""


def _counts(table: ClickTable, path: str) -> dict[str, int]:
    row = rows_of(
        table.job.engine,
        f"""SELECT count(*) AS n, count(document) AS clicks
            FROM read_parquet({text(path)})""",
    )[0]
    if not row["n"]:
        raise LogError(
            f"{table.job.source}: none of the rows can be used. Expected a query, a document and a rank in each. Are "
            f"these the right columns? {table.mapped.option}"
        )
    kept = {"clicks": row["clicks"], "searches without a click": row["n"] - row["clicks"]}
    several = _number(table, "several")
    return kept | ({"search ids that stood for several searches": several} if several else {})


def _number(table: ClickTable, rows: str) -> int:
    return int(rows_of(table.job.engine, f"SELECT count(*) AS n FROM {rows}")[0]["n"])
