"""What looks private, and what only looks a little like it."""

import pytest

from wayword.config import WITHHELD, Config
from wayword.errors import ConfigError
from wayword.privacy_filter import PATTERNS, matching, matching_prefixes
from wayword.text import normalise

PRIVATE = [
    "ann@example.org",
    "mail to ann.lee+x@mail.example.co.uk now",
    "4111 1111 1111 1111",
    "4111 1111 1111 1111 12/27",
    "4111111111111111 123",
    "card 2 4111111111111111",
    "5500-0000-0000-0004",
    "+49 30 1234567",
    "0301234567 0307654321",
    "call (212) 555-0123 please",
    "212-555-0123",
    "٠٣٠١٢٣٤٥٦٧",
]
HARMLESS = [
    "",
    "iphone 15 128 gb",
    "9783161484100",
    "isbn 978-3-16-148410-0",
    "2024-11-16",
    "0.5 mm 100 pcs",
    "10 000 000 000 euro",
    "c@t",
    "@home",
    "usb 3.0 hub 2.0 1080p",
    "ab0123456789",
    "1234567890123456",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_private_texts_are_seen_as_typed_or_normalised(text: str) -> None:
    assert matching([text], PATTERNS) == [True]
    if "+" not in text and "(" not in text:  # without which a number is only a number
        assert matching([normalise(text)], PATTERNS) == [True]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_are_not(text: str) -> None:
    assert matching([text, normalise(text)], PATTERNS) == [False, False]


def test_what_can_be_asked_for_is_what_there_is() -> None:
    assert tuple(PATTERNS) == WITHHELD
    assert Config.parse({"index": {"withhold": ""}}).index.withhold == ""
    with pytest.raises(ConfigError, match=r"'iban' in index\.withhold; expected any of email, card, phone"):
        Config.parse({"index": {"withhold": "email iban"}})


def test_only_what_is_asked_for_is_withheld() -> None:
    assert matching(PRIVATE[:3], ["card"]) == [False, False, True]
    assert matching(PRIVATE, []) == [False] * len(PRIVATE)
    assert matching_prefixes(["bob ray@ex", "bob ray@", "bob ray"], ["card"]) == [False] * 3
    assert matching_prefixes(["bob ray@ex", "bob ray@", "bob ray"], ["email"]) == [True, True, False]


def test_very_long_texts_take_no_longer_than_they_are_long() -> None:
    """Both patterns that could look back and forth; these would take minutes if they did."""
    texts = ["a" * 200_000 + " @", "1 " * 50_000, "+" * 100_000 + "1234567", "a@" * 50_000, "0" * 100_000]
    assert matching(texts, PATTERNS) == [False] * len(texts)
