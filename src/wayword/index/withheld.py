"""Withheld queries: what people have typed but others must not be shown.

Nobody means to publish an e-mail address by searching for it. What looks like one, or like a card or phone number, is
withheld by default; so can be what fewer than so many people have searched for.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial

DIGITS = re.compile(r"\d(?:[ .\-/()]{0,2}\d)+", re.ASCII)
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+[. ][^\s@.]{2,}")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+\d|\(?0\d|\(\d)[\d .\-/()]{6,18}\d(?!\w)|(?<!\w)\d{3}[ .\-]\d{3}[ .\-]\d{4}(?!\w)",
    re.ASCII,
)


def looks_like_email(text: str) -> bool:
    """Normalised texts have a space where the address has a dot.

    >>> [looks_like_email(text) for text in ("ann@example.org", "ann@example org", "c@t", "mail @ work")]
    [True, True, False, False]
    """
    return bool(_EMAIL.search(text))


def looks_like_card(text: str) -> bool:
    """13 to 19 digits, however they are grouped, with the check digit that card numbers have.

    >>> [looks_like_card(text) for text in ("4111 1111 1111 1111", "4111-1111-1111-1112", "978 3 16 148410 0")]
    [True, False, False]
    """
    return any(_is_card(re.sub(r"\D", "", found[0])) for found in DIGITS.finditer(text))


def _is_card(digits: str) -> bool:
    return 13 <= len(digits) <= 19 and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def looks_like_phone(text: str) -> bool:
    """8 to 15 digits that begin as phone numbers are written: with +, 0 or a bracket; or 3-3-4 of them.

    >>> [looks_like_phone(text) for text in ("+49 30 1234567", "0301234567", "(212) 555-0123", "212-555-0123")]
    [True, True, True, True]
    >>> [looks_like_phone(text) for text in ("iphone 15 128 gb", "0.5 mm 100 pcs", "9783161484100", "2024-11-16")]
    [False, False, False, False]
    """
    return any(8 <= len(re.sub(r"\D", "", found[0])) <= 15 for found in _PHONE.finditer(text))


PATTERNS: dict[str, Callable[[str], bool]] = {
    "email": looks_like_email,
    "card": looks_like_card,
    "phone": looks_like_phone,
}


def matching(texts: Iterable[str], patterns: Iterable[str]) -> list[bool]:
    """Of each text, whether it looks like one of these."""
    return list(map(partial(_any, [PATTERNS[name] for name in patterns]), texts))


def _any(tests: list[Callable[[str], bool]], text: str) -> bool:
    """Most texts have neither an @ nor seven digits, which is quickly seen."""
    return ("@" in text or sum(map(str.isdigit, text)) >= 7) and any(test(text) for test in tests)
