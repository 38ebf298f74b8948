"""Which of the encodings with one byte per letter a text has that is not UTF-8; other scripts are asked for."""

import re
from collections.abc import Sequence
from pathlib import Path

from wayword.errors import LogError

WESTERN, CENTRAL = "windows-1252", "windows-1250"
OTHERS = (
    "windows-1250",
    "windows-1251",
    "shift_jis",
    "gb18030",
    "big5",
    "euc_kr",
    "euc_jp",
    "koi8-r",
    "windows-1253",
    "windows-1256",
)
"""Encodings of scripts whose words have hardly any ASCII letter."""
_RUNS = re.compile(rb"[\x80-\xff]{4,}")
_HIGH = re.compile(rb"[\x80-\xff]")
_SHOWN = 4


def likeliest(lines: Sequence[bytes], *, shown: Path) -> str:
    """Western, or Central European if that explains signs inside words; an error if words have other letters only.

    >>> likeliest(["crème brûlée;1".encode("latin-1")], shown=Path("log.csv"))
    'windows-1252'
    >>> likeliest(["łóżko drewniane;1".encode("cp1250")], shown=Path("log.csv"))
    'windows-1250'
    """
    text = b"\n".join(lines)
    in_runs = sum(map(len, _RUNS.findall(text)))
    if in_runs > 0.5 * len(_HIGH.findall(text)):
        raise LogError(_asked(text, shown))
    return CENTRAL if 2 * _odd(text, CENTRAL) < _odd(text, WESTERN) else WESTERN


def _odd(text: bytes, encoding: str) -> int:
    """How many characters of other encodings' half are no letters, although a letter is beside them."""
    decoded = text.decode(encoding, "replace")
    signs = (place for place, letter in enumerate(decoded) if ord(letter) > 127 and not letter.isalpha())
    return sum(decoded[max(0, p - 1) : p].isalpha() or decoded[p + 1 : p + 2].isalpha() for p in signs)


def _asked(text: bytes, shown: Path) -> str:
    """A message that shows a line in the encodings that can read all of them."""
    previews = []
    for encoding in OTHERS:
        try:
            decoded = text.decode(encoding)
        except UnicodeDecodeError:
            continue
        letters = [letter for letter in decoded if ord(letter) > 127]
        share = sum(letter.isalpha() for letter in letters) / len(letters)
        upper = sum(letter.isupper() for letter in letters) / len(letters)
        previews.append((share - upper, f"  --encoding {encoding}: {decoded.splitlines()[0].strip()[:80]}"))
    best = [line for _, line in sorted(previews, key=lambda one: -one[0])[:_SHOWN]]
    return "\n".join(
        [f"{shown} is neither UTF-8 nor Western text. Give its encoding; a line of it would be:", *best]
    )
