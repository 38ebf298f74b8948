"""The schema of OpenSearch User Behavior Insights (UBI) 1.3: one for the service, the parser of logs and the page.

An event has an `action_name`, a query has a `user_query` and no `action_name`. Fields that the schema does not name are
allowed and kept.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec

EVENTS, QUERIES = "ubi_events", "ubi_queries"
"""The indexes of OpenSearch that hold the records."""
TYPING_SESSION = "typing_session"
"""The attribute of a query that names its typing session."""
SHOWN, PICKED = COMPLETION_ACTIONS = ("completions_shown", "completion_picked")
"""Wayword's own actions."""
_DATE = r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"
TIME = rf"^{_DATE}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{{1,6}})?(Z|[+-](0\d|1[0-2]):[0-5]\d)?$"
"""The format of times that OpenAPI promises; other forms of ISO 8601 are accepted too."""

OTHER_HITS = ("query_response_object_ids", "query_response_objects_ids")
"""Other spellings of `query_response_hit_ids`, in documentation and plugins."""
DEEPEST_RANK = 10_000
"""Deeper positions are mistakes: one click there would weigh as much as ten thousand at the top."""
DEEPEST_NESTING = 32
LONGEST_RECORD = 1 << 22
"""Bytes of a record."""
MOST_FIELDS, LONGEST_FIELD = 100, 1000
"""Fields of an object, and characters of their names."""
LONGEST_NAME = 100
"""Characters of an attribute's name, and of identifiers."""
MOST_ITEMS, LONGEST_TEXT = 1000, 10_000
"""Items of a list, and characters of any text."""
LONGEST_VALUE = 1000
"""Characters of an attribute's value."""

Time = Annotated[datetime, msgspec.Meta(extra_json_schema={"pattern": TIME})]
Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
Value = Annotated[str, msgspec.Meta(max_length=LONGEST_VALUE)] | int | float | bool | None
Hit = Annotated[str, msgspec.Meta(max_length=256)] | int
Identifier = Annotated[str, msgspec.Meta(max_length=1000)] | int
"""The schema of UBI says 256; a query that was picked may be longer."""


class Object(msgspec.Struct):
    """A document that was clicked, or a query that was picked."""

    object_id: Identifier
    object_id_type: Name | None = None
    object_id_field: Name | None = None
    internal_id: Identifier | None = None


class Position(msgspec.Struct):
    """The position in the list; the first is 1."""

    ordinal: Annotated[int, msgspec.Meta(ge=0, le=DEEPEST_RANK)] | None = None


class ShownList(msgspec.Struct):
    """The list of completions that was shown: Wayword's own attribute of an event."""

    prefix: Annotated[str, msgspec.Meta(max_length=1000)]
    shown: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=1000)]], msgspec.Meta(max_length=MOST_ITEMS)
    ] = []
    mode: Name | None = None
    policy: Name | None = None
    index: Name | None = None
    arm: Name | None = None
    typing_session: Name | None = None
    """Unique for the lists between the first character and the search; `session_id` is that of a whole visit."""


class Attributes(msgspec.Struct):
    """Attributes of an event."""

    object: Object | None = None
    position: Position | None = None
    completion: ShownList | None = None


class Event(msgspec.Struct):
    """An action of a user: `completions_shown`, `completion_picked`, `click`, or any other that a site records."""

    action_name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    timestamp: Time | None = None
    application: Name | None = None
    query_id: Name | None = None
    session_id: Name | None = None
    client_id: Name | None = None
    user_id: Name | None = None
    user_query: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] | None = None
    message_type: Name | None = None
    message: Annotated[str, msgspec.Meta(max_length=1024)] | None = None
    event_attributes: Attributes | None = None


class Query(msgspec.Struct):
    """A search, and the documents that it returned, in order.

    `query_attributes.typing_session` is the id of the lists that were shown while it was typed.
    """

    user_query: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
    query_id: Name | None = None
    timestamp: Time | None = None
    application: Name | None = None
    client_id: Name | None = None
    object_id_field: Name | None = None
    query_response_id: Name | None = None
    query_response_hit_ids: Annotated[list[Hit], msgspec.Meta(max_length=MOST_ITEMS)] | None = None
    query_attributes: (
        Annotated[dict[Name, Value | dict[str, Any] | list[Any]], msgspec.Meta(max_length=MOST_FIELDS)] | None
    ) = None


UNREAD = frozenset(
    ("session_id", "message_type", "message", "object_id_type", "object_id_field", "internal_id")
) | {"query_response_id"}
"""Fields that no log is made from."""


def json_structure(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields of a record as DuckDB's `from_json` takes them: text where the schema has a scalar.

    >>> json_structure(Position), json_structure(Object)
    ({'ordinal': 'VARCHAR'}, {'object_id': 'VARCHAR'})
    """
    described = msgspec.inspect.type_info(kind)
    fields = described.fields if isinstance(described, msgspec.inspect.StructType) else ()
    return {field.name: _column(field.type) for field in fields if field.name not in UNREAD}


def _column(described: msgspec.inspect.Type) -> Any:
    if isinstance(described, msgspec.inspect.UnionType):
        described = next(one for one in described.types if not isinstance(one, msgspec.inspect.NoneType))
    if isinstance(described, msgspec.inspect.StructType):
        return json_structure(described.cls)
    if isinstance(described, msgspec.inspect.ListType):
        return [_column(described.item_type)]
    return "JSON" if isinstance(described, msgspec.inspect.DictType) else "VARCHAR"
