"""Records: what sites tell of searches, as events and queries of OpenSearch User Behavior Insights (UBI) 1.3.

An event has an `action_name`, a query has a `user_query` and no `action_name`. Fields that the schema does not name are
kept as they are, so what is read here is checked, not rebuilt.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from wayword.serving.http import Refused, encode

MOST = 1000
"""Records in one request."""
DEEPEST = 32
EVENTS, QUERIES = "ubi_events", "ubi_queries"
_ACTION = {index: b'{"index":{"_index":"%s"}}\n' % index.encode() for index in (EVENTS, QUERIES)}

_DATE = r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"
TIME = rf"^{_DATE}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{{1,6}})?(Z|[+-](0\d|1[0-2]):[0-5]\d)?$"
"""What the description of the interface promises to take; other ways to write a time in ISO 8601 are taken too."""

Time = Annotated[datetime, msgspec.Meta(extra_json_schema={"pattern": TIME})]
Name = Annotated[str, msgspec.Meta(max_length=100)]
Identifier = Annotated[str, msgspec.Meta(max_length=1000)] | int
"""The schema of UBI says 256; a query that was picked may be longer."""


class Object(msgspec.Struct):
    """What was clicked, or picked."""

    object_id: Identifier
    object_id_type: Name | None = None
    object_id_field: Name | None = None
    internal_id: Identifier | None = None


class Position(msgspec.Struct):
    """Where it stood; the first is 1."""

    ordinal: int | None = None


class Shown(msgspec.Struct):
    """Which completions were shown, and by what: Wayword's own part of an event."""

    prefix: Annotated[str, msgspec.Meta(max_length=1000)]
    shown: Annotated[list[Annotated[str, msgspec.Meta(max_length=1000)]], msgspec.Meta(max_length=1000)] = []
    mode: Name | None = None
    policy: Name | None = None
    index: Name | None = None
    arm: Name | None = None


class Attributes(msgspec.Struct):
    """What belongs to the event alone."""

    object: Object | None = None
    position: Position | None = None
    completion: Shown | None = None


class Event(msgspec.Struct):
    """Something that someone did: `completions_shown`, `completion_picked`, `click`, or what else a site tells."""

    action_name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    timestamp: Time | None = None
    application: Name | None = None
    query_id: Name | None = None
    session_id: Name | None = None
    client_id: Name | None = None
    user_id: Name | None = None
    user_query: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    message_type: Name | None = None
    message: Annotated[str, msgspec.Meta(max_length=1024)] | None = None
    event_attributes: Attributes | None = None


class Query(msgspec.Struct):
    """A search, and the documents that it returned in their order."""

    user_query: Annotated[str, msgspec.Meta(max_length=10_000)]
    query_id: Name | None = None
    timestamp: Time | None = None
    application: Name | None = None
    client_id: Name | None = None
    object_id_field: Name | None = None
    query_response_id: Name | None = None
    query_response_hit_ids: Annotated[list[Identifier], msgspec.Meta(max_length=10_000)] | None = None
    query_attributes: dict[str, Any] | None = None


def read(body: bytes) -> list[dict[str, Any]]:
    """One record or a list of them, each checked; raises `Refused`."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError) as problem:
        raise Refused(
            400, f"The body is not JSON: {problem}. Expected a UBI event or query, or a list of them."
        ) from None
    records = found if isinstance(found, list) else [found]
    if not 1 <= len(records) <= MOST:
        raise Refused(400, f"Found {len(records):,} records; expected 1 to {MOST:,} at once.")
    for place, record in enumerate(records):
        _check(record, place)
    return records


def _check(record: Any, place: int) -> None:
    if not isinstance(record, dict):
        raise Refused(400, f"Record {place} is {type(record).__name__}; expected a UBI event or query.")
    kind = Event if "action_name" in record else Query
    if kind is Query and "user_query" not in record:
        raise Refused(400, f"Record {place} has neither action_name (an event) nor user_query (a query).")
    if _depth(record) > DEEPEST:
        raise Refused(400, f"Record {place} is nested more than {DEEPEST} deep.")
    try:
        msgspec.convert(record, kind)
    except (msgspec.ValidationError, ValueError) as problem:
        raise Refused(400, f"Record {place} is no UBI {kind.__name__.lower()}: {problem}") from None


def _depth(value: Any) -> int:
    """How deep it is nested, looked at level by level."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        depth += 1
    return depth


def lines(records: list[dict[str, Any]], now: datetime | None = None) -> bytes:
    """As OpenSearch takes them in bulk: a line that says where it belongs, and the record, with a time."""
    moment = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return b"".join(
        _ACTION[EVENTS if "action_name" in record else QUERIES]
        + encode(record if record.get("timestamp") else {**record, "timestamp": moment})
        + b"\n"
        for record in records
    )
