"""What is still to do and how long it will take: the cost of each stage is known from one machine, and how fast this
one is is learned on the way. The first fit of a ranker is measured before the others are announced."""

import json
import resource
import sys
from pathlib import Path
from typing import Any

from wayword.progress import Progress
from wayword.store.artefact import write_atomically

COSTS = {
    "world": 13,
    "log": 2,
    "rankings": 4,
    "contexts": 2,
    "retriever": 210,
    "examples": 26,
    "tests": 16,
    "baselines": 18,
    "ranker": 105,
    "ranker_both": 190,
    "ranker_retriever": 165,
    "ranker_ranker": 185,
    "encoder_light": 24,
    "encoder_minilm": 360,
    "context": 115,
    "label_ablations": 18,
    "propensity_ablations": 11,
    "theory": 7,
}
"""Seconds of the `debian` world on two cores; a name stands for all stages that begin with it."""
SMALL = 5
TIMES = "times.json"
FIRST_FIT = "ranker_unbiased"


def cost(stage: str) -> float:
    """What a stage is expected to cost, relative to others.

    >>> cost("retriever"), cost("ranker_prescient@5"), cost("ranker_1_percent"), cost("propensity")
    (210, 105, 1.05, 5)
    """
    if stage.startswith("ranker_") and stage.endswith("_percent"):
        return COSTS["ranker"] * int(stage.split("_")[1]) / 100
    known = [name for name in COSTS if stage == name or stage.startswith(f"{name}_")]
    return COSTS[max(known, key=len)] if known else SMALL


class Schedule(Progress):
    """Passes on what is told, keeps the seconds of every artefact in a file, and tells how much is left."""

    def __init__(self, reporter: Progress, file: Path) -> None:
        self._reporter, self._file = reporter, file
        self.artefacts: dict[str, dict[str, float]] = _read(file)
        self._left: list[str] = []
        self._expected = self._spent = self._done = 0.0

    def expect(self, stages: list[str]) -> None:
        """These are to be done from now on, beside what was expected already."""
        self._left += stages

    def begin(self, stage: str, *, expected: float | None = None) -> None:  # noqa: ARG002 - known better here
        """See `Progress.begin`."""
        self._reporter.begin(stage, expected=self._seconds(cost(stage)))

    def advance(self, done: int, total: int) -> None:
        """See `Progress.advance`."""
        self._reporter.advance(done, total)

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        self._reporter.note(text)

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:
        """See `Progress.end`."""
        self._reporter.end(stage, reused=reused, seconds=seconds)
        if stage in self._left:
            self._left.remove(stage)
        self._done += cost(stage)
        if not reused:
            self._expected += cost(stage)
            self._spent += seconds
        left = sum(map(cost, self._left))
        self._reporter.overall(self._done, self._done + left, self._seconds(left))
        fits = sum(name.startswith("ranker") for name in self._left)
        if stage == FIRST_FIT and fits and not reused:
            self.note(
                f"One fit took {seconds:.0f} s; {fits} more are planned. All that is left: about "
                f"{self._seconds(left) / 60:.0f} minutes."
            )

    def _seconds(self, left: float) -> float:
        return left * (self._spent / self._expected if self._expected else 1.0)

    def record(self, artefact: str, seconds: float) -> None:
        """Keep what an artefact took and how much memory the process had needed by then."""
        self.artefacts[artefact] = {"seconds": seconds, "peak_bytes": peak_bytes()}
        write_atomically(self._file, json.dumps(self.artefacts, indent=1, sort_keys=True) + "\n")


def _read(file: Path) -> dict[str, dict[str, float]]:
    """What earlier runs kept; a file that is no longer readable only costs the memory of their times."""
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
        return {str(k): {n: float(v[n]) for n in ("seconds", "peak_bytes")} for k, v in found.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def peak_bytes() -> int:
    """The most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
