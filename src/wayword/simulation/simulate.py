"""Draw a click log from a world and write it together with the world's true distribution.

Searches are drawn in chunks of one fixed size, so the log of fewer clicks is the beginning of the log of
more, the log of clicks alone has the same rows, and memory does not grow with the log. The column `part` is drawn
from a generator of its own, so that the other columns are the same without it.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import RANKERS, DocumentRanker
from wayword.simulation.click_model import draw, examination_probabilities
from wayword.simulation.context_column import (
    NO_CONTEXT_COLUMN,
    PART,
    ContextColumn,
    check_accuracy,
    truth_by_context,
)
from wayword.simulation.drift import Drift, as_times, seconds_of_day
from wayword.simulation.drift import check as check_drift
from wayword.simulation.swaps import IMPRESSIONS_SCHEMA, Pages, check_share, produced
from wayword.simulation.world import Hits, World, click_rate, find_sorted, invisible_share, truth
from wayword.simulation.worlds import XMC, open_world
from wayword.store import disk

CHUNK, CHUNK_OF_DAY = 1 << 20, 1 << 16
DAYS = 14
"""Number of days of a world that drifts."""
TIME = "time"
CLICKS, RANKINGS, DOCUMENTS, TRUTH, IMPRESSIONS = (
    f"{name}.parquet" for name in ("clicks", "rankings", "documents", "truth", "impressions")
)
FACTS = "world.json"
MOST_SEARCHES = 10**9
CLICKS_SCHEMA = pa.schema(
    [("search_id", pa.int64()), ("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())]
)
DrawContext = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Draws the logged value of the context column (an index) for a search of each intent."""
WRITTEN_AT_ONCE = 1 << 16
"""Searches whose impressions are in memory at once."""
DICTIONARY_LIMIT = 1 << 26
"""Bytes of distinct queries per chunk up to which the log and the truth store each of them once."""
_log = logging.getLogger(__name__)


def simulate(
    world: str,
    *,
    clicks: int,
    out: Path | str,
    seed: int = 0,
    clicks_only: bool = False,
    depth: int = 100,
    alpha: float = 1.0,
    ranker: str | None = None,
    labels: int | None = None,
    part: float | None = None,
    swaps: float | None = None,
    drift: float | None = None,
    days: int = DAYS,
    rankers: Mapping[str, DocumentRanker] = RANKERS,
    progress: Progress = SILENT,
) -> Path:
    """Write a log of exactly `clicks` clicks of a named world into the folder `out`, and return it.

    The files are `clicks.parquet` (search_id, query, document, rank: one row per search, the last two null
    without a click; with `clicks_only` the rows with one), `rankings.parquet` (query, document, rank),
    `documents.parquet` and `truth.parquet` (query, document, mass: see `world.truth`). With `part`, the log and the
    truth have the context column `part`: the part of the archive that the person browses, correct with this
    probability (see `context_column`). With `swaps`, in this share of the searches two results of the first page change
    places, and `impressions.parquet` (search_id, query, document, rank, clicked) has the first page of every search
    (see `swaps`). With `drift`, what people want changes from day to day over so many `days` (see `drift`): the log has
    a column `time`, each day has as many clicks, and the truth is that of the last day. The same seed gives the same
    bytes.
    """
    _check(clicks, seed, depth, alpha)
    if swaps is not None:
        check_share(swaps)
    if drift is not None:
        check_drift(drift, days)
    if part is not None:
        check_accuracy(part)
        if world.startswith(XMC):
            raise WaywordError(NO_CONTEXT_COLUMN)  # before its rankings, which may take hours
    opened = open_world(
        world,
        depth=depth,
        ranker=ranker,
        labels=labels,
        rankers=rankers,
        progress=progress,
    )
    return write_world(
        opened,
        clicks=clicks,
        out=out,
        seed=seed,
        clicks_only=clicks_only,
        alpha=alpha,
        part=part,
        swaps=swaps,
        drift=drift,
        days=days,
        progress=progress,
    )


def write_world(
    world: World,
    *,
    clicks: int,
    out: Path | str,
    seed: int = 0,
    clicks_only: bool = False,
    alpha: float = 1.0,
    part: float | None = None,
    swaps: float | None = None,
    drift: float | None = None,
    days: int = DAYS,
    progress: Progress = SILENT,
) -> Path:
    """Do as `simulate` for a world that is already built."""
    for note in world.notes:
        _log.warning(note)
    column = None if part is None else ContextColumn.of(world, part)
    drifting = None if drift is None else Drift.of(world, drift, days, separate_generator(seed, 2))
    world = drifting.on(days - 1) if drifting else world
    hits, examination = world.hits(), examination_probabilities(world.depth, alpha=alpha)
    pages = None if swaps is None else Pages.of(world, swaps)
    rate = (pages.click_rate if pages else click_rate)(world, hits, examination)
    _check_rate(rate, clicks)
    folder = Path(out)
    with disk.filled(folder) as unfinished:
        draw_context = None if column is None else partial(column.draw, separate_generator(seed, 0))
        draw_swaps = None if pages is None else partial(pages.draw, separate_generator(seed, 1))
        rng = np.random.default_rng(seed)
        if drifting:
            searches = draw_days(drifting, hits, examination, clicks, rng, draw_context, draw_swaps)
        else:
            searches = draw_searches(world, hits, examination, clicks, rng, draw_context, draw_swaps)
        names = Names(
            world.queries,
            world.documents["document"].combine_chunks(),
            column.values if column else None,
            timed=drifting is not None,
        )
        if pages is not None:
            searches = _recorded(searches, pages, names, unfinished / IMPRESSIONS)
        logged = _write_log(names, searches, clicks_only, unfinished / CLICKS, clicks, progress)
        pq.write_table(collected_rankings(world, logged), unfinished / RANKINGS, compression="zstd")
        pq.write_table(world.documents, unfinished / DOCUMENTS, compression="zstd")
        pq.write_table(
            truth(world, hits) if column is None else truth_by_context(world, hits, column),
            unfinished / TRUTH,
            compression="zstd",
            dictionary_pagesize_limit=DICTIONARY_LIMIT,
        )
        facts = {"click_rate": rate, "invisible_share": invisible_share(world, hits), "alpha": alpha}
        if swaps is not None:
            facts["swaps"] = swaps
        if drift is not None:
            facts |= {"drift": drift, "days": days}
        if column:
            facts |= {PART: column.accuracy, "parts": len(column.values)}
        (unfinished / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return folder


def separate_generator(seed: int, number: int) -> np.random.Generator:
    """Return a generator whose stream is independent of `default_rng(seed)` and of those with other numbers."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


@dataclass(frozen=True)
class Names:
    """The texts that the numbers in `Searches` index."""

    queries: pa.StringArray
    documents: pa.StringArray
    context_values: pa.StringArray | None = None
    timed: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The columns of the log."""
        more = {TIME: self.timed, PART: self.context_values is not None}
        return pa.schema(
            [*CLICKS_SCHEMA, *(pa.field(name, pa.string()) for name, has in more.items() if has)]
        )


@dataclass(frozen=True)
class Searches:
    """Consecutive searches: query and document numbers; document and rank are valid where `clicked`."""

    first: int
    query: NDArray[np.int64]
    document: NDArray[np.int64]
    rank: NDArray[np.int64]
    clicked: NDArray[np.bool_]
    context_value: NDArray[np.int64] | None = None
    swapped: NDArray[np.int64] | None = None
    """The two ranks of the page that changed places, equal if none did."""
    seconds: NDArray[np.int64] | None = None
    """When each search happened."""

    def until(self, click: int) -> "Searches":
        """Return the searches up to and including that click, counted from 1, or all if there are fewer."""
        ends = np.flatnonzero(self.clicked)
        return self.part(0, ends[click - 1] + 1 if click <= len(ends) else len(self.query))

    def part(self, start: int, end: int) -> "Searches":
        """Return the searches from one place to another."""
        return Searches(
            self.first + start,
            self.query[start:end],
            self.document[start:end],
            self.rank[start:end],
            self.clicked[start:end],
            None if self.context_value is None else self.context_value[start:end],
            None if self.swapped is None else self.swapped[start:end],
            None if self.seconds is None else self.seconds[start:end],
        )


def draw_searches(
    world: World,
    hits: Hits,
    examination: NDArray[np.float64],
    clicks: int,
    rng: np.random.Generator,
    draw_context: DrawContext | None = None,
    draw_swaps: DrawContext | None = None,
    *,
    chunk: int = CHUNK,
) -> Iterator[Searches]:
    """Draw searches in chunks up to click number `clicks`: an intent, an examined rank and its document.

    `draw_context` and `draw_swaps`, which takes queries, draw for whole chunks as well, so that a shorter log stays the
    beginning of a longer one.
    """
    shown = hits.owner * (world.depth + 1) + hits.rank
    first, missing = 0, clicks
    while missing > 0:
        intent, rank = draw(rng, world.intents.probability, chunk), draw(rng, examination, chunk) + 1
        query = world.intents.query[intent]
        swapped = draw_swaps(query) if draw_swaps else None
        in_rankings = rank if swapped is None else produced(rank, swapped)
        place, clicked = find_sorted(shown, intent * (world.depth + 1) + in_rankings)
        context_value = draw_context(intent) if draw_context else None
        drawn = Searches(first, query, hits.document[place], rank, clicked, context_value, swapped)
        drawn = drawn.until(missing)
        missing -= int(drawn.clicked.sum())
        first += len(drawn.query)
        yield drawn


def draw_days(
    drifting: Drift,
    hits: Hits,
    examination: NDArray[np.float64],
    clicks: int,
    rng: np.random.Generator,
    draw_context: DrawContext | None = None,
    draw_swaps: DrawContext | None = None,
) -> Iterator[Searches]:
    """Draw the searches of all days as `draw_searches` does, with as many clicks on each; the last may have more."""
    first = 0
    for day in range(drifting.days):
        wanted = clicks // drifting.days + (clicks % drifting.days if day == drifting.days - 1 else 0)
        of_day = draw_searches(
            drifting.on(day), hits, examination, wanted, rng, draw_context, draw_swaps, chunk=CHUNK_OF_DAY
        )
        parts = list(of_day)
        seconds = seconds_of_day(day, sum(len(part.query) for part in parts), rng)
        start = 0
        for part in parts:
            end = start + len(part.query)
            yield replace(part, first=first + part.first, seconds=seconds[start:end])
            start = end
        first += start


def _recorded(chunks: Iterator[Searches], pages: Pages, names: Names, path: Path) -> Iterator[Searches]:
    """Pass the searches on, and write the first page of each."""
    with pq.ParquetWriter(path, IMPRESSIONS_SCHEMA, compression="zstd") as writer:
        for chunk in chunks:
            for start in range(0, len(chunk.query), WRITTEN_AT_ONCE):
                writer.write_table(_impressions(chunk.part(start, start + WRITTEN_AT_ONCE), pages, names))
            yield chunk


def _impressions(part: Searches, pages: Pages, names: Names) -> pa.Table:
    search, document, rank, clicked = pages.shown(part.query, part.swapped, part.document, part.clicked)
    columns = [
        pa.array(part.first + search),
        names.queries.take(pa.array(part.query[search])),
        names.documents.take(pa.array(document)),
        pa.array(rank.astype(np.int32)),
        pa.array(clicked),
    ]
    return pa.Table.from_arrays(columns, schema=IMPRESSIONS_SCHEMA)


def _write_log(
    names: Names,
    chunks: Iterator[Searches],
    clicks_only: bool,
    path: Path,
    clicks: int,
    progress: Progress,
) -> NDArray[np.bool_]:
    """Write the searches chunk by chunk; return for each query whether the file contains it."""
    logged, done = np.zeros(len(names.queries), np.bool_), 0
    with pq.ParquetWriter(
        path, names.schema, compression="zstd", dictionary_pagesize_limit=DICTIONARY_LIMIT
    ) as writer:
        for chunk in chunks:
            rows = np.flatnonzero(chunk.clicked) if clicks_only else np.arange(len(chunk.query))
            logged[chunk.query[rows]] = True
            writer.write_table(_table(chunk, rows, names))
            done += int(chunk.clicked.sum())
            progress.advance(done, clicks)
    return logged


def _table(chunk: Searches, rows: NDArray[np.int64], names: Names) -> pa.Table:
    unclicked = ~chunk.clicked[rows]
    columns = [
        pa.array(chunk.first + rows),
        names.queries.take(pa.array(chunk.query[rows])),
        names.documents.take(pa.array(chunk.document[rows], mask=unclicked)),
        pa.array(chunk.rank[rows].astype(np.int32), mask=unclicked),
    ]
    if chunk.seconds is not None:
        columns.append(as_times(chunk.seconds[rows]))
    if chunk.context_value is not None and names.context_values is not None:
        columns.append(names.context_values.take(pa.array(chunk.context_value[rows])))
    return pa.Table.from_arrays(columns, schema=names.schema)


def collected_rankings(world: World, logged: NDArray[np.bool_]) -> pa.Table:
    """Return the rankings that a team would have collected."""
    if world.rankings_of == "all":
        return world.rankings
    queries = world.queries.filter(pa.array(logged))
    return world.rankings.filter(pc.is_in(world.rankings["query"], value_set=queries))


def _check(clicks: int, seed: int, depth: int, alpha: float) -> None:
    for name, value, least in (
        ("clicks", clicks, 1),
        ("seed", seed, 0),
        ("depth", depth, 1),
        ("alpha", alpha, 0),
    ):
        if not value >= least:
            raise WaywordError(f"Found {name} = {value}; expected at least {least}.")


def _check_rate(rate: float, clicks: int) -> None:
    if rate == 0.0:
        raise WaywordError(
            "No search of this world can end in a click: no query returns what is relevant to it."
        )
    if clicks / rate > MOST_SEARCHES:
        raise WaywordError(
            f"Of a million searches of this world {1e6 * rate:.3g} end in a click, so {clicks:,} clicks take "
            f"{clicks / rate:.1e} searches; the most is {MOST_SEARCHES:.0e}. Ask for fewer clicks."
        )
