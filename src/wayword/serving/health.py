"""Health of a worker: whether it follows the index, and whether events can be written."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from wayword.index.index import Index
from wayword.serving.responses import Health

LONGEST_LOOK = 30.0
"""Seconds that the watcher may take to look at the disk, also where it opens a new index."""
LEAST_FREE = 16_000_000
"""Bytes that have to be free for events."""
REMEMBERED = 60.0
"""Seconds for which a failed write counts: a server that gets no more requests could not show that it has recovered."""


class Vitals:
    """Heartbeat of the watcher and the fate of the last event. Times are monotonic seconds."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._failed: tuple[float, str] | None = None

    def wrote(self, problem: str | None, now: float) -> None:
        """Remember whether events were written: None, or why not."""
        self._failed = (now, problem) if problem else None

    def health(self, indexes: Mapping[str, Index], looked: float, now: float) -> Health:
        """The state; `looked` is when the watcher looked last."""
        free = shutil.disk_usage(self._workspace).free
        reasons = []
        if now - looked > LONGEST_LOOK:
            reasons.append(f"The index has not been checked for {now - looked:.0f} s: the check hangs.")
        if free < LEAST_FREE:
            reasons.append(f"{free:,} bytes are free in the workspace: too few for events.")
        if self._failed and now - self._failed[0] < REMEMBERED:
            reasons.append(f"The last events could not be written: {self._failed[1]}.")
        clock = time.time()
        return Health(
            "failing" if reasons else "ok",
            {arm: index.version for arm, index in indexes.items()},
            {arm: round(max(0.0, clock - index.made), 1) for arm, index in indexes.items()},
            round(now - looked, 3),
            free,
            reasons,
        )
