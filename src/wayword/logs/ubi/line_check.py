"""Checks every line of a file before it is parsed, so that a malformed record is left out and stops nothing.

Only fields that a log is made from are checked, and less strictly than when they are posted: any scalar counts as text,
and sizes may be ten times what the service accepts. A time is never malformed; one that cannot be read is null.
"""

from typing import Annotated, Any

import msgspec

from wayword.logs.ubi.limits import parts
from wayword.logs.ubi.schema import DEEPEST_NESTING, LONGEST_RECORD, LONGEST_TEXT, MOST_FIELDS, MOST_ITEMS

UNREADABLE, WRONG_TYPE, TOO_LARGE, TWICE = REASONS = (
    "unreadable lines",
    "records with a value of the wrong type",
    "records that are too large",
    "records that name a field twice",
)
"""Why lines are left out; an unreadable line is no JSON object."""
TIMES = 10
"""Times the limits of posted records."""

_Text = Annotated[str, msgspec.Meta(max_length=TIMES * LONGEST_TEXT)] | int | float | bool | None
_Texts = Annotated[list[_Text], msgspec.Meta(max_length=TIMES * MOST_ITEMS)] | None


class _Object(msgspec.Struct):
    object_id: _Text = None


class _Position(msgspec.Struct):
    ordinal: _Text = None


class _Completion(msgspec.Struct):
    prefix: _Text = None
    shown: _Texts = None
    mode: _Text = None
    policy: _Text = None
    index: _Text = None
    arm: _Text = None
    typing_session: _Text = None


class _Attributes(msgspec.Struct):
    object: _Object | None = None
    position: _Position | None = None
    completion: _Completion | None = None


class _Line(msgspec.Struct):
    application: _Text = None
    query_id: _Text = None
    client_id: _Text = None
    user_id: _Text = None
    user_query: _Text = None
    action_name: _Text = None
    query_response_hit_ids: _Texts = None
    query_response_object_ids: _Texts = None
    query_response_objects_ids: _Texts = None
    query_attributes: Any = None
    event_attributes: _Attributes | None = None
    source: "_Line | None" = msgspec.field(default=None, name="_source")


_TOO_DEEP = f"nested more than {DEEPEST_NESTING} deep"
_decode = msgspec.json.Decoder(_Line).decode
_decode_all = msgspec.json.Decoder().decode


def problem(line: bytes) -> tuple[str, str] | None:
    """Why a line is left out: one of `REASONS`, and what was found; None for a valid record and for a blank line.

    >>> problem(b'{"user_query": "tv", "query_response_hit_ids": "a"}')
    ('records with a value of the wrong type', 'Expected `array | null`, got `str` - at `$.query_response_hit_ids`')
    """
    if len(line) > LONGEST_RECORD:
        return TOO_LARGE, f"longer than {LONGEST_RECORD:,} bytes"
    try:
        return _excess(_decode(line), line)
    except RecursionError:
        return TOO_LARGE, _TOO_DEEP
    except msgspec.ValidationError as invalid:
        return _kind(str(invalid)), str(invalid)
    except ValueError as invalid:  # not JSON, or not UTF-8
        return (UNREADABLE, str(invalid)) if line.strip() else None


def _excess(record: _Line, line: bytes) -> tuple[str, str] | None:
    if _opened(line) > DEEPEST_NESTING and _depth(_decode_all(line)) > DEEPEST_NESTING:
        return TOO_LARGE, _TOO_DEEP
    attributes = (record.source or record).query_attributes
    if isinstance(attributes, dict) and len(attributes) > TIMES * MOST_FIELDS:
        return TOO_LARGE, f"{len(attributes):,} attributes; expected at most {TIMES * MOST_FIELDS:,}"
    return None


def _kind(message: str) -> str:
    if "of length <=" in message:
        return TOO_LARGE
    return WRONG_TYPE if " - at `$" in message else UNREADABLE


def _opened(line: bytes) -> int:
    """A quick upper bound of the nesting."""
    return line.count(b"{") + line.count(b"[")


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level and depth <= DEEPEST_NESTING:
        level = [inner for one in level for inner in parts(one)]
        depth += 1
    return depth
