"""Metrics: counters that all workers share, in Prometheus' text format.

Each worker has a row of its own in shared memory, which workers inherit when they are forked; the worker that answers
`/metrics` adds the rows up. Counting a request is a few additions.
"""

import mmap
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from multiprocessing import Value

SLOTS = 256
"""Rows; a worker that is started again takes the next one."""
PATHS = ("/complete", "/explain", "/events", "other")
STATUSES = ("2xx", "3xx", "4xx", "5xx")
INDEX, LIVE, POPULAR = ANSWERS = ("index", "live", "popular")
BOUNDS = (25e-6, 50e-6, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5)
_BOUNDS = tuple(round(bound * 1e9) for bound in BOUNDS)
_PLACE = {path: place for place, path in enumerate(PATHS)}
_OTHER = len(PATHS) - 1
_REQUESTS = 0
_TIMES = _REQUESTS + len(PATHS) * len(STATUSES)
_NANOSECONDS = _TIMES + len(PATHS) * (len(BOUNDS) + 1)
_ANSWERS = _NANOSECONDS + len(PATHS)
_EMPTY = _ANSWERS + len(ANSWERS)
_LIMITED = _EMPTY + 1
_EVENTS = _LIMITED + 1
_WIDTH = _EVENTS + 1
Samples = Sequence[tuple[str, float]]


class Metrics:
    """Create it before workers are forked; each worker calls `begin` once."""

    def __init__(self) -> None:
        self._memory = memoryview(mmap.mmap(-1, SLOTS * _WIDTH * 8)).cast("Q")
        self._next = Value("I", 0)
        self._row = self._memory[:_WIDTH]
        self.started = time.time()

    def begin(self) -> None:
        """Take a row for this worker."""
        with self._next.get_lock():
            slot = self._next.value % SLOTS
            self._next.value += 1
        self._row = self._memory[slot * _WIDTH : (slot + 1) * _WIDTH]

    def request(self, path: str, status: int, nanoseconds: int, counters: tuple[int, ...] = ()) -> None:
        """Count a request, and add 1 to other counters (see `answer_counters`)."""
        place = _PLACE.get(path, _OTHER)
        row = self._row
        for counter in counters:
            row[counter] += 1
        row[_REQUESTS + place * len(STATUSES) + status // 100 - 2] += 1
        row[_TIMES + place * (len(BOUNDS) + 1) + bisect_left(_BOUNDS, nanoseconds)] += 1
        row[_NANOSECONDS + place] += nanoseconds

    def limited(self) -> None:
        """Count a request that the limiter refused."""
        self._row[_LIMITED] += 1

    def events(self, stored: int) -> None:
        """Count stored events."""
        self._row[_EVENTS] += stored

    def text(self, indexes: Mapping[str, tuple[str, float]]) -> str:
        """All metrics; `indexes` gives the version of each arm and its time."""
        total = [sum(self._memory[place::_WIDTH]) for place in range(_WIDTH)]
        now = time.time()
        answers = [(f'{{source="{name}"}}', total[_ANSWERS + place]) for place, name in enumerate(ANSWERS)]
        served = [(f'{{arm="{arm}",version="{version}"}}', 1) for arm, (version, _) in indexes.items()]
        ages = [(f'{{arm="{arm}"}}', round(max(0.0, now - made), 3)) for arm, (_, made) in indexes.items()]
        families: list[tuple[str, str, str, Samples]] = [
            ("requests_total", "counter", "Requests by path and status.", _requests(total)),
            ("request_seconds", "histogram", "Time inside the service.", _times(total)),
            ("answers_total", "counter", "Lists of completions by their source.", answers),
            ("empty_answers_total", "counter", "Lists without a completion.", [("", total[_EMPTY])]),
            (
                "limited_requests_total",
                "counter",
                "Requests that the rate limiter refused.",
                [("", total[_LIMITED])],
            ),
            ("events_total", "counter", "Events on disk.", [("", total[_EVENTS])]),
            ("index_info", "gauge", "The version that each arm serves.", served),
            ("index_age_seconds", "gauge", "How long ago the served version was made.", ages),
            ("start_time_seconds", "gauge", "When the service was started.", [("", round(self.started, 3))]),
        ]
        return "".join(_family(*family) for family in families)


def answer_counters(source: str, *, empty: bool) -> tuple[int, ...]:
    """The counters of a list of completions from one of the sources `ANSWERS`."""
    counter = _ANSWERS + ANSWERS.index(source)
    return (counter, _EMPTY) if empty else (counter,)


def _family(name: str, kind: str, meaning: str, samples: Samples) -> str:
    head = f"# HELP wayword_{name} {meaning}\n# TYPE wayword_{name} {kind}\n"
    return head + "".join(f"wayword_{name}{label} {value}\n" for label, value in samples)


def _requests(total: list[int]) -> Samples:
    return [
        (f'{{path="{path}",status="{status}"}}', total[_REQUESTS + n * len(STATUSES) + m])
        for n, path in enumerate(PATHS)
        for m, status in enumerate(STATUSES)
    ]


def _times(total: list[int]) -> Samples:
    lines: list[tuple[str, float]] = []
    for n, path in enumerate(PATHS):
        first, count = _TIMES + n * (len(BOUNDS) + 1), 0
        for bound, found in zip((*BOUNDS, float("inf")), total[first : first + len(BOUNDS) + 1], strict=True):
            count += found
            label = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append((f'_bucket{{path="{path}",le="{label}"}}', count))
        lines.append((f'_sum{{path="{path}"}}', total[_NANOSECONDS + n] / 1e9))
        lines.append((f'_count{{path="{path}"}}', count))
    return lines
