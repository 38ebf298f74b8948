"""Posted UBI records: parsed, checked, and written as the lines of OpenSearch's bulk format.

A record is checked against the schema but stored as it was sent, with the fields that the schema does not name.
"""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from wayword.logs.ubi.schema import EVENTS, QUERIES, Event, Query
from wayword.serving.http import Refused, encode

MOST = 1000
"""Records in one request."""
MOST_VALUES = 50_000
"""Values in one request, counted by commas and brackets: each takes time to check."""
DEEPEST = 32
_ACTION = {index: b'{"index":{"_index":"%s"}}\n' % index.encode() for index in (EVENTS, QUERIES)}


def read(body: bytes) -> list[dict[str, Any]]:
    """Parse one record or a list of them and check each; raises `Refused`."""
    if (values := sum(map(body.count, (b",", b"[", b"{")))) > MOST_VALUES:
        raise Refused(413, f"Found {values:,} values; send at most {MOST_VALUES:,} at once.")
    try:
        decoded = msgspec.json.decode(_without_surrogates(body))
    except (msgspec.DecodeError, RecursionError, ValueError) as problem:
        raise Refused(
            400, f"The body is not JSON: {problem}. Expected a UBI event or query, or a list of them."
        ) from None
    records = decoded if isinstance(decoded, list) else [decoded]
    if not 1 <= len(records) <= MOST:
        raise Refused(400, f"Found {len(records):,} records; expected 1 to {MOST:,} at once.")
    for place, record in enumerate(records):
        _check(record, place)
    return records


def _without_surrogates(body: bytes) -> bytes:
    """Replace unpaired surrogates, which JavaScript writes for half an emoji, by question marks."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")


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
    """The depth of nesting, level by level."""
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
    """The lines of the bulk format: the index and the record of each; a record without a time gets this one."""
    moment = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return b"".join(
        _ACTION[EVENTS if "action_name" in record else QUERIES]
        + encode(record if record.get("timestamp") else {**record, "timestamp": moment})
        + b"\n"
        for record in records
    )
