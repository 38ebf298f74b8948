"""Posted UBI records: parsed, checked, and written as the lines of OpenSearch's bulk format.

A record is checked against the schema but stored as it was sent, with the fields that the schema does not name.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from wayword.logs.ubi import line_check
from wayword.logs.ubi.limits import excess
from wayword.logs.ubi.schema import EVENTS, QUERIES, Event, Query
from wayword.serving.http import Refused, encode

MOST = 1000
"""Records in one request."""
MOST_VALUES = 50_000
"""Values in one request, counted by commas and brackets: each takes time to check."""
EARLIEST, AHEAD = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1)
"""A time before this, or so far ahead of the server's, is a mistake: the record gets the time of its arrival."""
_ACTION = {index: b'{"index":{"_index":"%s"}}\n' % index.encode() for index in (EVENTS, QUERIES)}


def read(body: bytes, now: datetime | None = None) -> list[dict[str, Any]]:
    """Parse one record or a list of them and check each; raises `Refused`.

    What passes is never left out by `wayword ubi` as malformed, so no posted record can stop a log.
    """
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
    latest = (now or datetime.now(UTC)) + AHEAD
    return [_checked(record, place, latest) for place, record in enumerate(records)]


def _without_surrogates(body: bytes) -> bytes:
    """Replace unpaired surrogates, which JavaScript writes for half an emoji, by question marks."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")


def _checked(record: Any, place: int, latest: datetime) -> dict[str, Any]:
    """The record, without its time if that is impossible."""
    if not isinstance(record, dict):
        raise Refused(400, f"Record {place} is {type(record).__name__}; expected a UBI event or query.")
    kind: type[Event] | type[Query] = Event if "action_name" in record else Query
    if kind is Query and "user_query" not in record:
        raise Refused(400, f"Record {place} has neither action_name (an event) nor user_query (a query).")
    if found := excess(record):
        raise Refused(400, f"Record {place} {found}.")
    try:
        time = msgspec.convert(record, kind).timestamp
    except (msgspec.ValidationError, ValueError) as problem:
        raise Refused(400, f"Record {place} is no UBI {kind.__name__.lower()}: {problem}") from None
    if unusable := line_check.problem(encode(record)):
        raise Refused(400, f"Record {place} is one of the {unusable[0]}: {unusable[1]}.")
    if time is not None and not EARLIEST <= (time if time.tzinfo else time.replace(tzinfo=UTC)) <= latest:
        return {name: value for name, value in record.items() if name != "timestamp"}
    return record


def lines(records: list[dict[str, Any]], now: datetime | None = None) -> bytes:
    """The lines of the bulk format: the index and the record of each; a record without a time gets this one."""
    moment = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return b"".join(
        _ACTION[EVENTS if "action_name" in record else QUERIES]
        + encode(record if record.get("timestamp") else {**record, "timestamp": moment})
        + b"\n"
        for record in records
    )
