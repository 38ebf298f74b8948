"""Variants put into a list of queries: plurals by several rules, other word order, spacing, accents, misspellings.

The generator knows which queries are one, so that what `Variants` finds can be counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IRREGULAR = {
    "man": "men",
    "mouse": "mice",
    "child": "children",
    "foot": "feet",
    "person": "people",
    "index": "indices",
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ACCENTS = str.maketrans("aeiouncs", "àéíöüñçš")
Maker = Callable[[list[str], np.random.Generator], list[str] | None]


@dataclass(frozen=True)
class MadeVariants:
    """Sorted `texts` with `searches`; `origin` is the place of the query that each was made from (its own if none)."""

    texts: list[str]
    searches: NDArray[np.int64]
    origin: NDArray[np.int64]
    kind: list[str]
    """How each was made; empty for an original query."""


def plural(words: list[str], rng: np.random.Generator) -> list[str] | None:  # noqa: ARG001
    """English: s, es, ies, ves and the irregular ones, of the last word of letters."""
    word = words[-1]
    if not word.isalpha() or len(word) < 3 or word.endswith(("s", "ing", "ed", "ly")):
        return None
    if word in IRREGULAR:
        made = IRREGULAR[word]
    elif word.endswith(("x", "ch", "sh", "z")):
        made = word + "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        made = word[:-1] + "ies"
    elif word.endswith("fe"):
        made = word[:-2] + "ves"
    else:
        made = word + "s"
    return [*words[:-1], made]


def foreign_plural(words: list[str], rng: np.random.Generator) -> list[str] | None:  # noqa: ARG001
    """As if the language were another one: "en" after consonants, "n" after e."""
    word = words[-1]
    if not word.isalpha() or len(word) < 4 or word.endswith(("s", "n", "a", "i", "o", "u", "y")):
        return None
    return [*words[:-1], word + ("n" if word.endswith("e") else "en")]


def reordered(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """The words in another order."""
    if len(words) < 2:
        return None
    made = [words[place] for place in rng.permutation(len(words))]
    return made if made != words else words[::-1]


def respaced(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """Two words written as one, or one as two."""
    places = [
        place
        for place in range(len(words) - 1)
        if not (words[place][-1].isdigit() and words[place + 1][0].isdigit())
    ]
    if places and rng.random() < 0.6:
        place = int(rng.choice(places))
        return [*words[:place], words[place] + words[place + 1], *words[place + 2 :]]
    long = [place for place, word in enumerate(words) if len(word) >= 6 and word.isalpha()]
    if not long:
        return None
    place = int(rng.choice(long))
    cut = int(rng.integers(2, len(words[place]) - 1))
    return [*words[:place], words[place][:cut], words[place][cut:], *words[place + 1 :]]


def accented(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """One letter of a word with an accent."""
    places = [
        (w, c)
        for w, word in enumerate(words)
        for c, x in enumerate(word)
        if x.translate(ACCENTS) != x and len(word) > 2
    ]
    if not places:
        return None
    w, c = places[int(rng.integers(len(places)))]
    word = words[w]
    return [*words[:w], word[:c] + word[c].translate(ACCENTS) + word[c + 1 :], *words[w + 1 :]]


def repeated(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """A word once more."""
    return [*words, words[int(rng.integers(len(words)))]] if len(words) > 1 else None


def misspelt(words: list[str], rng: np.random.Generator) -> list[str] | None:
    """One edit at any place of a word of four or more letters, two in some of eight or more."""
    long = [place for place, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    if not long:
        return None
    place = int(rng.choice(long))
    word = words[place]
    for _ in range(2 if len(word) >= 8 and rng.random() < 0.3 else 1):
        word = edited(word, rng)
    return None if word == words[place] else [*words[:place], word, *words[place + 1 :]]


def edited(word: str, rng: np.random.Generator) -> str:
    """The word with one edit: a swap, a deletion, a doubled, a replaced or an inserted letter."""
    at = int(rng.integers(len(word) - 1))
    letter = LETTERS[int(rng.integers(len(LETTERS)))]
    return (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
        word[: at + 1] + letter + word[at + 2 :],
        word[: at + 1] + letter + word[at + 1 :],
    )[int(rng.integers(5))]


MAKERS: dict[str, Maker] = {
    "plural": plural,
    "foreign plural": foreign_plural,
    "word order": reordered,
    "spacing": respaced,
    "accents": accented,
    "repeated": repeated,
    "misspelt": misspelt,
}
RARE = {"misspelt", "repeated", "accents", "spacing"}
"""Kinds that are searched far less than what they are made from."""


def make_variants(
    queries: Sequence[str], rng: np.random.Generator, *, share: float = 0.3, foreign: bool = False
) -> MadeVariants:
    """Give the queries Zipf searches, and a share of them one to three variants with fewer searches."""
    originals = list(dict.fromkeys(queries))
    rank = rng.permutation(len(originals)) + 1
    counts = np.maximum(1, (20_000 / rank**0.9).astype(np.int64))
    kinds = [kind for kind in MAKERS if kind not in (("plural",) if foreign else ("foreign plural",))]
    known = dict(zip(originals, counts.tolist(), strict=True))
    made: dict[str, tuple[str, int, str]] = {}
    for query in originals:
        if rng.random() >= share or known[query] < 5:
            continue
        for kind in rng.choice(kinds, int(rng.integers(1, 4)), replace=False).tolist():
            words = MAKERS[kind](query.split(), rng)
            text = " ".join(words) if words else query
            if text in known or text in made:
                continue
            part = rng.uniform(0.005, 0.08) if kind in RARE else rng.uniform(0.02, 0.9)
            made[text] = (query, max(1, int(known[query] * part)), kind)
    texts = sorted([*known, *made])
    place = {text: number for number, text in enumerate(texts)}
    return MadeVariants(
        texts,
        np.array([known.get(text) or made[text][1] for text in texts], np.int64),
        np.array([place[made[text][0]] if text in made else number for number, text in enumerate(texts)]),
        [made[text][2] if text in made else "" for text in texts],
    )
