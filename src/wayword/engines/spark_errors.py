"""Failures of a Spark engine as sentences: what failed, and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from wayword.errors import ClusterError, WaywordError

_MEMORY = re.compile(
    r"OutOfMemoryError|Java heap space|GC overhead limit|exceeding (?:physical )?memory|exit(?:ed with)? code:? 137|"
    r"Resources exhausted|Cannot grow|Not enough memory|UNABLE_TO_ACQUIRE_MEMORY|OOMKilled",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"UNAVAILABLE|Connection refused|Socket closed|failed to connect|stopped SparkContext", re.IGNORECASE
)
_WRITE = re.compile(
    r"Permission denied|Access ?Denied|Mkdirs failed|Read-only file system|AccessControlException|403 Forbidden|"
    r"No space left",
    re.IGNORECASE,
)
LONGEST = 2000


@contextmanager
def failed(step: str, sql: str) -> Iterator[None]:
    """Raise a failure of the engine as one of the step, with its SQL."""
    try:
        yield
    except WaywordError:
        raise
    except Exception as problem:
        if not _of_engine(problem):
            raise
        raise sentence(f"The step '{step}'", problem, sql) from problem


@contextmanager
def said(what: str) -> Iterator[None]:
    """Raise a failure of the engine as one of what it was doing."""
    with failed(what, ""):
        yield


def sentence(what: str, problem: Exception, sql: str = "") -> WaywordError:
    """The failure in words."""
    text = str(problem)
    if _MEMORY.search(text):
        return ClusterError(
            f"{what} ran out of memory on an executor. Give executors more (spark.executor.memory), or cut the work "
            "into more parts (spark.sql.shuffle.partitions); finished stages are kept. "
            f"Spark said: {_line(text, _MEMORY)}"
        )
    if _LOST.search(text):
        return ClusterError(
            f"{what} failed: the engine cannot be reached any more ({_line(text, _LOST)}). Start it, and run the same "
            "command again; finished stages are kept."
        )
    if _WRITE.search(text):
        return not_writable(what, problem)
    return ClusterError(f"{what} failed: {text[:LONGEST]}\n\n{sql.strip()}".strip())


def not_writable(what: str, problem: Exception) -> ClusterError:
    """Storage that refuses to be written."""
    return ClusterError(
        f"{what} cannot be written: {_line(str(problem), _WRITE)}. Expected a folder (--engine-folder) that the engine "
        "and this machine can both read and write."
    )


def _of_engine(problem: Exception) -> bool:
    """Whether the library of Spark or of gRPC raised this."""
    return type(problem).__module__.split(".")[0] in ("pyspark", "grpc", "py4j") or isinstance(
        problem, OSError
    )


def _line(text: str, wanted: re.Pattern[str]) -> str:
    """The first line with what is wanted."""
    lines = [line.strip() for line in text.splitlines() if wanted.search(line)]
    return (lines or text.strip().splitlines() or ["no reason given"])[0][:300]
