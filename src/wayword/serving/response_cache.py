"""Recent responses, bounded by their bytes."""

from typing import NamedTuple

from wayword.serving.http import Response

MOST_BYTES = 24_000_000
LONGEST_KEY = 256
OVERHEAD = 500
"""Bytes of an entry besides its text and its body: the objects that hold them."""


class CachedResponse(NamedTuple):
    """A response, its tag, and what is counted when it is sent."""

    response: Response
    not_modified: Response
    etag: str
    source: int
    empty: bool


class ResponseCache:
    """Two generations: entries of the old one that are asked for again move to the new one, and when the new one is
    half of the limit it becomes the old one. A hit is one look-up in a dictionary; the `LRUCache` of cachetools, which
    orders its entries in Python at every hit, takes three times as long.

    >>> cache, ok = ResponseCache(4 * (OVERHEAD + 2)), Response(200, [], b"x")
    >>> for key in "abacada":
    ...     known = cache.get(key) or cache.put(key, CachedResponse(ok, ok, "", 0, False))
    >>> [key for key in "abcd" if cache.get(key)]
    ['a', 'd']
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._half, self._size = most_bytes // 2, 0
        self._new: dict[str, CachedResponse] = {}
        self._old: dict[str, CachedResponse] = {}

    def get(self, key: str) -> CachedResponse | None:
        """The response to this query string, if it is there."""
        cached = self._new.get(key)
        if cached is None and (cached := self._old.get(key)) is not None:
            self.put(key, cached)
        return cached

    def put(self, key: str, cached: CachedResponse) -> None:
        """Keep a response, unless its key is very long."""
        if len(key) > LONGEST_KEY:
            return
        self._new[key] = cached
        self._size += OVERHEAD + len(key) + len(cached.response.body)
        if self._size >= self._half:
            self._old, self._new, self._size = self._new, {}, 0
