"""The page sends the fields of the UBI schema, and names every meaning of a score."""

import re
from importlib.resources import files

from wayword.logs.ubi import schema
from wayword.serving.responses import SCORES

WEB = files("wayword.serving") / "web"


def script(name: str) -> str:
    """A script without its comments."""
    return re.sub(r"//.*|/\*[\s\S]*?\*/", "", (WEB / name).read_text(encoding="utf-8"))


def names(kind: type) -> set[str]:
    """The fields of a record and of its parts."""
    return set(kind.__annotations__)


def test_every_field_that_the_page_sends_is_in_the_schema() -> None:
    known = set().union(
        *map(
            names,
            (schema.Event, schema.Query, schema.Attributes, schema.Object, schema.Position, schema.ShownList),
        )
    )
    sent = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", script("events.js")))
    assert sent - set(schema.COMPLETION_ACTIONS) <= known
    assert {*schema.COMPLETION_ACTIONS, "action_name", "query_id", "user_query", "client_id"} <= sent


def test_the_list_that_was_shown_has_exactly_the_fields_of_the_schema() -> None:
    (returned,) = re.findall(r"return \{ (prefix, .*) \};", script("events.js"))
    fields = re.sub(r": completions\.map\(.*\)(?=,)", "", returned)
    assert set(fields.split(", ")) == names(schema.ShownList)


def test_the_page_names_every_meaning_of_a_score() -> None:
    (table,) = re.findall(r"const SCORES = \{(.*?)\n\};", script("page.js"), re.S)
    assert set(re.findall(r"^  (\w+):", table, re.M)) == set(SCORES)
