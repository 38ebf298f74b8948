"""Write the log of simulated people who type: searches, clicks, every list shown, and what the people intended.

The files are those of `simulate`, where `clicks.parquet` also has the column `prefix`, the text at which a suggestion
was taken (null where none was), and besides

- `completions.parquet`: a row per list shown (`COMPLETIONS_SCHEMA`): every list of a session until the take or the end;
- `people.parquet`: search_id, intended_query, kind of each person;
- `people.json`: the laws with their parameters, and counts.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import RANKERS, DocumentRanker
from wayword.simulation.click_model import examination_probabilities
from wayword.simulation.logging_policy import LoggingPolicy, WorkspaceLists, popular_lists
from wayword.simulation.people import People, check_people
from wayword.simulation.queries import Queries
from wayword.simulation.simulate import (
    CLICKS,
    CLICKS_SCHEMA,
    DICTIONARY_LIMIT,
    DOCUMENTS,
    FACTS,
    RANKINGS,
    TRUTH,
    collected_rankings,
)
from wayword.simulation.typing_sessions import NOTHING, Drawn, Typing
from wayword.simulation.world import World, click_rate, invisible_share, truth
from wayword.simulation.worlds import check_name, open_world
from wayword.store import disk

COMPLETIONS, PEOPLE, LAW = "completions.parquet", "people.parquet", "people.json"
SHOWN = 10
"""Suggestions per list."""
MOST_LISTS = 10**9
SEARCHES_SCHEMA = CLICKS_SCHEMA.append(pa.field("prefix", pa.string()))
COMPLETIONS_SCHEMA = pa.schema(
    [
        ("typing_session", pa.string()),
        ("position_in_session", pa.int32()),
        ("user", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("prefix", pa.string()),
        ("shown", pa.list_(pa.string())),
        ("taken", pa.int32()),
        ("query", pa.string()),
        ("search_id", pa.int64()),
    ]
)
"""`position_in_session` counts lists from 0; `taken` is a position in `shown` from 1, or null; `query` is the query
that the session issued at its end; user and time are null: each session is another person's."""
PEOPLE_SCHEMA = pa.schema([("search_id", pa.int64()), ("intended_query", pa.string()), ("kind", pa.string())])
_SCHEMAS = {CLICKS: SEARCHES_SCHEMA, COMPLETIONS: COMPLETIONS_SCHEMA, PEOPLE: PEOPLE_SCHEMA}
_log = logging.getLogger(__name__)


def simulate_people(
    world: str,
    *,
    people: str,
    lists_shown: int,
    out: Path | str,
    lists: Path | str | None = None,
    seed: int = 0,
    clicks_only: bool = False,
    depth: int = 100,
    alpha: float = 1.0,
    ranker: str | None = None,
    labels: int | None = None,
    rankers: Mapping[str, DocumentRanker] = RANKERS,
    progress: Progress = SILENT,
) -> Path:
    """Write the log of people of a kind (`people.NAMES`) in a named world into the folder `out`, and return it.

    It ends with the session that shows list number `lists_shown`. The lists are those that the index of the workspace
    `lists` serves, by default most popular completion. The same seed gives the same bytes.
    """
    check_people(people)
    _check(lists_shown, seed)
    check_name(world)
    policy = None if lists is None else WorkspaceLists.open(lists)
    opened = open_world(world, depth=depth, ranker=ranker, labels=labels, rankers=rankers, progress=progress)
    return write_people(
        opened,
        people=people,
        lists_shown=lists_shown,
        out=out,
        policy=policy,
        seed=seed,
        clicks_only=clicks_only,
        alpha=alpha,
        progress=progress,
    )


def write_people(
    world: World,
    *,
    people: str,
    lists_shown: int,
    out: Path | str,
    policy: LoggingPolicy | None = None,
    seed: int = 0,
    clicks_only: bool = False,
    alpha: float = 1.0,
    progress: Progress = SILENT,
) -> Path:
    """Do as `simulate_people` for a world that is already built, with any logging policy."""
    _check(lists_shown, seed)
    for note in world.notes:
        _log.warning(note)
    lists: LoggingPolicy = popular_lists(world) if policy is None else policy
    typing = Typing(world, _people(world, people, lists, alpha), lists, SHOWN, alpha)
    hits = world.hits()
    folder = Path(out)
    with disk.filled(folder) as unfinished:
        chunks = typing.draw(lists_shown, np.random.default_rng(seed))
        counts, known = _write_log(typing, chunks, unfinished, clicks_only, lists_shown, progress)
        pq.write_table(collected_rankings(world, known), unfinished / RANKINGS, compression="zstd")
        pq.write_table(world.documents, unfinished / DOCUMENTS, compression="zstd")
        pq.write_table(
            truth(world, hits),
            unfinished / TRUTH,
            compression="zstd",
            dictionary_pagesize_limit=DICTIONARY_LIMIT,
        )
        rate = click_rate(world, hits, examination_probabilities(world.depth, alpha=alpha))
        facts = {"click_rate": rate, "invisible_share": invisible_share(world, hits), "alpha": alpha}
        _write_json(unfinished / FACTS, facts)
        source = "most popular completion" if policy is None else "given"
        _write_json(unfinished / LAW, typing.people.description(SHOWN) | {"lists": source} | counts)
    return folder


def _people(world: World, name: str, lists: LoggingPolicy, alpha: float) -> People:
    queries = Queries.of(world, lists.texts, alpha=alpha)
    if unknown := len(queries.texts) - len(world.queries):
        _log.warning(
            "%s queries of the lists are not queries of this world: their result pages are empty here.",
            f"{unknown:,}",
        )
    return People.named(name, queries)


def _write_log(
    typing: Typing,
    chunks: Iterator[Drawn],
    folder: Path,
    clicks_only: bool,
    lists_shown: int,
    progress: Progress,
) -> tuple[dict[str, int], NDArray[np.bool_]]:
    """Write the sessions chunk by chunk; return counts, and for each query of the world whether a team knows it.

    A team collects the rankings of the queries that were issued or shown.
    """
    names = Names(typing)
    known = np.zeros(len(names.queries), np.bool_)
    counts = {"sessions": 0, "lists_shown": 0, "taken": 0, "clicks": 0}
    with ExitStack() as files:
        writers = {
            name: files.enter_context(
                pq.ParquetWriter(
                    folder / name, schema, compression="zstd", dictionary_pagesize_limit=DICTIONARY_LIMIT
                )
            )
            for name, schema in _SCHEMAS.items()
        }
        for drawn in chunks:
            first, sessions = counts["sessions"], drawn.sessions
            for name, table in names.tables(drawn, first, clicks_only).items():
                writers[name].write_table(table)
            known[sessions.query] = known[drawn.lists.take(_lists_shown(drawn))[1]] = True
            counts["sessions"] += len(sessions.query)
            counts["lists_shown"] += int(sessions.shown.sum())
            counts["taken"] += int((sessions.taken != NOTHING).sum())
            counts["clicks"] += int((sessions.document != NOTHING).sum())
            progress.advance(min(counts["lists_shown"], lists_shown), lists_shown)
    return counts, known[: len(typing.world.queries)]


class Names:
    """The texts of queries, documents and kinds, and the tables made of them."""

    def __init__(self, typing: Typing) -> None:
        self.queries = pa.array(typing.queries.texts, pa.string())
        self.documents = typing.world.documents["document"].combine_chunks()
        self.kinds = pa.array([law.name for law in typing.people.laws], pa.string())

    def tables(self, drawn: Drawn, first: int, clicks_only: bool) -> dict[str, pa.Table]:
        """Return the rows of each file for sessions that are numbered from `first`."""
        clicks = self._searches(drawn, first)
        if clicks_only:
            clicks = clicks.filter(pa.array(drawn.sessions.document != NOTHING))
        return {
            CLICKS: clicks,
            COMPLETIONS: self._completions(drawn, first),
            PEOPLE: self._people(drawn, first),
        }

    def _searches(self, drawn: Drawn, first: int) -> pa.Table:
        sessions = drawn.sessions
        untaken, unclicked = sessions.taken == NOTHING, sessions.document == NOTHING
        last = drawn.keystrokes.offsets[drawn.row] + sessions.shown - 1
        text = np.zeros(len(last), np.int64)
        text[~untaken] = drawn.keystrokes.text[last[~untaken]]
        return pa.Table.from_arrays(
            [
                pa.array(first + np.arange(len(sessions.query))),
                self.queries.take(pa.array(sessions.query)),
                self.documents.take(pa.array(sessions.document, mask=unclicked)),
                pa.array(sessions.rank.astype(np.int32), mask=unclicked),
                pa.array(drawn.keystrokes.texts, pa.string()).take(pa.array(text, mask=untaken)),
            ],
            schema=SEARCHES_SCHEMA,
        )

    def _completions(self, drawn: Drawn, first: int) -> pa.Table:
        sessions, rows = drawn.sessions, drawn.lists
        session = np.repeat(np.arange(len(sessions.query)), sessions.shown)
        place, text = _places(drawn), pa.array(_texts_shown(drawn))
        taken = np.where(place == sessions.shown[session] - 1, sessions.taken[session], NOTHING)
        lists = pa.ListArray.from_arrays(
            pa.array(rows.offsets.astype(np.int32)), self.queries.take(pa.array(rows.values))
        )
        nothing = [pa.nulls(len(session), COMPLETIONS_SCHEMA.field(name).type) for name in ("user", "time")]
        return pa.Table.from_arrays(
            [
                pa.array(first + session).cast(pa.string()),
                pa.array(place.astype(np.int32)),
                *nothing,
                pa.array(drawn.keystrokes.texts, pa.string()).take(text),
                lists.take(pa.array(_lists_shown(drawn))),
                pa.array((taken + 1).astype(np.int32), mask=taken == NOTHING),
                self.queries.take(pa.array(sessions.query[session])),
                pa.array(first + session),
            ],
            schema=COMPLETIONS_SCHEMA,
        )

    def _people(self, drawn: Drawn, first: int) -> pa.Table:
        sessions = drawn.sessions
        return pa.Table.from_arrays(
            [
                pa.array(first + np.arange(len(sessions.query))),
                self.queries.take(pa.array(sessions.intended)),
                self.kinds.take(pa.array(sessions.kind)),
            ],
            schema=PEOPLE_SCHEMA,
        )


def _places(drawn: Drawn) -> NDArray[np.int64]:
    """The position in its session of each list shown."""
    shown = drawn.sessions.shown
    return np.arange(int(shown.sum())) - np.repeat(np.cumsum(shown) - shown, shown)


def _texts_shown(drawn: Drawn) -> NDArray[np.int64]:
    """The number of the text of each list shown."""
    first = np.repeat(drawn.keystrokes.offsets[drawn.row], drawn.sessions.shown)
    return drawn.keystrokes.text[first + _places(drawn)]


def _lists_shown(drawn: Drawn) -> NDArray[np.int64]:
    """The row in `drawn.lists` of each list shown."""
    return drawn.list_of_text[_texts_shown(drawn)]


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _check(lists_shown: int, seed: int) -> None:
    if not 1 <= lists_shown <= MOST_LISTS:
        raise WaywordError(
            f"Found lists_shown = {lists_shown}; expected a number of lists from 1 to {MOST_LISTS:.0e}."
        )
    if seed < 0:
        raise WaywordError(f"Found seed = {seed}; expected at least 0.")
