"""Recent responses, bounded by their bytes."""

from collections.abc import Callable
from typing import NamedTuple

from wayword.serving.http import Response

MOST_BYTES = 24_000_000
LONGEST_KEY = 256
OVERHEAD = 500
"""Bytes of an entry besides its text and its body: the objects that hold them."""


class CachedResponse(NamedTuple):
    """A response, the one to a client that has it already, and its tag."""

    response: Response
    not_modified: Response
    etag: str


class ResponseCache(dict[str, CachedResponse]):
    """Responses by query string; one that is missing is made.

    There are two generations: entries of the old one that are asked for again move to the new one, and when the new one
    is half of the limit it becomes the old one. The dictionary itself is the new one, so a hit is one look-up; the
    `LRUCache` of cachetools, which orders its entries in Python at every hit, takes three times as long.

    >>> ok, made = Response(200, [], b"x"), []
    >>> cache = ResponseCache(lambda key: made.append(key) or CachedResponse(ok, ok, ""), 4 * (OVERHEAD + 2))
    >>> [cache[key].etag for key in "abacadab"], "".join(made)
    (['', '', '', '', '', '', '', ''], 'abcdb')
    """

    def __init__(self, make: Callable[[str], CachedResponse], most_bytes: int = MOST_BYTES) -> None:
        super().__init__()
        self._make, self._half, self._size = make, most_bytes // 2, 0
        self._old: dict[str, CachedResponse] = {}

    def __missing__(self, key: str) -> CachedResponse:
        """The response of the old generation, or a new one, which is kept unless its key is very long."""
        cached = self._old.get(key) or self._make(key)
        if len(key) <= LONGEST_KEY:
            self[key] = cached
            self._size += OVERHEAD + len(key) + len(cached.response.body)
            if self._size >= self._half:
                self._old, self._size = dict(self), 0
                self.clear()
        return cached
