"""Lists shown and what was taken from them: the rules one by one, and all of them against a slow reading."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typing_session_reference
from hypothesis import given, settings
from hypothesis import strategies as st
from ubi_reference import Reading, Record, at, bare, bulk, click, pick, query, shown

import wayword
from commands import wayword as command
from wayword.logs.ubi.read import UbiLog
from wayword.logs.ubi.typing_sessions import CONTRADICTORY, DOUBTFUL, NO_LIST, NO_SESSION, REASONS, REPEATED

OTHER = query("other", "mail", 100)
V, VI = ["vlc", "video"], ["video player", "video"]
BRIEF = ("typing_session", "position_in_session", "prefix", "taken", "query", "search_id")
SCHEMA = {
    "typing_session": pa.string(),
    "position_in_session": pa.int32(),
    "user": pa.string(),
    "time": pa.timestamp("us", "UTC"),
    "prefix": pa.string(),
    "shown": pa.list_(pa.string()),
    "taken": pa.int32(),
    "query": pa.string(),
    "search_id": pa.string(),
    **dict.fromkeys(("mode", "policy", "index", "arm"), pa.string()),
}


def searched(query_id: str, text: str, seconds: float, session: str | None = "s", **other: Any) -> Record:
    attributes = {"query_attributes": {"typing_session": session}} if session else {}
    return query(query_id, text, seconds, **attributes, **other)


def typed(session: str | None = "s", **other: Any) -> list[Record]:
    """Two lists on the way to a query."""
    return [
        shown("v", V, session=session, seconds=1, **other),
        shown("vi", VI, session=session, seconds=2, **other),
    ]


def read(folder: Path, records: list[Record], **options: Any) -> UbiLog:
    (folder / "ubi.ndjson").write_bytes(bare([*records, OTHER]))
    return wayword.read_ubi(folder / "ubi.ndjson", out=folder / "log", **options)


def rows(log: UbiLog, *names: str) -> list[tuple[Any, ...]]:
    return [
        tuple(row.values())
        for row in pq.read_table(log.completions, columns=list(names or BRIEF)).to_pylist()
    ]


def left_out(log: UbiLog) -> dict[str, int]:
    return {reason: log.report[reason] for reason in REASONS if log.report[reason]}


# --- sessions


def test_every_list_is_a_row_with_what_was_taken_and_the_search_that_followed(tmp_path: Path) -> None:
    records = [
        *typed(query_id="q"),
        pick("q", "video", "vi", shown=VI, ordinal=2, seconds=3, session="s"),
        searched("q", "video", 4, query_response_hit_ids=["a"]),
    ]
    log = read(tmp_path, records)
    assert rows(log) == [("s", 0, "v", None, "video", "q"), ("s", 1, "vi", 2, "video", "q")]
    assert rows(log, "user", "shown", "mode", "policy", "index", "arm") == [
        ("c", V, "any", "expected", "i", "a"),
        ("c", VI, "any", "expected", "i", "a"),
    ]
    assert [time.isoformat() for (time,) in rows(log, "time")] == [at(1), at(2)]
    schema = pq.read_schema(log.completions)
    assert dict(zip(schema.names, schema.types, strict=True)) == SCHEMA
    assert left_out(log) == {}
    clicks = pq.read_table(log.clicks)
    assert clicks["prefix"].to_pylist() == ["vi", None]
    assert clicks.column_names == ["query", "document", "rank", "search_id", "user", "time", "prefix"]


def test_where_nothing_was_taken_the_query_that_followed_is_known(tmp_path: Path) -> None:
    log = read(tmp_path, [*typed(), searched("the server's own id", "violin", 4, client_id="another name")])
    assert rows(log) == [
        ("s", 0, "v", None, "violin", "the server's own id"),
        ("s", 1, "vi", None, "violin", "the server's own id"),
    ]
    assert log.report["lists that no search followed"] == 0


def test_lists_that_nothing_followed_are_kept_if_they_have_an_id(tmp_path: Path) -> None:
    log = read(tmp_path, [*typed(), shown("x", V, seconds=9)])
    assert rows(log) == [("s", 0, "v", None, None, None), ("s", 1, "vi", None, None, None)]
    assert log.report["lists that no search followed"] == 2
    assert left_out(log) == {NO_SESSION: 1}


def test_the_clock_of_the_server_may_be_another(tmp_path: Path) -> None:
    picked = pick("q", "video", "vi", shown=VI, ordinal=2, seconds=3, session="s")
    log = read(tmp_path, [*typed(), picked, searched("server", "video", -3600)])
    assert [row[3:] for row in rows(log)] == [(None, "video", "server"), (2, "video", "server")]
    assert pq.read_table(log.clicks)["prefix"].to_pylist() == ["vi", None]


def test_events_that_arrive_late_are_put_in_order(tmp_path: Path) -> None:
    records = [
        *typed(query_id="q"),
        shown("vid", VI, session="s", seconds=2.5, query_id="q"),
        pick("q", "video", "vid", shown=VI, ordinal=2, seconds=3, session="s"),
        searched("q", "video", 4),
    ]
    expected = rows(read(tmp_path, records))
    assert [row[1:4] for row in expected] == [(0, "v", None), (1, "vi", None), (2, "vid", 2)]
    assert rows(read(tmp_path, records[::-1])) == expected
    assert rows(read(tmp_path, records * 2)) == expected
    assert read(tmp_path, records * 2).report["events of completions that are there twice"] == 4


def test_lists_side_by_side_have_one_position(tmp_path: Path) -> None:
    beside = [shown(r["event_attributes"]["completion"]["prefix"], ["vlc"], policy="popular", session="s",
                    seconds=n) for n, r in enumerate(typed(), start=1)]  # fmt: skip
    picked = pick("q", "vlc", "vi", policy="popular", seconds=3, session="s")
    log = read(tmp_path, [*typed(), *beside, picked, searched("q", "vlc", 4)])
    assert rows(log, "position_in_session", "prefix", "policy", "taken") == [
        (0, "v", "expected", None),
        (0, "v", "popular", None),
        (1, "vi", "expected", None),
        (1, "vi", "popular", 1),
    ]


def test_a_list_that_was_shown_twice_was_taken_from_the_second_time(tmp_path: Path) -> None:
    again = shown("vi", VI, session="s", seconds=2.5)
    picked = pick("q", "video", "vi", shown=VI, ordinal=2, seconds=3, session="s")
    assert [row[1:4] for row in rows(read(tmp_path, [*typed(), again, picked]))] == [
        (0, "v", None),
        (1, "vi", None),
        (2, "vi", 2),
    ]


def test_a_second_pick_begins_another_session(tmp_path: Path) -> None:
    records = [
        *typed(),
        pick("q", "video", "vi", shown=VI, ordinal=2, seconds=3, session="s"),
        searched("q", "video", 3.5),
        shown("m", ["mail"], session="s", seconds=4),
        pick("r", "mail", "m", seconds=5, session="s"),
        searched("r", "mail", 5.5),
        shown("x", ["xterm"], session="s", seconds=6),
    ]
    log = read(tmp_path, records)
    assert rows(log) == [
        ("s", 0, "v", None, "video", "q"),
        ("s", 1, "vi", 2, "video", "q"),
        ("s/2", 0, "m", 1, "mail", "r"),
        ("s/3", 0, "x", None, None, None),
    ]
    assert log.report["typing sessions that begin after a pick"] == 2


def test_a_pick_right_after_the_same_pick_is_one(tmp_path: Path) -> None:
    picks = [pick("q", "video", "vi", shown=VI, ordinal=2, seconds=n, session="s") for n in (3, 3.2)]
    log = read(tmp_path, [*typed(), *picks, searched("q", "video", 4)])
    assert [row[3] for row in rows(log)] == [None, 2]
    assert left_out(log) == {REPEATED: 1}


def test_further_pages_of_a_search_are_not_the_search(tmp_path: Path) -> None:
    pages = [searched(f"page {n}", "violin", 3 + n) for n in (1, 2)]
    assert {row[4:] for row in rows(read(tmp_path, [*typed(), *pages]))} == {("violin", "page 1")}


# --- without an id


def test_lists_without_an_id_belong_to_the_search_of_their_query_id(tmp_path: Path) -> None:
    records = [*typed(None, query_id="q"), searched("q", "violin", 4, None)]
    log = read(tmp_path, records)
    assert rows(log) == [("q", 0, "v", None, "violin", "q"), ("q", 1, "vi", None, "violin", "q")]
    assert log.report["lists whose typing session is known by the query_id alone"] == 2
    assert rows(read(tmp_path, typed(None, query_id="q"))) == []


def test_a_pick_brings_its_list_where_none_was_recorded(tmp_path: Path) -> None:
    records = [
        pick("q", "video", "vi", shown=VI, ordinal=2),
        query("q", "video", 2),
        pick(None, "vlc", "vl", seconds=3),
    ]
    log = read(tmp_path, records)
    assert rows(log) == [("q", 0, "vi", 2, "video", "q"), ("#2", 0, "vl", 1, None, None)]
    assert rows(log, "shown") == [(VI,), (["vlc"],)]


# --- contradictions


@pytest.mark.parametrize(
    "wrong",
    [
        {"ordinal": 1},
        {"ordinal": 3},
        {"ordinal": 1.5},
        {"ordinal": -1},
        {"ordinal": 1e300},
        {"shown": ["vlc", "xterm"]},
        {"shown": []},
        {"shown": ["vlc", None]},
    ],
)
def test_a_pick_that_contradicts_its_list_and_what_came_before_it_are_left_out(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    right = [pick(f"{n}", "vlc", "v", shown=V, ordinal=1, session=f"{n}") for n in range(3)]
    options = {"shown": VI, "ordinal": 2, **wrong}
    log = read(tmp_path, [*right, *typed(), pick("q", "video", "vi", seconds=3, session="s", **options)])
    assert [row[0] for row in rows(log)] == ["0", "1", "2"]
    assert left_out(log) == {CONTRADICTORY: 1, DOUBTFUL: 2}


def test_positions_from_0_are_recognised_by_the_texts(tmp_path: Path) -> None:
    zero = [
        pick(f"{n}", "video", "v", shown=V, ordinal=1, session=f"{n}", application="zero") for n in range(3)
    ]
    one = [
        pick(f"{n}", "video", "v", shown=V, ordinal=2, session=f"{n}", application="one") for n in range(3, 6)
    ]
    stray = pick("6", "video", "v", shown=V, ordinal=1, session="6", application="one")
    log = read(tmp_path, [*zero, *one, stray, click("0", "d", 1)])
    assert [row[3] for row in rows(log)] == [2] * 6
    assert left_out(log) == {CONTRADICTORY: 1}
    assert [row[3] for row in rows(read(tmp_path, zero, first_ordinal=1))] == [2] * 3


def test_without_an_ordinal_the_text_says_what_was_taken(tmp_path: Path) -> None:
    assert [row[3] for row in rows(read(tmp_path, [pick("q", "video", "v", shown=V, ordinal=None)]))] == [2]


def test_lists_without_texts_are_left_out(tmp_path: Path) -> None:
    bad: list[tuple[str | None, list[Any]]] = [("v", []), ("v", ["vlc", ""]), ("v", [None]), (None, V)]
    records = [shown(prefix, texts, session="s", seconds=n) for n, (prefix, texts) in enumerate(bad)]
    log = read(tmp_path, [*records, shown("", V, session="s", seconds=9)])
    assert [row[:3] for row in rows(log)] == [("s", 0, "")]
    assert left_out(log) == {NO_LIST: 4}


def test_a_search_of_another_query_is_not_that_of_the_pick(tmp_path: Path) -> None:
    picked = pick("q", "video", "vi", shown=VI, ordinal=2, seconds=3, session="s")
    log = read(tmp_path, [*typed(), picked, searched("q", "radio", 4)])
    assert [row[3:] for row in rows(log)] == [(None, None, None), (2, None, None)]
    assert pq.read_table(log.clicks)["prefix"].to_pylist() == [None, None]
    assert log.report["searches of another query than the one picked"] == 1
    same = read(tmp_path, [*typed(), picked, searched("q", " Video", 4)])
    assert [row[3:] for row in rows(same)] == [(None, " Video", "q"), (2, " Video", "q")]


# --- context, and the summary


def test_the_context_of_the_search_is_known_and_the_id_is_no_context(tmp_path: Path) -> None:
    attributes = {"typing_session": "s", "device": "phone", "mode": "dark", "Typing_Session": "x"}
    log = read(
        tmp_path, [*typed(), query("q", "violin", 3, query_attributes=attributes), shown("x", V, session="t")]
    )
    assert log.context == ["device", "mode"]
    assert sorted(rows(log, "typing_session", "mode", "context_device", "context_mode")) == [
        ("s", "any", "phone", "dark"),
        ("s", "any", "phone", "dark"),
        ("t", "any", None, None),
    ]


@pytest.mark.parametrize("session", [{"a": 1}, ["s"], None, ""])
def test_an_id_that_is_no_text_is_none(tmp_path: Path, session: Any) -> None:
    log = read(tmp_path, [*typed(), query("q", "violin", 3, query_attributes={"typing_session": session})])
    assert {row[4] for row in rows(log)} == {None}
    assert log.context == []
    numbers = [*typed(7), query("q", "violin", 3, query_attributes={"typing_session": 7})]  # type: ignore[arg-type]
    assert {row[0::4] for row in rows(read(tmp_path, numbers))} == {("7", "violin")}


def test_without_events_of_completions_the_table_is_empty(tmp_path: Path) -> None:
    log = read(tmp_path, [])
    schema = pq.read_schema(log.completions)
    assert dict(zip(schema.names, schema.types, strict=True)) == SCHEMA
    assert rows(log) == []


def test_the_command_tells_each_reason(tmp_path: Path) -> None:
    records = [
        *typed(),
        pick("q", "video", "vi", shown=VI, ordinal=7, seconds=3, session="s"),
        shown("x", V),
        OTHER,
    ]
    (tmp_path / "ubi.ndjson").write_bytes(bulk(records))
    told = command("ubi", tmp_path / "ubi.ndjson", "--out", tmp_path / "log")
    assert told.code == 0
    for reason in (CONTRADICTORY, DOUBTFUL, NO_SESSION):
        assert reason in told.out.decode()
    report = json.loads(command("ubi", tmp_path / "ubi.ndjson", "--out", tmp_path / "log", "--json").out)[
        "report"
    ]
    assert [report[reason] for reason in (CONTRADICTORY, DOUBTFUL, NO_SESSION)] == [1, 2, 1]


# --- all together

SESSIONS, IDS, TEXTS = ("s", "t", None), ("1", "2", None), ("tv", "toy", "TV ", "radio")
LISTS: tuple[list[str], ...] = (["tv", "toy"], ["toy", "tv"], ["tv", "tv"], [], ["tv", ""])


@st.composite
def drawn(draw: st.DrawFn) -> Record:
    options: dict[str, Any] = {"session": draw(st.sampled_from(SESSIONS)), "seconds": draw(st.integers(0, 4))}
    options["policy"] = draw(st.sampled_from(["expected", "expected", "popular"]))
    query_id, texts = draw(st.sampled_from(IDS)), draw(st.sampled_from((*LISTS[:3], *LISTS)))
    prefix = draw(st.sampled_from(["t", "t", "to", None]))
    kind = draw(st.sampled_from(["shown", "shown", "pick", "pick", "search"]))
    if kind == "shown":
        made = shown(prefix, texts, query_id=query_id, **options)
    elif kind == "pick":
        ordinal = draw(st.sampled_from([None, 0, 1, 1, 2, 2, 3, 1.5]))
        made = pick(
            query_id, draw(st.sampled_from(["tv", "toy"])), prefix, shown=texts, ordinal=ordinal, **options
        )
    else:
        text, name = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(["1", "2", "3", "4"]))
        made = searched(name, text, options["seconds"], options["session"])
    who = {
        "client_id": draw(st.sampled_from(["c", None])),
        "application": draw(st.sampled_from(["one", "two"])),
    }
    return made | who | ({"timestamp": None} if draw(st.integers(0, 9)) == 0 else {})


@given(st.lists(drawn(), min_size=1, max_size=16))
@settings(max_examples=60)
def test_the_table_is_what_a_slow_reading_finds(records: list[Record]) -> None:
    records = [*records, OTHER]
    with TemporaryDirectory() as folder:
        (Path(folder) / "ubi.ndjson").write_bytes(bare(records))
        log = wayword.read_ubi(folder, out=folder)
        table = pq.read_table(log.completions)
        prefixes = {(row["search_id"], row["prefix"]) for row in pq.read_table(log.clicks).to_pylist()}
    names = [
        "typing_session",
        "position_in_session",
        "user",
        "prefix",
        "shown",
        "taken",
        "query",
        "search_id",
        "policy",
    ]
    found = [tuple(row.values()) for row in table.select(names).to_pylist()]
    assert sorted(found, key=str) == sorted(typing_session_reference.rows(records), key=str)
    assert prefixes == set(Reading(records).prefixes.items())
    events = sum(log.report[name] for name in ("lists of completions shown", "completions picked"))
    assert log.report["lists of completions"] == table.num_rows <= events
