"""Health of a worker: whether it follows the index, and whether events can be written."""

import shutil
import time
from pathlib import Path

from wayword.serving.experiment import Experiment
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

    def health(self, experiment: Experiment, now: float) -> Health:
        """The state of this worker."""
        failures = self._failures(experiment, now)
        clock, arms = time.time(), experiment.now.arms
        return Health(
            "failing" if failures else "degraded" if experiment.problems else "ok",
            {arm: served.index.version for arm, served in arms.items()},
            {arm: round(max(0.0, clock - served.index.made), 1) for arm, served in arms.items()},
            round(now - experiment.looked, 3),
            self._free(),
            [*failures, *experiment.problems],
        )

    def _failures(self, experiment: Experiment, now: float) -> list[str]:
        free, waited = self._free(), now - experiment.looked
        failures = ["An arm has no index that can be served."] if experiment.failing else []
        if waited > LONGEST_LOOK:
            failures.append(f"The index has not been checked for {waited:.0f} s: the check hangs.")
        if free < LEAST_FREE:
            failures.append(f"{free:,} bytes are free in the workspace: too few for events.")
        if self._failed and now - self._failed[0] < REMEMBERED:
            failures.append(f"The last events could not be written: {self._failed[1]}.")
        return failures

    def _free(self) -> int:
        try:
            return shutil.disk_usage(self._workspace).free
        except OSError:  # the workspace is gone
            return 0
