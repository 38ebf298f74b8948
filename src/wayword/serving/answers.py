"""Answers: what the service says, as types, and how much of it."""

import msgspec

from wayword.completion.completion import Completion

MOST = 100
"""Completions in one answer."""
LONGEST_USER = 256
SERVED, POPULAR = POLICIES = ("served", "popular")


class Answer(msgspec.Struct):
    """The completions, and which policy, version and arm they come from."""

    prefix: str
    mode: str
    policy: str
    index: str
    arm: str
    completions: list[Completion]


class Error(msgspec.Struct):
    """What was found, what was expected, what to do."""

    error: str


class Stored(msgspec.Struct):
    """How many records are on disk."""

    stored: int


class Health(msgspec.Struct):
    """Which version each arm serves."""

    status: str
    indexes: dict[str, str]


class Decided(msgspec.Struct, forbid_unknown_fields=True):
    """Overrides: what a team decides by hand."""

    deny: list[str] = []
    delete: list[str] = []
    pin: dict[str, list[str]] = {}
