"""A completion request: the modes, the limits, and the checks that the command line, HTTP and Python share."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from wayword.errors import WaywordError

ANY, PREFIXED = MODES = ("any", "prefix")
"""`any`: every query that leads there; `prefix`: only queries that the typed text, or its correction, begins."""
MAX_COMPLETIONS = 1000
MAX_PREFIX = 1000
"""Characters of a typed text that are read: it bounds the work."""


def check_request(prefix: Any, k: Any = 1, mode: Any = ANY) -> None:
    """Raise `WaywordError` unless the prefix is text, k is within its limits and the mode is known.

    >>> check_request(None)
    Traceback (most recent call last):
    wayword.errors.WaywordError: Found the prefix None; expected text.
    """
    if not isinstance(prefix, str):
        raise WaywordError(f"Found the prefix {repr(prefix)[:100]}; expected text.")
    check_number("k", k, MAX_COMPLETIONS)
    check_choice("mode", mode, MODES)


def check_number(name: str, value: Any, most: int) -> None:
    """Raise `WaywordError` unless the value is a whole number from 1 to `most`."""
    if not isinstance(value, (int, Integral)) or not 1 <= int(value) <= most:
        raise WaywordError(f"Found {name} = {repr(value)[:100]}; expected a whole number from 1 to {most:,}.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise `WaywordError` unless the value is one of the choices."""
    if value not in choices:
        raise WaywordError(f"Found {name} {repr(value)[:100]}; expected one of {', '.join(choices)}.")
