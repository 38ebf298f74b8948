"""Lists that people were shown and what they took, read from a table of events and checked.

The table has one row per list shown: `typing_session`, `position_in_session`, `prefix` (as typed), `shown` (texts, best
first), `taken` (position in `shown` from 1, or null), `query` (issued at the end of the session, or null), and perhaps
`search_id` and context columns. Rows that contradict each other are left out and counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.engines import Engine, uniform
from wayword.errors import LogError
from wayword.logs import column_types
from wayword.store.compressed_rows import CompressedRows
from wayword.store.input_file import InputFile
from wayword.text import normalise_distinct

REQUIRED = ("typing_session", "position_in_session", "prefix", "shown", "taken", "query")
FROM_ZERO = 0.02
"""If more than this share of takes are at position 0, positions are counted from 0: the table is refused."""
ANOTHER_LOG = 0.02
"""If more than this share of the search_ids that a log has too stand for another query there, they are another log's:
two logs that number their searches have the same numbers."""
OTHER_QUERY = "sessions whose search_id is that of another query in the log, and is not used"
MOST_SESSIONS = 100_000
"""More typing sessions than this are sampled: parameters are known well enough, and memory is bounded."""
UNKNOWN = -1
_TYPES = {
    **dict.fromkeys(("typing_session", "prefix", "query", "search_id"), column_types.TEXT),
    **dict.fromkeys(("position_in_session", "taken"), column_types.NUMBER),
    "shown": column_types.Kind("lists of text", frozenset({"VARCHAR[]", "NULL[]", "INTEGER[]", "NULL"})),
}


@dataclass(frozen=True)
class ShownLists:
    """Lists in the order of sessions and of time. Queries are numbers of a workspace, -1 for an unknown text."""

    session: NDArray[np.int64]
    """The session of each list: 0, 1, …; every session has a list."""
    prefix: NDArray[np.int64]
    """The typed text of each list: a position in `prefixes`."""
    prefixes: Sequence[str]
    """Distinct, normalised."""
    shown: CompressedRows
    """The suggestions of each list."""
    taken: NDArray[np.int64]
    """The position of the taken suggestion from 1; 0 if none was. Only the last list of a session may have one."""
    query: NDArray[np.int64]
    """Of each session: the query issued at its end."""
    search_id: pa.Array
    """Of each session, as text; null if unknown."""
    value: pa.Array
    """Of each session: the value of a context column; null without one."""
    held_out: NDArray[np.float64]
    """Of each session: a number from 0 to 1 that depends on its name only, to draw samples."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Reasons for which rows were left out, in words, with counts."""

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return len(self.query)

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.session)

    @property
    def took(self) -> NDArray[np.bool_]:
        """Whether something was taken, of each session."""
        return np.bincount(self.session, weights=self.taken, minlength=self.sessions) > 0

    def of_sessions(self, kept: NDArray[np.bool_]) -> "ShownLists":
        """Return only some sessions, and of these their lists."""
        return self._select(kept[self.session], kept)

    def of_lists(self, kept: NDArray[np.bool_]) -> "ShownLists":
        """Return only some lists, and the sessions that have any of them."""
        return self._select(kept, np.bincount(self.session[kept], minlength=self.sessions) > 0)

    def _select(self, lists: NDArray[np.bool_], sessions: NDArray[np.bool_]) -> "ShownLists":
        if lists.all() and sessions.all():
            return self
        number = np.cumsum(sessions) - 1
        chosen = pa.array(sessions)
        _, values = self.shown.take(np.flatnonzero(lists))
        return replace(
            self,
            session=number[self.session[lists]],
            prefix=self.prefix[lists],
            shown=CompressedRows.from_lengths(values, self.shown.lengths[lists]),
            taken=self.taken[lists],
            query=self.query[sessions],
            search_id=self.search_id.filter(chosen),
            value=self.value.filter(chosen),
            held_out=self.held_out[sessions],
        )

    def in_log(self, searches: pa.Table) -> "InLog":
        """Compare with the searches of a log (search_id, query)."""
        known = searches["search_id"].combine_chunks().cast(pa.string())
        place = pc.index_in(self.search_id, value_set=known)
        query = pc.fill_null(searches["query"].combine_chunks().take(place), UNKNOWN).to_numpy()
        named = place.is_valid().to_numpy(zero_copy_only=False)
        return InLog(self, named, named & (query != self.query))

    def without(self, reasons: Mapping[str, int]) -> "ShownLists":
        """Return the same lists with more counts of what was left out."""
        return replace(self, left_out={**self.left_out, **{k: v for k, v in reasons.items() if v}})


@dataclass(frozen=True)
class InLog:
    """Lists, and which of their sessions name a search of a log."""

    lists: ShownLists
    named: NDArray[np.bool_]
    """Of each session: the log has a search of this search_id."""
    contradictory: NDArray[np.bool_]
    """Of each session: that search issued another query."""

    @property
    def another_log(self) -> bool:
        """Whether the search_ids are those of another log."""
        wrong = int(self.contradictory.sum())
        return wrong > 1 and wrong > ANOTHER_LOG * int(self.named.sum())

    def agreeing(self) -> ShownLists:
        """Return the lists without the search_ids that contradict the log; without any if they are another log's."""
        wrong = self.named if self.another_log else self.contradictory
        known = pc.if_else(pa.array(wrong), pa.scalar(None, pa.string()), self.lists.search_id)
        return replace(self.lists, search_id=known).without({OTHER_QUERY: int(wrong.sum())})

    def check(self, source: str) -> None:
        """Raise `LogError` if the search_ids are those of another log."""
        if self.another_log:
            example = self.lists.search_id[int(np.argmax(self.contradictory))].as_py()
            raise LogError(
                f"{source} has {int(self.contradictory.sum()):,} of {int(self.named.sum()):,} typing sessions whose "
                f"search issued another query in the log, such as search_id {example}; expected the lists of this log. "
                "Give the table that was written with the log; for lists of another log, leave out their search_id."
            )


def read(engine: Engine, path: Path | InputFile, texts: Sequence[str], by: str | None = None) -> ShownLists:
    """Read a table of lists shown. `texts` are the queries of a workspace, in the order of their numbers; `by` is a
    context column."""
    engine.read("raw_lists", path)
    found = engine.columns("raw_lists")
    needed = (*REQUIRED, by) if by else REQUIRED
    if missing := [name for name in needed if name not in found]:
        raise LogError(
            f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(name for name in found if name != 'input_row')}\n"
            f"  expected: {', '.join(REQUIRED)}\n`wayword ubi` writes such a table from events; see docs/acceptance.md."
        )
    column_types.check(engine, "raw_lists", _TYPES, source=str(path))
    counts = _clean(engine, by, str(path))
    return _numbered(engine, texts).without(counts)


def _clean(engine: Engine, by: str | None, source: str) -> dict[str, int]:
    """Steps `lists` and `sessions`, without what contradicts; returns what was left out."""
    search = "CAST(search_id AS STRING)" if "search_id" in engine.columns("raw_lists") else "NULL"
    value = f"CAST({engine.quote(by)} AS STRING)" if by else "NULL"
    engine.step(
        "typed_lists",
        f"""
        SELECT input_row, CAST(typing_session AS STRING) AS typing_session, coalesce(prefix, '') AS prefix,
               TRY_CAST(position_in_session AS DOUBLE) AS position, CAST(shown AS STRING[]) AS shown,
               coalesce(len(shown), 0) AS length, TRY_CAST(taken AS DOUBLE) AS taken,
               taken IS NOT NULL AND TRY_CAST(taken AS DOUBLE) IS NULL AS unreadable,
               CAST(query AS STRING) AS query, {search} AS search_id, {value} AS value
        FROM raw_lists
        """,
    )
    zero, takes = (
        engine.arrow("SELECT count(*) FILTER (taken = 0) AS zero, count(taken) AS takes FROM typed_lists")
        .to_pylist()[0]
        .values()
    )
    if zero > FROM_ZERO * takes and zero > 1:
        raise LogError(
            f"{source} has {zero:,} of {takes:,} suggestions taken at position 0; expected positions from 1. "
            "If it counts from 0, add 1 to the column `taken`."
        )
    engine.step(
        "single_lists",
        """
        SELECT *, min(CAST(shown AS STRING)) OVER same <> max(CAST(shown AS STRING)) OVER same AS beside
        FROM typed_lists WHERE typing_session IS NOT NULL
        WINDOW same AS (PARTITION BY typing_session, coalesce(position, -1 - input_row))
        QUALIFY row_number() OVER (PARTITION BY typing_session, coalesce(position, -1 - input_row)
                                   ORDER BY taken IS NULL, input_row) = 1
        """,
    )
    engine.step(
        "session_facts",
        f"""
        SELECT typing_session, count(taken) AS takes, min(position) FILTER (taken IS NOT NULL) AS first_take,
               bool_or(unreadable OR position IS NULL
                       OR coalesce(taken < 1 OR taken > length OR taken <> floor(taken), FALSE)) AS wrong,
               bool_or(coalesce(beside, FALSE)) AS beside,
               arg_max(query, position) AS query, arg_max(search_id, position) AS search_id,
               arg_min(value, position) AS value, {uniform("typing_session")} AS uniform
        FROM single_lists GROUP BY typing_session
        """,
    )
    engine.step(
        "usable_sessions",
        f"""
        SELECT row_number() OVER (ORDER BY uniform, typing_session) - 1 AS session, * FROM session_facts
        WHERE NOT wrong AND NOT beside AND (takes > 0 OR query IS NOT NULL)
        QUALIFY row_number() OVER (ORDER BY uniform, typing_session) <= {MOST_SESSIONS}
        """,
    )
    engine.step(
        "usable_lists",
        """
        SELECT s.session, l.position, l.prefix, l.shown, CAST(coalesce(l.taken, 0) AS INTEGER) AS taken, l.length
        FROM single_lists AS l JOIN usable_sessions AS s ON s.typing_session = l.typing_session
        WHERE (s.first_take IS NULL OR l.position <= s.first_take)
        """,
    )
    row = engine.arrow(
        """
        SELECT (SELECT count(*) FROM typed_lists WHERE typing_session IS NULL) AS unnamed,
               (SELECT count(typing_session) FROM typed_lists) - (SELECT count(*) FROM single_lists) AS repeated,
               count(*) FILTER (wrong) AS wrong, count(*) FILTER (beside AND NOT wrong) AS beside,
               count(*) FILTER (NOT wrong AND takes > 1) AS twice,
               count(*) FILTER (NOT wrong AND takes = 0 AND query IS NULL) AS unfollowed,
               (SELECT count(*) FROM single_lists AS l JOIN session_facts AS s
                  ON s.typing_session = l.typing_session WHERE l.position > s.first_take AND NOT wrong) AS later,
               (SELECT count(*) FROM single_lists AS l JOIN session_facts AS s
                  ON s.typing_session = l.typing_session
                  WHERE s.takes = 0 AND s.query IS NULL AND NOT s.wrong) AS lists_unfollowed
        FROM session_facts
        """
    ).to_pylist()[0]
    usable = engine.arrow("SELECT count(*) AS n FROM usable_sessions")["n"][0].as_py()
    kept = engine.arrow(
        """SELECT count(*) AS n FROM session_facts
           WHERE NOT wrong AND NOT beside AND (takes > 0 OR query IS NOT NULL)"""
    )["n"][0].as_py()
    return {
        "lists without a typing session": row["unnamed"],
        "rows that repeat a list of their session": row["repeated"],
        "sessions with a position in the list that cannot be": row["wrong"],
        "sessions with two lists beside each other": row["beside"],
        "sessions in which nothing was taken and no search followed": row["unfollowed"],
        "lists of these": row["lists_unfollowed"] or 0,
        "sessions with two taken suggestions, of which the first counts": row["twice"],
        "lists shown after a suggestion was taken": row["later"] or 0,
        f"sessions beyond the first {MOST_SESSIONS:,} of a random order": kept - usable,
    }


def _numbered(engine: Engine, texts: Sequence[str]) -> ShownLists:
    """The usable lists with numbers instead of texts."""
    sessions = engine.arrow("SELECT query, search_id, value, uniform FROM usable_sessions ORDER BY session")
    lists = engine.arrow("SELECT * FROM usable_lists ORDER BY session, position")
    number = {text: place for place, text in enumerate(texts)}
    prefix = lists["prefix"].combine_chunks().dictionary_encode()
    plain = normalise_distinct(prefix.dictionary.to_pylist())
    prefixes = list(dict.fromkeys(plain.values()))
    place = {text: at for at, text in enumerate(prefixes)}
    code = np.array([place[plain[text]] for text in prefix.dictionary.to_pylist()], np.int64)
    shown = pc.fill_null(lists["shown"], pa.scalar([], lists["shown"].type)).combine_chunks()
    session = lists["session"].to_numpy().astype(np.int64)
    return ShownLists(
        session,
        code[prefix.indices.to_numpy()] if len(code) else np.zeros(0, np.int64),
        prefixes,
        CompressedRows.from_lengths(
            _numbers(pc.list_flatten(shown), number),
            pc.list_value_length(shown).to_numpy(zero_copy_only=False).astype(np.int64),
        ),
        lists["taken"].to_numpy().astype(np.int64),
        _numbers(sessions["query"].combine_chunks(), number).astype(np.int64),
        sessions["search_id"].cast(pa.string()).combine_chunks(),
        sessions["value"].cast(pa.string()).combine_chunks(),
        sessions["uniform"].to_numpy(),
    )


def _numbers(texts: pa.Array, number: Mapping[str, int]) -> NDArray[np.int32]:
    """The query of each text; -1 if it is not one of the workspace, or null."""
    encoded = texts.cast(pa.string()).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    plain = normalise_distinct(distinct)
    code = np.array([*(number.get(plain[text], UNKNOWN) for text in distinct), UNKNOWN], np.int32)
    return code[pc.fill_null(encoded.indices, len(distinct)).to_numpy()]
