"""Typed texts: what people type into a made index, by kind."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from quality import mistyped

from wayword.store.strings import Strings
from wayword.text import cuts, normalise

ALPHABET = list("abcdefghijklmnopqrstuvwxyz ")


class TypedTexts:
    """Of the index in a folder; every draw is the same for the same seed."""

    def __init__(self, index: Path, seed: int = 0) -> None:
        self._texts: Sequence[str] = Strings.load(index, "texts")
        popularity: NDArray[np.int64] = np.load(index / "popularity.npy", mmap_mode="r")
        self._share = np.cumsum(popularity)
        self._rng = np.random.default_rng([seed, 2])

    def known(self, many: int) -> list[str]:
        """Any of the known texts, each as often as any other: a beginning counts for the first query that has it."""
        longest, drawn = max(map(len, self._texts)), list[str]()
        while len(drawn) < many:
            query, end = int(self._rng.integers(len(self._texts))), int(self._rng.integers(longest))
            begun = [*cuts(self._texts[query]), self._texts[query]]
            if end < len(begun) and not (query and self._texts[query - 1].startswith(begun[end])):
                drawn.append(begun[end])
        return drawn

    def as_typed(self, many: int) -> list[str]:
        """Beginnings of queries, as often as these are asked, cut anywhere."""
        drawn = np.searchsorted(self._share, self._rng.random(many) * self._share[-1], side="right")
        found = (cuts(self._texts[query]) for query in drawn.tolist())
        return [prefixes[int(self._rng.integers(len(prefixes)))] for prefixes in found]

    def misspelt(self, many: int) -> list[str]:
        """Distinct texts with one typing mistake, which nothing begins with."""
        return self._unknown(many, lambda: mistyped(self.as_typed(1)[0], self._rng, ALPHABET))

    def with_new_words(self, many: int) -> list[str]:
        """Distinct texts with a word that no query has, before, behind or within what people type."""
        return self._unknown(many, self._with_new_word)

    def _with_new_word(self) -> str:
        words = self.as_typed(1)[0].split()
        new = "".join(self._rng.choice(ALPHABET[:-1], self._rng.integers(3, 10)))
        words.insert(int(self._rng.integers(len(words) + 1)), new)
        return " ".join(words)

    def _unknown(self, many: int, draw: Callable[[], str]) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < many:
            if (text := normalise(draw())) and not self._is_known(text):
                found[text] = None
        return list(found)

    def _is_known(self, text: str) -> bool:
        place = bisect_left(self._texts, text)
        return place < len(self._texts) and self._texts[place].startswith(text)
