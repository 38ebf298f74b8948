"""Privacy filter: queries that look like personal data and must not be suggested to others.

Queries that look like an e-mail address, a card number or a phone number are withheld by default. Queries with few
users can be withheld too (`[index] min_users`); see `anonymous_demand` for what remains of these.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import partial

_EMAIL = re.compile(r"[^\s@]@[^\s@]{1,255}[. ][^\s@.]{2,}")
_EMAIL_BEGUN = re.compile(r"[^\s@]@")
_RUN = re.compile(r"(?<!\w)[+(]{0,2}\d+(?:[ .\-/()]{1,2}\d+)*(?!\w)")
"""Groups of digits with separators."""
_GROUP = re.compile(r"([+(]*)(\d+)")
MAX_GROUPS = 12
"""Maximum number of digit groups in one number."""


def looks_like_email(text: str) -> bool:
    """Whether a text contains an e-mail address; normalisation turns its dot into a space.

    >>> [looks_like_email(text) for text in ("ann@example.org", "ann@example org", "c@t", "mail @ work")]
    [True, True, False, False]
    """
    return bool(_EMAIL.search(text))


def looks_like_card(text: str) -> bool:
    """Whether a text contains 13 to 19 digits, in any grouping, with a valid Luhn check digit.

    >>> [looks_like_card(text) for text in ("4111 1111 1111 1111", "4111-1111-1111-1112", "978 3 16 148410 0")]
    [True, False, False]
    >>> looks_like_card("visa 4111111111111111 12/27 123")
    True
    """
    return any(
        13 <= len(number) <= 19 and _luhn(number)
        for groups in _runs(text)
        for number in _numbers([digits for _, digits in groups])
    )


def _luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def looks_like_phone(text: str) -> bool:
    """Whether a text contains 8 to 15 digits that start with +, 0 or a bracket, or groups of 3, 3 and 4 digits.

    >>> [looks_like_phone(text) for text in ("+49 30 1234567", "0301234567", "(212) 555-0123", "212-555-0123")]
    [True, True, True, True]
    >>> [looks_like_phone(text) for text in ("iphone 15 128 gb", "0.5 mm 100 pcs", "9783161484100", "2024-11-16")]
    [False, False, False, False]
    """
    return any(map(_has_phone, _runs(text)))


def _has_phone(groups: list[tuple[str, str]]) -> bool:
    lengths = [len(digits) for _, digits in groups]
    if any(lengths[place : place + 3] == [3, 3, 4] for place in range(len(lengths))):
        return True
    starts = [
        place
        for place, (sign, digits) in enumerate(groups)
        if sign or (digits.startswith("0") and (place == 0 or lengths[place - 1] >= 8))
    ]
    return any(
        8 <= sum(lengths[place:last]) <= 15
        for place in starts
        for last in range(place + 1, min(place + MAX_GROUPS, len(groups)) + 1)
    )


def _runs(text: str) -> Iterator[list[tuple[str, str]]]:
    """Adjacent groups of digits of any script, each with the + or bracket before it."""
    plain = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in text)
    for run in _RUN.finditer(plain):
        yield _GROUP.findall(run[0])


def _numbers(groups: list[str]) -> Iterator[str]:
    """Every number formed by consecutive groups."""
    for first in range(len(groups)):
        for last in range(first + 1, min(first + MAX_GROUPS, len(groups)) + 1):
            yield "".join(groups[first:last])


PATTERNS: dict[str, Callable[[str], bool]] = {
    "email": looks_like_email,
    "card": looks_like_card,
    "phone": looks_like_phone,
}


def matching(texts: Iterable[str], patterns: Iterable[str]) -> list[bool]:
    """Whether each text matches one of the patterns."""
    return list(map(partial(_any, [PATTERNS[name] for name in patterns]), texts))


def matching_prefixes(texts: Iterable[str], patterns: Iterable[str]) -> list[bool]:
    """Whether each prefix matches one of the patterns or the start of an e-mail address.

    >>> matching_prefixes(["bob ray@exa", "mail @ home"], ["email"])
    [True, False]
    """
    names = list(patterns)
    tests = [PATTERNS[name] for name in names]
    if "email" in names:
        tests.append(lambda text: bool(_EMAIL_BEGUN.search(text)))
    return list(map(partial(_any, tests), texts))


def _any(tests: list[Callable[[str], bool]], text: str) -> bool:
    """Whether a test matches. Texts without an @ and with fewer than seven digits are skipped, which is fast."""
    return ("@" in text or sum(map(str.isdigit, text)) >= 7) and any(test(text) for test in tests)
