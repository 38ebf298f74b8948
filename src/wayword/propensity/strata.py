"""Strata: impressions and clicks of the same query and document in the same period, by rank.

Within a stratum relevance is the same at all ranks, so that clicks tell how the ranks differ. The rows of a swap
experiment form one stratum for each label `swap`: which of the documents stood higher was drawn at random there, so
that relevance is the same on average.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayword.engines import Engine
from wayword.store.compressed_rows import CompressedRows

Period = Literal["none", "day", "week", "month"]
DAYS = {"day": 1, "week": 7, "month": 30}
MICROSECONDS = 86_400_000_000
_KEY = ("query", "document", "period", "swap")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Strata:
    """Cells (a stratum at a rank), ordered by stratum: how often it was shown there, and how often clicked."""

    ranks: Integers
    """The distinct ranks, ascending; `cells.values` are positions in it."""
    cells: CompressedRows
    shown: Floats
    clicked: Floats
    query: Integers
    """The number of each stratum's query."""
    document: Integers

    @property
    def owner(self) -> Integers:
        """The stratum of each cell."""
        return self.cells.owner

    @property
    def rank(self) -> NDArray[np.int64]:
        """The place in `ranks` of each cell."""
        return self.cells.values

    @property
    def clicks(self) -> Floats:
        """The clicks of each stratum."""
        return np.bincount(self.owner, self.clicked, len(self.cells))

    def at_ranks(self, values: Floats) -> Floats:
        """Sum values of cells by rank."""
        return np.bincount(self.rank, values, len(self.ranks))

    def take(self, strata: Integers) -> "Strata":
        """Some of the strata, at the same ranks."""
        starts = self.cells.offsets[strata]
        lengths = self.cells.lengths[strata]
        places = np.repeat(starts - np.r_[0, np.cumsum(lengths)[:-1]], lengths) + np.arange(lengths.sum())
        return Strata(
            self.ranks,
            CompressedRows.from_lengths(self.rank[places], lengths),
            self.shown[places],
            self.clicked[places],
            self.query[strata],
            self.document[strata],
        )

    def within(self, ranks: Integers) -> "Strata":
        """The cells at some of the ranks; strata without any are left out."""
        kept = np.isin(self.ranks[self.rank], ranks)
        lengths = np.bincount(self.owner[kept], minlength=len(self.cells))
        some = lengths > 0
        return Strata(
            ranks,
            CompressedRows.from_lengths(
                np.searchsorted(ranks, self.ranks[self.rank[kept]]), lengths[some].astype(np.int64)
            ),
            self.shown[kept],
            self.clicked[kept],
            self.query[some],
            self.document[some],
        )

    def counted(self, rows: "Rows") -> "Strata":
        """The same strata with the impressions and clicks of these rows only."""
        shown = np.bincount(rows.cell, minlength=len(self.shown)).astype(np.float64)
        clicked = np.bincount(rows.cell, rows.clicked, len(self.shown))
        kept = shown > 0
        lengths = np.bincount(self.owner[kept], minlength=len(self.cells)).astype(np.int64)
        some = lengths > 0
        return Strata(
            self.ranks,
            CompressedRows.from_lengths(self.rank[kept], lengths[some]),
            shown[kept],
            clicked[kept],
            self.query[some],
            self.document[some],
        )

    def moved(self) -> "Strata":
        """The strata that were shown at several ranks."""
        return self.take(np.flatnonzero(self.cells.lengths > 1))

    def informative(self) -> Integers:
        """The strata that were shown at several ranks and clicked: no other says how ranks differ."""
        return np.flatnonzero((self.cells.lengths > 1) & (self.clicks > 0))


@dataclass(frozen=True)
class Rows:
    """Impressions, ordered by search: the stratum, its cell, and whether it was clicked."""

    searches: Integers
    """Offsets of the searches' rows."""
    stratum: NDArray[np.int32]
    cell: NDArray[np.int32]
    clicked: NDArray[np.bool_]

    def of_strata(self, strata: Strata, chosen: Integers) -> "Rows":
        """The impressions of some of the strata, numbered as `strata.take(chosen)` numbers them."""
        kept = np.zeros(len(strata.cells), np.bool_)
        kept[chosen] = True
        of_cell, of_row = kept[strata.owner], kept[self.stratum]
        lengths = np.diff(np.r_[0, np.cumsum(of_row)][self.searches])
        return Rows(
            np.r_[0, np.cumsum(lengths)],
            (np.cumsum(kept) - 1)[self.stratum[of_row]].astype(np.int32),
            (np.cumsum(of_cell) - 1)[self.cell[of_row]].astype(np.int32),
            self.clicked[of_row],
        )

    def take(self, searches: Integers) -> "Rows":
        """Some of the searches."""
        lengths = np.diff(self.searches)[searches]
        starts = np.r_[0, np.cumsum(lengths)]
        places = np.repeat(self.searches[searches] - starts[:-1], lengths) + np.arange(starts[-1])
        return Rows(starts, self.stratum[places], self.cell[places], self.clicked[places])


def build(engine: Engine, *, period: Period = "week") -> None:
    """Steps `cells` and `strata`. Needs `impressions` (search_id, query, document, rank, clicked, time, swap)."""
    moment = "0" if period == "none" else f"coalesce(floor(time / {DAYS[period] * MICROSECONDS}), -1)"
    engine.step(
        "keyed",
        f"""
        SELECT search_id, rank, CAST(clicked AS INTEGER) AS clicked, coalesce(swap, '') AS swap,
               CASE WHEN swap IS NULL THEN CAST(query AS VARCHAR) ELSE '' END AS query,
               CASE WHEN swap IS NULL THEN CAST(document AS VARCHAR) ELSE '' END AS document,
               CAST({moment} AS BIGINT) AS period
        FROM impressions
        """,
    )
    key = ", ".join(_KEY)
    engine.step(
        "cells",
        f"SELECT {key}, rank, count(*) AS shown, sum(clicked) AS clicked FROM keyed GROUP BY {key}, rank",
    )
    engine.step(
        "strata",
        f"SELECT row_number() OVER (ORDER BY {key}) - 1 AS stratum, {key} FROM cells GROUP BY {key}",
    )


def read(engine: Engine) -> Strata:
    """The arrays of `cells`."""
    for name in ("query", "document"):
        engine.step(
            f"{name}_numbers",
            f"SELECT {name}, row_number() OVER (ORDER BY {name}) - 1 AS number FROM strata GROUP BY {name}",
        )
    same = " AND ".join(f"s.{name} = c.{name}" for name in _KEY)
    rows = engine.arrow(
        f"""
        SELECT s.stratum, c.rank, c.shown, c.clicked FROM cells AS c JOIN strata AS s ON {same}
        ORDER BY s.stratum, c.rank
        """
    )
    named = engine.arrow(
        """
        SELECT q.number AS query, d.number AS document FROM strata AS s JOIN query_numbers AS q ON q.query = s.query
        JOIN document_numbers AS d ON d.document = s.document ORDER BY s.stratum
        """
    )
    ranks, place = np.unique(rows["rank"].to_numpy(), return_inverse=True)
    lengths = np.bincount(rows["stratum"].to_numpy(), minlength=named.num_rows)
    return Strata(
        ranks.astype(np.int64),
        CompressedRows.from_lengths(place.astype(np.int64), lengths.astype(np.int64)),
        rows["shown"].to_numpy().astype(np.float64),
        rows["clicked"].to_numpy().astype(np.float64),
        named["query"].to_numpy().astype(np.int64),
        named["document"].to_numpy().astype(np.int64),
    )


def read_rows(engine: Engine, strata: Strata) -> Rows:
    """The impressions of `keyed`, by search."""
    same = " AND ".join(f"s.{name} = k.{name}" for name in _KEY)
    rows = engine.arrow(
        f"""
        SELECT dense_rank() OVER (ORDER BY k.search_id) - 1 AS search, s.stratum, k.rank, k.clicked
        FROM keyed AS k JOIN strata AS s ON {same} ORDER BY search, s.stratum, k.rank
        """
    )
    stratum = rows["stratum"].to_numpy().astype(np.int64)
    width = len(strata.ranks)
    place = np.searchsorted(strata.ranks, rows["rank"].to_numpy())
    cell = np.searchsorted(strata.owner * width + strata.rank, stratum * width + place)
    lengths = np.bincount(rows["search"].to_numpy())
    return Rows(
        np.r_[0, np.cumsum(lengths)],
        stratum.astype(np.int32),
        cell.astype(np.int32),
        rows["clicked"].to_numpy().astype(np.bool_),
    )
