"""JSON responses of the service, as types that OpenAPI publishes too."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

ScoreMeaning = Literal["list_value", "expected_utility", "search_share"]
SCORES: dict[ScoreMeaning, str] = {
    "list_value": "The suggestion's share of the list's value, in searches found: 1 is what typing on finds.",
    "expected_utility": "Expected utility, relative to typing on: 1 is as useful as to type on.",
    "search_share": "Share of the searches for queries that begin with the typed text.",
}
"""The meanings that `score` may have. All scores of one response have the same."""


def score_meaning(about: Mapping[str, Any]) -> ScoreMeaning:
    """The meaning of the scores of an index, by its settings.

    >>> score_meaning({"policy": "expected"}), score_meaning({"policy": "wayword"})
    ('expected_utility', 'list_value')
    """
    return "expected_utility" if about["policy"] == "expected" else "list_value"


class CompletionBody(msgspec.Struct, gc=False):
    """A suggested query, its score, and how the text was matched."""

    query: str
    score: float
    source: str


class CompletionResponse(msgspec.Struct):
    """The completions, with the policy, the index version and the arm that they come from."""

    prefix: str
    mode: str
    policy: str
    index: str
    arm: str
    score_is: ScoreMeaning
    completions: list[CompletionBody]


class Error(msgspec.Struct):
    """An error: what was found, what was expected, what to do."""

    error: str


class Stored(msgspec.Struct):
    """Number of records that are on disk."""

    stored: int


class Health(msgspec.Struct):
    """`degraded` if not the current files are served, `failing` if the service does not work; the index of each arm."""

    status: Literal["ok", "degraded", "failing"]
    indexes: dict[str, str]
    index_age_seconds: dict[str, float]
    """How long ago each index was made."""
    checked_seconds_ago: float
    """When the index was last looked for."""
    free_bytes: int
    """Free space for events."""
    reasons: list[str]


class OverridesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Manual overrides: denied, deleted and pinned queries."""

    deny: list[str] = []
    delete: list[str] = []
    pin: dict[str, list[str]] = {}
