"""Text normalisation and prefixes, for the log, the rankings and every served prefix.

The rule, in this order:

1. Unicode NFKC, then case folding ("Straße" → "strasse", "Ｗｉｄｅ" → "wide").
2. Apostrophes are removed ("don't" → "dont"); so are invisible format characters, except the two joiners that
   scripts and emoji need, unless a word starts with one.
3. Every other punctuation character becomes a space, except ``# % & * @``, which are parts of names ("c#", "at&t").
   Symbols are not punctuation and stay ("c++", "5€"). Control characters become spaces.
4. White space is one space between words, none at the ends.

A text of punctuation alone keeps it ("???" stays "???"). Only a text without visible characters becomes empty.

>>> normalise("  Real-time  Strategy: Don’t Ｐａｎｉｃ! ")
'real time strategy dont panic'
>>> cuts("tv stand", start="characters", min_chars=2)
['tv', 'tv s', 'tv st', 'tv sta', 'tv stan']
>>> cuts("tv stand", start="first-word")
['tv', 'tv s', 'tv st', 'tv sta', 'tv stan']
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import regex

APOSTROPHES = "'\u2018\u2019\u02bc\u0060\u00b4"
KEPT_PUNCTUATION = "#%&*@"
JOINERS = "\u200c\u200d"
LONGEST_CUT = 1000
"""Maximum length of a prefix in characters; it bounds the number of cuts of a long text."""
_PIECE = 16
_GRAPHEME = regex.compile(r"\X")
_VISIBLE_FORMAT = regex.compile(r"\p{Prepended_Concatenation_Mark}")


@lru_cache(maxsize=1 << 14)
def _replacement(character: str) -> str:
    """The replacement of one character (NFKC, case-folded)."""
    category = unicodedata.category(character)
    if character in APOSTROPHES:
        return ""
    if character in JOINERS or character in KEPT_PUNCTUATION:
        return character
    if category == "Cf":
        return ""
    return " " if category[0] in "PZ" or category in ("Cc", "Cs") else character


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _squeeze(text: str) -> str:
    """Join words with single spaces, without joiners at the start of a word."""
    return " ".join(word for part in text.split() if (word := part.lstrip(JOINERS)))


_ASCII = {code: _replacement(chr(code)) or None for code in range(128)}


def normalise(text: str) -> str:
    """The form in which texts are compared; `normalise(normalise(t)) == normalise(t)`."""
    if text.isascii() and (plain := " ".join(text.lower().translate(_ASCII).split())):
        return plain  # fast path: ASCII characters are replaced one by one
    return _normalised(text)


def normalise_within(text: str, most: int) -> str:
    """Normalise the beginning of a text, with at most `most` characters before and after, in time to match.

    One character may become 18, and each costs the same time: those that cannot be kept are cut off before.

    >>> normalise_within("TV  Stand!", 5), len(normalise_within("\ufdfa" * 5000, 1000))
    ('tv s', 1000)
    """
    text = text[:most]
    if not text.isascii():
        text = text[: _kept(text, most)]
    plain = normalise(text)
    return plain if len(plain) <= most else normalise(plain[:most])


def _kept(text: str, most: int) -> int:
    """How many characters of a text become about `most` by NFKC."""
    size = 0
    for begin in range(0, len(text), _PIECE):
        size += len(unicodedata.normalize("NFKC", text[begin : begin + _PIECE]))
        if size >= most:
            return begin + _PIECE
    return len(text)


def _normalised(text: str) -> str:
    folded = _fold(text)
    plain = _fold(_squeeze("".join(map(_replacement, folded))))
    if not plain:
        return _squeeze("".join(map(_if_visible, folded)))
    return plain if plain == _squeeze("".join(map(_replacement, plain))) else _normalised(plain)


def _if_visible(character: str) -> str:
    """The replacement of one character in a text of punctuation alone."""
    category = unicodedata.category(character)
    if category == "Cf":
        return character if _VISIBLE_FORMAT.match(character) else ""
    return " " if category in ("Cc", "Cs") else character


def normalise_distinct(texts: Iterable[str]) -> dict[str, str]:
    """Map each distinct text to its normal form."""
    return {text: normalise(text) for text in dict.fromkeys(texts)}


def grapheme_count(text: str) -> int:
    """Number of graphemes (visible characters) of a normalised text.

    >>> grapheme_count("👩‍🚀 moon")
    6
    """
    return len(text) if text.isascii() else sum(1 for _ in _GRAPHEME.finditer(text))


def cut_ends(text: str, *, start: str = "characters", min_chars: int = 1) -> list[int]:
    """End positions of the admissible cuts of a normalised query; see `cuts`."""
    whole = len(text)
    text = text[: LONGEST_CUT + 1]
    ends = (
        [match.end() for match in _GRAPHEME.finditer(text)] if not text.isascii() else range(1, len(text) + 1)
    )
    first_word = len(text.split(" ", 1)[0]) if start == "first-word" else 0
    return [
        end
        for count, end in enumerate(ends, start=1)
        if end < whole
        and end <= LONGEST_CUT
        and count >= min_chars
        and end >= first_word
        and text[end - 1] != " "
    ]


def cuts(text: str, *, start: str = "characters", min_chars: int = 1) -> list[str]:
    """The admissible prefixes of a normalised query, shortest first: the texts a user may have typed before it.

    A cut falls between two graphemes, is shorter than the query and at most `LONGEST_CUT` long, and does
    not end in white space (a typed trailing space is normalised away). `start="characters"` admits every cut of at
    least `min_chars` graphemes; `start="first-word"` those of them that do not end before the first word does, as in
    the paper.

    >>> cuts("👩‍🚀 moon", start="characters")  # the astronaut is one grapheme of three code points
    ['👩‍🚀', '👩‍🚀 m', '👩‍🚀 mo', '👩‍🚀 moo']
    >>> cuts("firefox", start="first-word")
    []
    """
    return [text[:end] for end in cut_ends(text, start=start, min_chars=min_chars)]
