"""Requests and responses: what the service makes of the server's, with every size bounded."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote_plus

import msgspec

from wayword.errors import WaywordError

MOST_PARAMETERS = 100
LONGEST_QUERY_STRING = 100_000
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


async def body(scope: Scope, protocol: Any, most: int, timeout: float) -> bytes:
    """The whole body, unless it is too large or too slow."""
    too_large = Refused(
        413, f"Found a body of more than {most:,} bytes; send less at once.", [("connection", "close")]
    )
    announced = scope.headers.get("content-length")
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(timeout):
            async for part in protocol:
                parts.append(part)
                size += len(part)
                if size > most:
                    raise too_large
    except TimeoutError:
        raise Refused(
            408, f"The body did not arrive within {timeout:g} seconds.", [("connection", "close")]
        ) from None
    return b"".join(parts)
