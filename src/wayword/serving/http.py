"""Requests and responses: what the service makes of the server's, with every size bounded."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote_plus

import msgspec

from wayword.errors import WaywordError

MOST_PARAMETERS = 100
LONGEST_QUERY_STRING = 100_000
FAR_TOO_LARGE = 16
"""Times the size that is allowed."""
CLOSE = ("connection", "close")
JSON = ("content-type", "application/json; charset=utf-8")
Headers = list[tuple[str, str]]
encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class Scope(Protocol):
    """What RSGI says of a request."""

    method: str
    path: str
    query_string: str
    client: str

    @property
    def headers(self) -> Any:
        """By name in small letters."""
        ...


class Response(NamedTuple):
    """What is sent."""

    status: int
    headers: Headers
    body: bytes = b""


class Refused(WaywordError):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: int, reason: str, headers: Headers | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers or []

    def response(self) -> Response:
        """Its reason, for the client."""
        return Response(self.status, [JSON, *self.headers], encode({"error": str(self)}))


class NotModified(Exception):
    """The client has this answer already."""

    def __init__(self, headers: Headers) -> None:
        super().__init__("not modified")
        self.headers = headers


def parameters(query_string: str) -> dict[str, str]:
    """The parameters of an address; of one that is given twice, the last.

    >>> parameters("prefix=caf%C3%A9+cr&k=5")
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
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        found[_plain(name)] = _plain(value)
    return found


def _plain(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


async def body(protocol: Any, most: int, timeout: float) -> bytes:
    """The whole body, unless it is too large or too slow.

    What is too large is read and forgotten, so that the client hears why; what is far too large is cut off.
    """
    parts, size = [], 0
    try:
        async with asyncio.timeout(timeout):
            async for part in protocol:
                size += len(part)
                if size <= most:
                    parts.append(part)
                elif size > most * FAR_TOO_LARGE:
                    break
    except TimeoutError:
        raise Refused(408, f"The body did not arrive within {timeout:g} seconds.", [CLOSE]) from None
    if size > most:
        raise Refused(413, f"Found a body of more than {most:,} bytes; send less at once.", [CLOSE])
    return b"".join(parts)
