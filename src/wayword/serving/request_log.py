"""The log of problems that requests meet: a line that is repeated is counted instead.

The first line of a kind is written at once, and then one line with the number of the others every `SECONDS`, as long as
there are any. A full disk or a fault that every request meets would otherwise fill the log as fast as requests come.
"""

import logging
import os
from threading import Lock, Timer

SECONDS = 30.0
Kind = tuple[str, type[BaseException] | None, int | None]


class RepeatFilter(logging.Filter):
    """Lets one record of each kind pass: the same message before its values are filled in, and the same exception."""

    def __init__(self, logger: logging.Logger, seconds: float = SECONDS) -> None:
        super().__init__()
        self._logger, self._seconds = logger, seconds
        self.reset()

    def reset(self) -> None:
        """Begin anew: every kind of line is new."""
        self._repeated: dict[Kind, int] = {}
        self._lock = Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written: it is the first of its kind, or the count of others."""
        if getattr(record, "counts", False):
            return True
        kind = _kind(record)
        with self._lock:
            if kind in self._repeated:
                self._repeated[kind] += 1
                return False
            self._repeated[kind] = 0
        self._wait(kind, record.levelno, record.getMessage())
        return True

    def _wait(self, kind: Kind, level: int, message: str) -> None:
        timer = Timer(self._seconds, self._count, (kind, level, message))
        timer.daemon = True
        timer.start()

    def _count(self, kind: Kind, level: int, message: str) -> None:
        with self._lock:
            repeated = self._repeated.pop(kind, 0)
            if repeated:
                self._repeated[kind] = 0
        if repeated:
            self._wait(kind, level, message)
            told = "%s (%d more like this in %g s)"
            self._logger.log(level, told, message, repeated, self._seconds, extra={"counts": True})


def _kind(record: logging.LogRecord) -> Kind:
    problem, trace = (record.exc_info or (None, None, None))[0::2]
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return str(record.msg), problem, trace.tb_lineno if trace else None


logger = logging.getLogger("wayword.requests")
_repeats = RepeatFilter(logger)
logger.addFilter(_repeats)
os.register_at_fork(after_in_child=_repeats.reset)  # timers are not forked
