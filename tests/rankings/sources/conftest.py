"""What the tests of sources share."""

import os

import pytest

from wayword.rankings import asking


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks are short; nothing is flushed to disk, which other tests look at."""
    monkeypatch.setattr(asking, "FIRST_BREAK", 0.01)
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
