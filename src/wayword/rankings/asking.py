"""Asking a source for many queries: batches by several threads, again after a break where the engine is busy.

The n-th break in a row is drawn from half of to the whole of `FIRST_BREAK` · 2ⁿ⁻¹ seconds, at most `LONGEST_BREAK`. If
the engine says how long (Retry-After), all threads wait so long. Only what was not answered is asked again. A batch
that is refused as a whole is asked in halves, so that one query cannot spoil others.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from queue import Queue

from wayword.errors import EngineError
from wayword.progress import SILENT, Progress
from wayword.rankings.sources.source import Answer, Busy, Documents, Refused, Source

FIRST_BREAK, LONGEST_BREAK = 0.5, 60.0
IN_A_ROW = 10
"""Number of queries without an answer, one after the other, after which the engine is taken to be down."""
EXAMPLES = 5


@dataclass(frozen=True)
class Limits:
    """How hard the engine is asked, and how much may fail."""

    concurrency: int = 4
    batch: int | None = None
    """Queries per request; None: as many as suits the source."""
    retries: int = 6
    """Number of times that a query without an answer is asked again."""
    max_failed: float = 0.01
    """Largest share of all queries, asked now or before, that may stay without an answer."""


LIMITS = Limits()


@dataclass
class Failures:
    """Queries without an answer."""

    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)
    in_a_row: int = 0

    def sifted(self, heard: "list[_Heard]") -> "list[Answered]":
        """The answers among what was heard; count the rest."""
        answers = []
        for query, moment, answer in heard:
            if not isinstance(answer, EngineError):
                answers.append((query, moment, answer))
                self.in_a_row = 0
                continue
            self.count += 1
            self.in_a_row = self.in_a_row + 1 if isinstance(answer, Busy) else 0
            if len(self.examples) < EXAMPLES:
                self.examples.append((query, str(answer)))
        return answers

    def __str__(self) -> str:
        return "\n".join(f"    {query[:60]!r}: {reason}" for query, reason in self.examples)


Answered = tuple[str, float, Documents]
"""A query, when it was answered, and its documents."""
_Heard = tuple[str, float, Answer]


def ask_all(
    source: Source,
    queries: Sequence[str],
    depth: int,
    *,
    most_failed: int,
    keep: Callable[[list[Answered]], None],
    limits: Limits = LIMITS,
    progress: Progress = SILENT,
) -> Failures:
    """Ask for every query; `keep` is called with answers as they come.

    Raise `EngineError` if more than `most_failed` queries have no answer, or many in a row.
    """
    asking = _Asking(source, queries, depth, limits)
    failures, done = Failures(), 0

    def settle(arrived: list[_Heard]) -> None:
        answers = failures.sifted(arrived)
        if answers:
            keep(answers)

    try:
        asking.start()
        while arrived := asking.arrived():
            settle(arrived)
            done += len(arrived)
            progress.advance(done, len(queries))
            _check(failures, most_failed, max(IN_A_ROW, limits.concurrency))
    finally:
        settle(asking.stop())
    return failures


def _check(failures: Failures, most: int, most_in_a_row: int) -> None:
    """Raise `EngineError` if the engine is down, or more queries failed than may."""
    if failures.count > most:
        found = f"{failures.count:,} queries have no answer; expected at most {most:,}"
    elif failures.in_a_row >= most_in_a_row:
        found = f"{failures.in_a_row:,} queries in a row have no answer"
    else:
        return
    raise EngineError(
        f"{found} (--max-failed). For example:\n{failures}\nMend this and run the same command again: answers "
        "are kept and not asked again."
    )


class _Asking:
    """Threads that ask, and the queue of what they hear."""

    def __init__(self, source: Source, queries: Sequence[str], depth: int, limits: Limits) -> None:
        self._source, self._depth, self._limits = source, depth, limits
        if (limits.batch or 1) > source.most_batch:
            raise EngineError(
                f"Found --batch {limits.batch}; expected at most {source.most_batch:,}: this engine takes no more "
                "queries in a request. --concurrency sets how many requests are under way."
            )
        self._batches = _batches(queries, limits.batch or source.batch)
        self._problem: BaseException | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._not_before = 0.0
        count = min(limits.concurrency, source.most_threads, max(1, len(queries)))
        # bounded, so that a crash loses few answers that are not kept yet
        self._heard: Queue[list[_Heard] | BaseException | None] = Queue(maxsize=count)
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        self._running = count

    def start(self) -> None:
        """Start all threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> list[_Heard]:
        """Let each thread end after the request that it waits for, but do not wait long; what arrives meanwhile."""
        self._stopped.set()
        found, until = self._waiting(), time.monotonic() + 1
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < until:
            time.sleep(0.005)
            found += self._waiting()
        return found + self._waiting()

    def arrived(self) -> list[_Heard]:
        """What has arrived since the last call, waiting for it; nothing when all is answered."""
        found: list[_Heard] = []
        while self._running and not found and self._problem is None:
            self._take(self._heard.get(), found)
        found += self._waiting()
        if self._problem is not None and not found:
            raise self._problem
        return found

    def _waiting(self) -> list[_Heard]:
        found: list[_Heard] = []
        for _ in range(self._heard.qsize()):
            self._take(self._heard.get_nowait(), found)
        return found

    def _take(self, item: list[_Heard] | BaseException | None, found: list[_Heard]) -> None:
        if isinstance(item, BaseException):
            self._problem = self._problem or item
        elif item is None:
            self._running -= 1
        else:
            found += item

    def _work(self) -> None:
        try:
            while not self._stopped.is_set():
                with self._lock:
                    batch = next(self._batches, None)
                if batch is None:
                    break
                self._settle(batch)
            self._heard.put(None)
        except BaseException as problem:
            self._heard.put(problem)

    def _settle(self, waiting: list[str]) -> None:
        """Ask for a batch until every query of it has an answer, is refused, or was asked often enough."""
        attempt = 0
        while waiting:
            self._await_end_of_break()
            if self._stopped.is_set():
                return
            heard = [(query, time.time(), answer) for query, answer in self._answers(waiting)]
            settled = [one for one in heard if not isinstance(one[2], Busy)]
            busy = [(query, answer) for query, _, answer in heard if isinstance(answer, Busy)]
            attempt = 1 if settled else attempt + 1
            if attempt > self._limits.retries:
                settled, busy = heard, []
            self._heard.put(settled)
            waiting = [query for query, _ in busy]
            if busy:
                self._rest(attempt, [answer.after for _, answer in busy if answer.after is not None])

    def _rest(self, attempt: int, demanded: list[float]) -> None:
        """Wait before the next attempt; where the engine demands a break, let every thread wait."""
        if demanded:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + max(demanded))
        else:
            longest = min(LONGEST_BREAK, FIRST_BREAK * 2 ** (attempt - 1))
            self._stopped.wait(random.uniform(longest / 2, longest))

    def _await_end_of_break(self) -> None:
        while (left := self._not_before - time.monotonic()) > 0 and not self._stopped.is_set():
            self._stopped.wait(left * random.uniform(1, 1.1))

    def _answers(self, queries: list[str]) -> list[tuple[str, Answer]]:
        try:
            return list(zip(queries, self._source.ask(queries, self._depth), strict=True))
        except Busy as problem:
            return [(query, problem) for query in queries]
        except Refused as problem:
            if len(queries) == 1:
                return [(queries[0], problem)]
        half = len(queries) // 2
        return self._answers(queries[:half]) + self._answers(queries[half:])


def _batches(queries: Sequence[str], size: int) -> Iterator[list[str]]:
    rest = iter(queries)
    while batch := list(islice(rest, size)):
        yield batch
