"""Remembered results: the latest of a function, as long as they are not too large together."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """As `functools.lru_cache`, but bounded by the size of what is kept, not by how many: some texts may become a
    hundred thousand queries, most a handful.

    >>> asked = []
    >>> double = Remembered(lambda text: (asked.append(text), text * 2)[1], size=len, most=6)
    >>> double("a"), double("bb"), double("a"), double("c"), asked
    ('aa', 'bbbb', 'aa', 'cc', ['a', 'bb', 'c'])
    >>> double("bb"), asked  # "a" and "c" were asked later, and had to stay
    ('bbbb', ['a', 'bb', 'c', 'bb'])
    """

    def __init__(self, function: Callable[[str], Found], *, size: Callable[[Found], int], most: int) -> None:
        self._function, self._size, self._most = function, size, most
        self._found: OrderedDict[str, Found] = OrderedDict()
        self._total = 0
        self._lock = Lock()

    def __call__(self, text: str) -> Found:
        """What the function returns for the text."""
        with self._lock:
            if text in self._found:
                self._found.move_to_end(text)
                return self._found[text]
        result = self._function(text)
        with self._lock:
            if text not in self._found:  # another thread may have been quicker
                self._found[text] = result
                self._total += self._size(result)
            while self._total > self._most:
                self._total -= self._size(self._found.popitem(last=False)[1])
        return result
