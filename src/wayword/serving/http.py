"""HTTP requests and responses, with every size bounded."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote_plus

import msgspec

from wayword.errors import WaywordError

MOST_PARAMETERS = 100
LONGEST_QUERY_STRING = 100_000
CLOSE = ("connection", "close")
JSON = ("content-type", "application/json; charset=utf-8")
Headers = list[tuple[str, str]]
encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class Scope(Protocol):
    """A request, as RSGI has it."""

    method: str
    path: str
    query_string: str
    client: str

    @property
    def headers(self) -> Any:
        """By lower-case name."""
        ...


class Response(NamedTuple):
    """Status, headers and body, and the counters of `Metrics` that it adds to when it is sent."""

    status: int
    headers: Headers
    body: bytes = b""
    counters: tuple[int, ...] = ()


class Refused(WaywordError):
    """An invalid or forbidden request, with the status to send."""

    def __init__(self, status: int, reason: str, headers: Headers | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers or []

    def response(self) -> Response:
        """The reason as JSON."""
        return Response(self.status, [JSON, *self.headers], encode({"error": str(self)}))


def split_query(query_string: str) -> dict[str, str]:
    """Decode a query string. Of a parameter that is given twice, the last value counts; one without a name is ignored.

    >>> split_query("prefix=caf%C3%A9+cr&k=5&")
    {'prefix': 'café cr', 'k': '5'}
    """
    if not query_string:
        return {}
    if len(query_string) > LONGEST_QUERY_STRING:
        raise Refused(
            414,
            f"Found {len(query_string):,} characters of parameters; expected fewer than {LONGEST_QUERY_STRING:,}.",
        )
    pairs = query_string.split("&")
    if len(pairs) > MOST_PARAMETERS:
        raise Refused(400, f"Found {len(pairs):,} parameters; expected at most {MOST_PARAMETERS}.")
    values = {}
    encoded = "%" in query_string or "+" in query_string
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name and encoded:
            name, value = unquote_plus(name), unquote_plus(value)
        if name:
            values[name] = value
    return values
