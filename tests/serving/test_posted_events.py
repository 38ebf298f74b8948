"""What `POST /events` accepts is bounded, and `wayword ubi` reads all of it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayword
from wayword.config import Config
from wayword.logs.ubi import line_check
from wayword.logs.ubi.schema import Event, Query
from wayword.serving import events
from wayword.serving.http import Refused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLICK = {"action_name": "click", "query_id": "q"}
QUERY = {"user_query": "tv", "query_id": "q"}


def posted(*records: dict[str, Any]) -> bytes:
    """The lines that a server stores."""
    return events.lines(events.read(json.dumps(records).encode(), NOW), NOW)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            QUERY | {"query_attributes": {f"a{n}": n for n in range(5000)}},
            "5,000 fields; expected at most 100",
        ),
        (QUERY | {f"a{n}": n for n in range(100)}, "102 fields; expected at most 100"),
        (QUERY | {"more": {"x": {f"a{n}": n for n in range(101)}}}, "101 fields"),
        (QUERY | {"a" * 1001: 1}, "name of 1,001 characters; expected at most 1,000"),
        (QUERY | {"query_attributes": {"a" * 101: 1}}, "length <= 100 - at `key`"),
        (QUERY | {"more": "x" * 10_001}, "text of 10,001 characters; expected at most 10,000"),
        (QUERY | {"query_attributes": {"a": "x" * 1001}}, "length <= 1000"),
        (QUERY | {"query_response_hit_ids": ["d"] * 1001}, "list of 1,001 items; expected at most 1,000"),
        (QUERY | {"more": [[0] * 1001]}, "list of 1,001 items"),
        (QUERY | {"user_query": "x" * 10_001}, "text of 10,001 characters"),
        (CLICK | {"event_attributes": {"position": {"ordinal": 10_001}}}, "<= 10000"),
        (CLICK | {"event_attributes": {"position": {"ordinal": -1}}}, ">= 0"),
        (
            CLICK | {"event_attributes": {"completion": {"prefix": "v", "typing_session": "x" * 101}}},
            "length <= 100",
        ),
        (
            CLICK | {"event_attributes": {"completion": {"prefix": "v", "typing_session": ["x"]}}},
            "Expected `str",
        ),
        (CLICK | {"query_response_hit_ids": "d"}, "wrong type"),
        (CLICK | {"_source": [1]}, "wrong type"),
    ],
)
def test_what_exceeds_a_limit_is_refused_with_what_was_found(record: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match="Record 1 ") as refused:
        posted(CLICK, record)
    assert refused.value.status == 400
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("stamp", "kept"),
    [
        ("2026-01-01T20:00:00Z", True),
        ("2025-01-01T20:00:00", True),
        ("2099-01-01T00:00:00Z", False),
        ("1969-12-31T23:59:59Z", False),
        ("0001-01-01T00:00:00+12:00", False),
        ("9999-12-31T23:59:59-12:00", False),
    ],
)
def test_an_impossible_time_is_that_of_the_arrival(stamp: str, kept: bool) -> None:
    stored = json.loads(posted(QUERY | {"timestamp": stamp}).splitlines()[1])
    assert stored["timestamp"] == (stamp if kept else "2026-01-01T00:00:00.000Z")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [field.name for kind in (Query, Event) for field in msgspec.structs.fields(kind)]
names = st.sampled_from([*FIELDS, "_source", "index", "create", "more"])


@given(st.lists(st.dictionaries(names, anything, max_size=6), min_size=30, max_size=60))
@settings(max_examples=6)
def test_what_is_accepted_is_never_malformed(tmp_path_factory: Any, drawn: list[dict[str, Any]]) -> None:
    stored = posted(QUERY)
    for record in drawn:
        for needed in (QUERY, CLICK):
            try:
                stored += posted(needed | record)
            except Refused:
                continue
    folder: Path = tmp_path_factory.mktemp("posted")
    (folder / "ubi.ndjson").write_bytes(stored)
    report = wayword.read_ubi(folder, out=folder / "log").report
    assert not any(report[reason] for reason in line_check.REASONS)
    assert report["records cut off at the end of a file"] == 0


def shop(searches: int) -> list[dict[str, Any]]:
    """Searches for one of five texts, each with a click and a price."""
    times = {"timestamp": "2025-06-01T00:00:00Z"}
    asked = [
        {"user_query": f"tv {n % 5}", "query_id": f"{n}", "query_response_hit_ids": ["a", "b"]}
        | {"query_attributes": {"price": n}, **times}
        for n in range(searches)
    ]
    clicked = {"event_attributes": {"object": {"object_id": "a"}, "position": {"ordinal": 1}}}
    return asked + [{"action_name": "click", "query_id": f"{n}", **clicked, **times} for n in range(searches)]


EVIL: list[dict[str, Any]] = [
    *(
        {"query_attributes": {"price": price}}
        for price in ("cheap", 1e200, "Infinity", "nan", "1e999", -1e308)
    ),
    {"query_attributes": {f"a{n}": "x" for n in range(100)}},
    {
        "query_attributes": {
            "search": 1,
            "context": "x",
            "split": 2,
            "Prefix": 1,
            "ı": 2,
            "İ": 3,
            "x\ny": "\0",
        }
    },
    {"user_query": "x" * 10_000},
    {"user_query": "a" + "\u0301" * 9_999},
    {"user_query": "tv 1", "query_response_hit_ids": ["false"]},
    {"user_query": "a\0b\nc", "query_response_hit_ids": ["\0", "d\nd", " "]},
    {"timestamp": "0001-01-01T00:00:00+12:00"},
    {"timestamp": "2025-06-01t00:00:00z"},
]
WRONG_CLICKS = [("unknown", 1), ("a", 10_000), ("b", 0), ("\0", 3)]


@pytest.mark.parametrize("split", ["hash", "time"])
def test_no_posted_record_stops_a_run_on_the_log(tmp_path: Path, split: str) -> None:
    posts = shop(700)
    for number, evil in enumerate(EVIL):
        posts.append(
            {"user_query": "evil", "query_id": f"evil {number}", "query_response_hit_ids": ["a"]} | evil
        )
    for document, ordinal in WRONG_CLICKS:
        where = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
        posts.append({"action_name": "click", "query_id": "7", "event_attributes": where})
    (tmp_path / "ubi.ndjson").write_bytes(posted(*posts[:900]) + posted(*posts[900:]))
    log = wayword.read_ubi(tmp_path, out=tmp_path / "log")
    assert log.first_ordinals == {"": 1}
    assert log.context == ["price"]
    assert log.report["attributes that are no context columns"] == 100 + 6
    assert log.report["values that do not fit their context column"] == 6
    prices = pq.read_table(log.clicks)["price"].drop_null().unique().to_pylist()
    assert sorted(map(float, prices)) == list(map(float, range(700)))
    config = Config.parse({"log": {"split": split}, "evaluation": {"bootstrap": 20}})
    report = wayword.run(log.clicks, log.rankings, out=tmp_path / "workspace", config=config).report(
        "rankings"
    )
    assert report["clicks on documents that no ranking contains"] == 1
