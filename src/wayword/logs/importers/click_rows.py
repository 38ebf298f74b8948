"""Click rows: tables that have a row per click (or per search without one), streamed from the files into the log.

The files are read twice and never stored: first for a few numbers per row, by which rows are judged (`look`), then into
`clicks.parquet`. So a log of any size takes little more than the time to read and write it.
"""

from dataclasses import dataclass

from wayword.errors import LogError
from wayword.logs.columns import OPTIONAL
from wayword.logs.importers import times
from wayword.logs.importers.columns import Mapped
from wayword.logs.importers.job import CLICKS, FILES, Job, Outcome, refuse_if_broken, rows_of
from wayword.logs.importers.records import Place, quote, text
from wayword.logs.ubi.schema import DEEPEST_RANK
from wayword.store import disk

KEPT, BROKEN, WRONG, NO_QUERY, NO_SEARCH, NO_DOCUMENT, NO_RANK = range(7)
REASONS = {
    NO_QUERY: "rows without a query",
    NO_SEARCH: "rows without a search id",
    NO_DOCUMENT: "clicks without a document",
    NO_RANK: f"clicks without a rank from 1 to {DEEPEST_RANK:,}",
}
TWICE, MOVED = "rows that are there twice", "clicks on a document that its search has at another rank, too"
_INVISIBLE = "' \t\n\r\x0b\x0c\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff'"
_STRAY = 10
"""Positions 0 are stray ones if there are more than so many times as many positions 1."""


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
        """The context columns in a list of columns."""
        return "".join(f", {quote(name)}" for name in self.mapped.contexts)

    def typed(self, relation: str) -> str:
        """Rows with typed columns, and the `reason` for which a row is dropped whatever others say."""
        moment = self.time.sql if self.time else "NULL::TIMESTAMPTZ"
        blank = f"{self._id()} IS NULL" if self.identified else "false"
        return f"""
            SELECT *, {self._id()} AS id,
                   CASE WHEN broken IS NOT NULL THEN {BROKEN} WHEN query IS NULL THEN {NO_QUERY}
                        WHEN (rank IS NULL AND rank_text IS NOT NULL AND document IS NOT NULL) OR rank <> floor(rank)
                             OR (weight_text IS NOT NULL AND coalesce(NOT weight BETWEEN 0 AND 1e9, true)) THEN {WRONG}
                        WHEN {blank} THEN {NO_SEARCH}
                        WHEN document IS NULL AND rank >= 1 THEN {NO_DOCUMENT} ELSE {KEPT} END::UTINYINT AS reason
            FROM (SELECT * EXCLUDE (query, document, rank, weight, time), trim(query) AS raw_query, time AS time_text,
                         nullif(trim(query, {_INVISIBLE}), '') AS query, nullif(trim(document), '') AS document,
                         nullif(trim(rank), '') AS rank_text, TRY_CAST(rank AS DOUBLE) AS rank,
                         nullif(trim(weight), '') AS weight_text, TRY_CAST(weight AS DOUBLE) AS weight, {moment} AS time
                  FROM ({relation}))"""

    def _id(self) -> str:
        """SQL for what is the same in the rows of one search, and in no others."""
        if self.has("search_id"):
            return "nullif(trim(search_id), '')"
        if self.has("session"):
            return "nullif(trim(session), '') || '/' || left(md5(lower(query)), 12)"
        if self.identified:
            return """coalesce("user", '') || '/' || left(md5(query || '/' || coalesce(time_text, '')), 12)"""
        return "NULL::VARCHAR"

    @property
    def pair(self) -> str:
        """SQL for a hash of a search and its document, which two rows may share."""
        if not self.dated:
            return "NULL::UBIGINT"
        return "hash(id, document)" if self.identified else """hash("user", time_text, query, document)"""


def read(job: Job, mapped: Mapped) -> Outcome:
    """Read a table of clicks."""
    time = times.find(job.engine, _texts(job, mapped), "time") if "time" in mapped.roles else None
    table = ClickTable(job, mapped, time)
    rows, dropped, notes = _look(table)
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
    return job.records.relation({**fields, **mapped.contexts}, **how)


def _look(table: ClickTable) -> tuple[int, dict[str, int], list[str]]:
    """Table `looked`: what decides about each row. The number of lines, those that are broken, and notes about them."""
    job = table.job
    same = (
        f'hash(lower(query), "user", prefix{table.contexts})' if table.has("search_id") else "NULL::UBIGINT"
    )
    job.engine.step(
        "looked",
        f"""
        SELECT part, reason, CASE WHEN document IS NOT NULL AND abs(rank) < 1e9 THEN CAST(rank AS INTEGER) END AS rank,
               document IS NOT NULL AS clicked, {"hash(id)" if table.identified else "NULL::UBIGINT"} AS search,
               {same} AS same, {table.pair} AS pair, time IS NULL AND time_text IS NOT NULL AS undated
        FROM ({table.typed(table.relation(counting=True))})
        """,
    )
    counts = rows_of(job.engine, "SELECT part, reason, count(*) AS n FROM looked GROUP BY ALL")
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
    if undated := _number(table, "looked WHERE undated"):
        notes.append(f"{undated:,} times cannot be read, and are missing in the log")
    return lines, {"broken lines": rejected + broken, "records with a value of the wrong type": wrong}, notes


def _places(table: ClickTable) -> list[Place]:
    """Where the first rows are that are broken or of the wrong type."""
    values = "'rank ' || coalesce(rank_text, 'none') || ', weight ' || coalesce(weight_text, 'none')"
    return table.job.records.places(
        f"""SELECT part, file, place, coalesce(broken, {values}) AS text
            FROM ({table.typed(table.relation(placed=True))}) WHERE reason IN ({BROKEN}, {WRONG})"""
    )


def _first_rank(table: ClickTable) -> tuple[int, list[str]]:
    """Where positions begin: as given, else at 0 if clicks at 0 are not rare beside those at 1."""
    if table.job.first_rank is not None:
        return table.job.first_rank, []
    zeros, ones = (_number(table, f"looked WHERE rank = {rank} AND reason = {KEPT}") for rank in (0, 1))
    if zeros and zeros * _STRAY >= ones:
        return 0, [f"positions begin at 0 ({zeros:,} clicks are there): 1 is added to all"]
    if zeros:
        return 1, [
            f"positions begin at 1; {zeros:,} clicks at 0 are left out (--first-rank 0 if it is the first)"
        ]
    return 1, []


def _usable(first: int) -> str:
    """SQL for whether a row has a usable rank, or needs none."""
    return f"(document IS NULL OR coalesce(rank BETWEEN {first} AND {DEEPEST_RANK - 1 + first}, false))"


def _judge(table: ClickTable, first: int) -> dict[str, int]:
    """Tables `several` (ids of several searches) and `repeated` (rows with the search and document of others).

    Ids of several queries or users are made ids of one by adding a hash of these.
    """
    engine = table.job.engine
    usable = _usable(first).replace("document IS NULL", "NOT clicked")
    engine.step("valid", f"SELECT search, same, pair FROM looked WHERE reason = {KEPT} AND {usable}")
    found = rows_of(engine, "SELECT reason, count(*) AS n FROM looked GROUP BY reason")
    counts = {REASONS[row["reason"]]: row["n"] for row in found if row["reason"] in REASONS}
    counts[REASONS[NO_RANK]] = _number(table, f"looked WHERE reason = {KEPT} AND NOT {usable}")
    engine.step("looked", "SELECT 1 AS done")  # its memory is needed
    engine.step("suspected", "SELECT search FROM valid GROUP BY search HAVING min(same) <> max(same)")
    engine.step("several", "SELECT NULL::VARCHAR AS id LIMIT 0")
    if _number(table, "suspected"):
        _find_several(table, first)
    engine.step("repeated", "SELECT pair FROM valid WHERE pair IS NOT NULL GROUP BY pair HAVING count(*) > 1")
    engine.step("valid", "SELECT 1 AS done")
    engine.step(
        "repeated_rows", f"SELECT *, 0 AS n, NULL::VARCHAR AS why FROM ({_rows(table, first)}) LIMIT 0"
    )
    if _number(table, "repeated"):
        _judge_repeated(table, first)
    why = {
        row["why"]: row["n"]
        for row in rows_of(engine, "SELECT why, count(*) AS n FROM repeated_rows GROUP BY why")
    }
    return counts | {TWICE: why.get(TWICE, 0), MOVED: why.get(MOVED, 0)}


def _find_several(table: ClickTable, first: int) -> None:
    """Table `several`: of the suspected ids, those whose rows differ in the query, or in what is known of the user."""
    columns = ("lower(query)", '"user"', "prefix", *map(quote, table.mapped.contexts))
    differ = " OR ".join(f"count(DISTINCT {column}) > 1" for column in columns)
    table.job.engine.step(
        "several",
        f"""SELECT id FROM ({table.typed(table.relation())})
            WHERE reason = {KEPT} AND {_usable(first)} AND hash(id) IN (SELECT search FROM suspected)
            GROUP BY id HAVING {differ}""",
    )


def _rows(table: ClickTable, first: int) -> str:
    """SQL for the usable rows, with the ids of their searches."""
    whose = "concat_ws('/', lower(query), \"user\", prefix" + table.contexts + ")"
    apart = f"CASE WHEN id IN (SELECT id FROM several) THEN id || '/' || left(md5({whose}), 12) ELSE id END"
    return f"""
        SELECT query, document, CAST(rank - {first - 1} AS INTEGER) AS rank, {apart} AS search_id, "user", time, prefix,
               weight {table.contexts}, {table.pair} AS pair
        FROM ({table.typed(table.relation())}) WHERE reason = {KEPT} AND {_usable(first)}"""


def _judge_repeated(table: ClickTable, first: int) -> None:
    """Table `repeated_rows`, with why one is dropped: it is there before, or contradicts the rank of an earlier one."""
    engine = table.job.engine
    engine.step(
        "numbered_rows",
        f"SELECT *, row_number() OVER () AS n FROM ({_rows(table, first)}) SEMI JOIN repeated USING (pair)",
    )
    equal = 'search_id, query, document, rank, "user", time, weight'
    earlier = "first_value(rank) OVER (PARTITION BY search_id, query, document ORDER BY time NULLS LAST, n)"
    moved = f"document IS NOT NULL AND rank <> {earlier}" if table.identified else "false"
    engine.step(
        "repeated_rows",
        f"""SELECT *, CASE WHEN row_number() OVER (PARTITION BY {equal} ORDER BY n) > 1 THEN '{TWICE}'
                           WHEN {moved} THEN '{MOVED}' END AS why FROM numbered_rows""",
    )


def _kept(table: ClickTable, first: int) -> str:
    """SQL for the rows of the log."""
    optional = [name for name in OPTIONAL if (name == "search_id" and table.identified) or table.has(name)]
    columns = ", ".join(["query", "document", "CASE WHEN document IS NOT NULL THEN rank END AS rank"])
    columns += "".join(f", {quote(name)}" for name in optional) + table.contexts
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
