"""Bodies of requests, read in pieces, with bounded memory, time and number of pieces.

All unfinished bodies of a worker share a budget of bytes. Where it is exceeded, the client with the most bytes loses
its largest body: a client that sends normal bodies is not disturbed by one that sends large ones and never ends them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wayword.serving.http import CLOSE, Refused, Scope

BUDGET = 32_000_000
"""Bytes of all unfinished bodies of a worker."""
FAR_TOO_LARGE = 16
"""Times the allowed size: more than this is not even discarded."""
FREE_PIECES, SMALLEST_PIECE = 256, 256
"""A body may have so many pieces, and one more for each so many bytes: a piece takes the same time at any size."""
PIECES_OF_REQUEST = 64
"""So many pieces take as long as a request, and are counted as one by the rate limiter."""


@dataclass(eq=False)
class _Body:
    """A body that is being read: `size` bytes have arrived, `held` of them are in memory."""

    client: str
    deadline: asyncio.Timeout
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    held: int = 0
    dropped: bool = False


class Bodies:
    """The unfinished bodies of a worker, read by tasks of one thread."""

    def __init__(self, most: int, timeout: float, budget: int = BUDGET) -> None:
        """A body has at most `most` bytes, which arrive within `timeout` seconds."""
        self._most, self._timeout, self._budget = most, timeout, max(budget, most)
        self._open: set[_Body] = set()
        self.held = 0
        """Bytes in memory."""

    async def read(self, scope: Scope, protocol: Any, client: str, pay: Callable[[], None]) -> bytes:
        """Read the whole body; raise `Refused` if it is too large, too slow, incomplete, or too much with the others.

        A body that is too large is read and discarded, so that the client receives the reason; one that is far too
        large is cut off. `pay` counts a request: it is called for every `PIECES_OF_REQUEST` pieces.
        """
        length = _length(scope)
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                body = _Body(client, deadline)
                self._open.add(body)
                try:
                    await self._fill(body, protocol, pay)
                    content = b"".join(body.parts)
                finally:
                    self._open.remove(body)
                    self._release(body)
        except TimeoutError:
            raise _ended(body, self._timeout) from None
        if body.size > self._most:
            raise Refused(413, f"Found a body of more than {self._most:,} bytes; send less at once.", [CLOSE])
        if body.dropped:
            raise _ended(body, self._timeout)
        if length is not None and body.size < length:
            raise Refused(400, f"Found {body.size:,} bytes of a body of {length:,}.", [CLOSE])
        return content

    async def _fill(self, body: _Body, protocol: Any, pay: Callable[[], None]) -> None:
        pieces = 0
        async for part in protocol:
            pieces += 1
            body.size += len(part)
            if pieces % PIECES_OF_REQUEST == 0:
                pay()
            if body.size > self._most:
                self._release(body)
                if body.size > self._most * FAR_TOO_LARGE:
                    break
            elif pieces > FREE_PIECES + body.size // SMALLEST_PIECE:
                raise Refused(
                    400, f"Found {body.size:,} bytes in {pieces:,} pieces; send larger ones.", [CLOSE]
                )
            elif not body.dropped:
                body.parts.append(part)
                body.held += len(part)
                self.held += len(part)
                if self.held > self._budget:
                    self._drop_largest()

    def _drop_largest(self) -> None:
        """Give up the largest body of the client that holds most, and end its reading."""
        of_client: dict[str, int] = {}
        for one in self._open:
            of_client[one.client] = of_client.get(one.client, 0) + one.held
        body = max(self._open, key=lambda one: (of_client[one.client], one.held))
        self._release(body)
        body.dropped = True
        if not body.deadline.expired():
            body.deadline.reschedule(0)

    def _release(self, body: _Body) -> None:
        self.held -= body.held
        body.held = 0
        body.parts.clear()


def _ended(body: _Body, timeout: float) -> Refused:
    if body.dropped:
        again = ("retry-after", "1")
        return Refused(503, "The server reads too many large bodies at once; try again.", [CLOSE, again])
    return Refused(408, f"The body did not arrive within {timeout:g} seconds.", [CLOSE])


def _length(scope: Scope) -> int | None:
    """The announced length."""
    length = scope.headers.get("content-length")
    return int(length) if length is not None and length.isascii() and length.isdigit() else None
