"""Impressions small enough to read."""

import numpy as np
import pyarrow as pa

from inputs import Row
from wayword.engines import Engine
from wayword.propensity.strata import Impressions, Period

DAY = 86_400 * 1_000_000
RANKS = np.arange(1.0, 11.0)
LAWS = {
    "alpha 0.5": RANKS**-0.5,
    "alpha 1": RANKS**-1.0,
    "alpha 2": RANKS**-2.0,
    "step": np.where(RANKS < 5, RANKS**-0.5, 0.3 * RANKS**-0.5),
}


def shown(
    search: int, *results: tuple[str, int, int], query: str = "q", day: float | None = None, **more: str
) -> list[Row]:
    """A search that shows documents at ranks, clicked or not."""
    time = None if day is None else int(day * DAY)
    row = {"search_id": f"s{search}", "query": query, "time": time, "swap": None} | more
    return [row | {"document": d, "rank": rank, "clicked": bool(clicked)} for d, rank, clicked in results]


def impressions(engine: Engine, rows: list[Row], period: Period = "week") -> Impressions:
    """As the reader of files leaves them."""
    kinds = {
        "search_id": pa.string(), "query": pa.string(), "document": pa.string(), "rank": pa.int32(),
        "clicked": pa.bool_(), "time": pa.int64(), "swap": pa.string(),
    }  # fmt: skip
    engine.load("impressions", pa.Table.from_pylist(rows, pa.schema(kinds.items())))
    return Impressions.of(engine, period)


def one_sentence(message: str) -> bool:
    """Whether it is one sentence, which says what was found, what was expected and, after a colon, what to do."""
    _found, expected, rest = message.partition("; expected ")
    return (
        bool(expected)
        and ": " in rest
        and message.endswith(".")
        and ". " not in message
        and "\n" not in message
    )
