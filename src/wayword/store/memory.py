"""The memory that a run may take: `[run] memory`. What it bounds is the size of parts, never a result."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wayword.errors import ConfigError

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
TABLES = 0.4
"""Share of the memory for the tables of an engine; models and lists have the rest."""
_limit: ContextVar[int] = ContextVar("memory", default=0)


def parse(size: str) -> int:
    """The number of bytes that a text such as "8GB" stands for; 0 for an empty one.

    >>> parse("8GB"), parse("512MiB"), parse("")
    (8000000000, 536870912, 0)
    """
    if not size:
        return 0
    found = re.fullmatch(r"([1-9]\d*)([KMGT])(i?)B", size)
    if not found:
        raise ConfigError(f"Found memory = {size!r}; expected so many bytes, such as 2GB.")
    number, unit, binary = found.groups()
    return int(number) * int((1024 if binary else 1000) ** _UNITS[unit])


@contextmanager
def bounded(size: str) -> Iterator[None]:
    """Bound what the stages inside take; an empty text is no bound."""
    before = _limit.set(parse(size))
    try:
        yield
    finally:
        _limit.reset(before)


def limit_of_tables() -> str | None:
    """The part of an engine's tables, as DuckDB takes it; None without a bound."""
    most = _limit.get()
    return f"{max(int(TABLES * most) // 1000, 64_000)}KB" if most else None


def at_once(most: int, size: int, share: float) -> int:
    """How many things of so many bytes fit into this share of the memory, at most `most`.

    >>> at_once(1000, 8, 0.5)
    1000
    >>> with bounded("4KB"):
    ...     at_once(1000, 8, 0.5)
    250
    """
    known = _limit.get()
    return min(most, max(int(share * known) // size, 1)) if known else most
