"""A world that drifts: from day to day people want other documents.

The logarithm of a document's popularity takes a normal step every day, whose standard deviation is the strength of the
drift. A tenth of the documents are new: nobody wants them before the day that they appear, which is drawn from all days
after the first. Queries, relevance and rankings stay as they are.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.simulation.world import World

NEW = 0.1
"""Share of the documents that appear after the first day."""
FIRST = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
DAY = 86_400
"""Seconds."""
MOST_DAYS = 3650


@dataclass(frozen=True)
class Drift:
    """The popularity of every document on every day, as a multiple of that in the world: days × documents."""

    world: World
    popularity: NDArray[np.float64]

    @classmethod
    def of(cls, world: World, strength: float, days: int, rng: np.random.Generator) -> "Drift":
        """Draw the popularities."""
        check(strength, days)
        shape = days, world.documents.num_rows
        steps = rng.normal(0.0, strength, shape)
        steps[0] = 0.0
        appears = np.where(rng.random(shape[1]) < NEW, rng.integers(1, max(days, 2), shape[1]), 0)
        there = np.arange(days)[:, None] >= appears
        return cls(world, np.exp(np.cumsum(steps, axis=0)) * there)

    @property
    def days(self) -> int:
        """Number of days."""
        return len(self.popularity)

    def on(self, day: int) -> World:
        """The world of a day, from 0: an intent is as popular as its documents are on average."""
        intents = self.world.intents
        wanted = np.bincount(
            intents.owner, self.popularity[day][intents.document], minlength=len(intents.probability)
        ) / np.maximum(np.bincount(intents.owner, minlength=len(intents.probability)), 1)
        probability = intents.probability * wanted
        return replace(self.world, intents=replace(intents, probability=probability / probability.sum()))


def check(strength: float, days: int) -> None:
    """Raise `WaywordError` for a drift that cannot be."""
    if not 0 <= strength <= 10:
        raise WaywordError(f"Found a drift of {strength:g}; expected 0 to 10, such as 0.2.")
    if not 1 <= days <= MOST_DAYS:
        raise WaywordError(f"Found {days:,} days; expected 1 to {MOST_DAYS:,}.")


def seconds_of_day(day: int, searches: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """When the searches of a day happen, in seconds since the first day began: sorted."""
    return day * DAY + np.sort(rng.integers(0, DAY, searches))


def as_times(seconds: NDArray[np.int64]) -> pa.Array:
    """ISO timestamps.

    >>> as_times(np.array([86_400 + 60])).to_pylist()
    ['2026-01-02T00:01:00Z']
    """
    return pc.strftime(pa.array(FIRST + seconds).cast(pa.timestamp("s", "UTC")), format="%Y-%m-%dT%H:%M:%SZ")
