"""Rules of reading UBI records, one by one."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ubi_reference import Record, at, bare, bulk, click, event, pick, query

import wayword
from wayword.errors import LogError
from wayword.logs.ubi import lines
from wayword.logs.ubi.read import UbiLog

SEARCH = query("q", "tv", query_response_hit_ids=["a", "b", "c"])
SESSION = [pick("q", "tv", "t", seconds=-1), SEARCH, click("q", "b", 2), click("q", "ü", 7, seconds=2)]


def read(folder: Path, content: bytes | list[Record], **options: Any) -> UbiLog:
    file = folder / "ubi.ndjson"
    file.write_bytes(bare(content) if isinstance(content, list) else content)
    return wayword.read_ubi(file, out=folder / "log", **options)


def rows(log: UbiLog, *names: str) -> list[tuple[Any, ...]]:
    table = pq.read_table(log.clicks)
    return [tuple(row.values()) for row in table.select(list(names) or table.column_names).to_pylist()]


def clicked(log: UbiLog) -> list[tuple[Any, ...]]:
    return rows(log, "search_id", "document", "rank")


# --- files


def test_plain_bulk_compressed_and_exported_records_are_one_log(tmp_path: Path) -> None:
    exported = bare([{"_index": "ubi", "_id": str(n), "_source": r} for n, r in enumerate(SESSION)])
    contents = {
        "bare.ndjson": bare(SESSION),
        "bulk.jsonl": bulk(SESSION),
        "bulk.ndjson.gz": gzip.compress(bulk(SESSION)),
        "two.json.gz": gzip.compress(bulk(SESSION[:2])) + gzip.compress(bulk(SESSION[2:])),
        "exported.ndjson": exported,
        "ascii.ndjson": json.dumps(SESSION[1]).encode() + b"\n" + bare([SESSION[0], *SESSION[2:]]),
        "windows.ndjson": b"\xef\xbb\xbf" + bulk(SESSION).replace(b"\n", b"\r\n"),
        "unfinished.ndjson": bulk(SESSION)[:-1],
        "blank.ndjson": b"\n \n" + bulk(SESSION).replace(b"\n", b"\n\t\n"),
    }
    expected = None
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        found = rows(wayword.read_ubi(tmp_path / name, out=tmp_path / "log"))
        expected = expected or found
        assert found == expected, name
    assert [(row[1], row[2], row[6]) for row in expected or []] == [("b", 2, "t"), ("ü", 7, "t")]


def test_what_the_server_stores_is_read_as_it_was_sent(tmp_path: Path) -> None:
    pytest.importorskip("msgspec")
    from wayword.serving.events import lines as stored
    from wayword.serving.events import read as received

    sent = read(tmp_path, SESSION)
    expected, shown = rows(sent), pq.read_table(sent.folder / "impressions.parquet")
    back = read(tmp_path, stored(received(json.dumps(SESSION).encode())))
    assert rows(back) == expected
    assert pq.read_table(back.folder / "impressions.parquet").equals(shown)
    timeless = [{name: value for name, value in record.items() if name != "timestamp"} for record in SESSION]
    (time, _) = rows(read(tmp_path, stored(timeless, datetime(2026, 1, 1, tzinfo=UTC))), "time")
    assert time == (datetime(2026, 1, 1, tzinfo=UTC),)


def test_a_folder_is_its_files_and_a_file_named_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "b.ndjson").write_bytes(bulk(SESSION[:2]))
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(bulk(SESSION[2:])))
    (tmp_path / "empty.ndjson").touch()
    (tmp_path / "notes.txt").write_text("not ours")
    log = wayword.read_ubi(tmp_path, tmp_path / "b.ndjson", out=tmp_path / "log")
    assert (log.report["files"], log.report["query records"], log.report["clicks"]) == (3, 1, 2)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = (read(tmp_path, SESSION * 3), read(tmp_path, SESSION * 3))
    first = {path.name: path.read_bytes() for path in one.folder.iterdir()}
    assert first == {path.name: path.read_bytes() for path in two.folder.iterdir()}
    names = ("clicks", "completions", "impressions", "rankings")
    assert sorted(first) == [f"{name}.parquet" for name in names]


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_lines_are_the_same_whatever_is_read_at_once(tmp_path: Path, size: int) -> None:
    content = b"one\n\n" + b"x" * 100 + b"\ntwo"
    for path, stored in (
        (tmp_path / "a.ndjson", content),
        (tmp_path / "a.ndjson.gz", gzip.compress(content)),
    ):
        path.write_bytes(stored)
        blocks = list(lines.blocks(path, 5, size))
        found = [row for block, _ in blocks for row in block.to_pylist()]
        assert [row["place"] for row in found] == [5, 7, 8]  # an empty line has a place and is not there
        assert sum(count for _, count in blocks) == 4
        assert b"".join(row["bytes"] for row in found) == content.replace(b"\n\n", b"\n")


# --- what cannot be read


def test_a_file_cut_off_at_any_byte_loses_no_finished_record(tmp_path: Path) -> None:
    length = len(bulk([click("000", "日", 2)]))
    for cut in range(length):
        name = f"{cut:03d}"
        first, last = bulk([SEARCH | {"query_id": name}, click(name, "a", 1)]), bulk([click(name, "日", 2)])
        (tmp_path / f"{name}.ndjson").write_bytes(first + last[:cut])
    log = wayword.read_ubi(tmp_path, out=tmp_path / "log")
    whole = f"{length - 1:03d}"  # only the line break is missing
    expected = [(f"{cut:03d}", "a", 1) for cut in range(length)]
    assert sorted(clicked(log)) == sorted([*expected, (whole, "日", 2)])
    torn = length - 4  # not: nothing, the line before it with or without its break, and the whole
    assert log.report["records cut off at the end of a file"] == torn
    assert log.report["unreadable lines"] == 0


def test_what_is_cut_off_is_the_last_line_that_is_not_blank(tmp_path: Path) -> None:
    report = read(tmp_path, bare([SEARCH]) + b'{"query_id\n \n\n').report
    names = ("records cut off at the end of a file", "unreadable lines", "blank lines")
    assert [report[name] for name in names] == [1, 0, 2]


def test_a_compressed_file_cut_off_anywhere_gives_what_is_before(tmp_path: Path) -> None:
    stored = gzip.compress(bulk([SEARCH, *(click("q", f"{n}", n, seconds=n) for n in range(1, 400))]))
    file = tmp_path / "ubi.ndjson.gz"
    counts = []
    for length in range(len(stored) // 4, len(stored), len(stored) // 12):
        file.write_bytes(stored[:length])
        counts.append(wayword.read_ubi(file, out=tmp_path / "log").report["clicks"])
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] <= 399


def test_garbage_is_counted_and_shown_with_its_place(tmp_path: Path) -> None:
    many = [query(f"q{n}", "tv") for n in range(400)]
    garbage = [b'{"query_id": \n', b"\xff\xfe\n", b"[1, 2]\n", b'{"a": "\\ud83d"}\n']
    log = read(tmp_path, garbage[0] + bare(many) + b"".join(garbage[1:]) + bare([SEARCH]))
    assert log.report["unreadable lines"] == 4
    assert log.report["searches"] == 401
    (note,) = log.notes
    for said in (
        "4 unreadable lines",
        "ubi.ndjson:1: '{\"query_id\":'",
        "ubi.ndjson:402: '(not UTF-8)'",
        "403: '[1, 2]'",
    ):
        assert said in note
    with pytest.raises(
        LogError, match=r"(?s)3 of 4 lines .* no more than 1\.0%.*ubi.ndjson:1: .*--unreadable"
    ):
        read(tmp_path, b"".join(garbage[:3]) + bare([SEARCH]))
    assert read(tmp_path, b"".join(garbage[:3]) + bare([SEARCH]), unreadable=0.75).report["searches"] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Found 0 query records and 0 events, but no search"),
        (b'{"name": "a document"}\n', "no search"),
        (
            bare([query("q", "\u200b"), query(None, "tv")]),
            "Found 2 query records and 0 events, but no search",
        ),
        (bare([event("click", "q", "d", ordinal=1)]), "Found 0 query records and 1 events, but no search"),
    ],
)
def test_a_file_without_a_search_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(LogError, match=said):
        read(tmp_path, content)
    assert not (tmp_path / "log").exists()


def test_what_is_no_input_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    (tmp_path / "events").mkdir()
    (tmp_path / "x.ndjson.gz").write_bytes(b"not compressed at all")
    for given, said in {
        "x.csv": "Found x.csv; expected NDJSON",
        "none.ndjson": "There is no file or folder",
        "events": "There are no UBI records in",
        "x.ndjson.gz": "Cannot read .*x.ndjson.gz",
    }.items():
        with pytest.raises(LogError, match=said):
            wayword.read_ubi(tmp_path / given, out=tmp_path / "log")
    (tmp_path / "x.ndjson.gz").unlink()
    with pytest.raises(LogError, match="A workspace has its events in the folder `events`"):
        wayword.read_ubi(tmp_path, out=tmp_path / "log")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"click_actions": []}, "names of actions"),
        ({"click_actions": ["click", "impression"]}, "Found impression among the clicks"),
        ({"first_ordinal": 2}, "expected 0 or 1"),
        ({"unreadable": 2}, "a share from 0 to 1"),
        ({"memory": "much"}, "such as 4GB"),
    ]
    for options, said in wrong:
        with pytest.raises(wayword.WaywordError, match=said):
            read(tmp_path, [SEARCH], **options)


# --- searches


def test_of_several_query_records_the_first_with_text_and_hits_stands(tmp_path: Path) -> None:
    records = [
        query("q", "facets", 1, query_response_hit_ids=[]),
        query("q", "", 0, query_response_hit_ids=["x"]),
        query("q", "second", 3, query_response_hit_ids=["b"]),
        query("q", "first", 2, query_response_hit_ids=["a"]),
    ]
    log = read(tmp_path, records)
    assert rows(log, "search_id", "query") == [("q", "first")]
    assert log.report["further query records of a query_id"] == 2
    assert log.report["query records without a text"] == 1


def test_a_search_may_be_known_from_its_events_alone(tmp_path: Path) -> None:
    records = [
        click("q", "d", 3, user_query="tv", seconds=5, user_id="u"),
        event("impression", "q", "e", ordinal=1, user_query="tv", seconds=4),
    ]
    log = read(tmp_path, records)
    ((text, document, rank, _, user, time, prefix),) = rows(log)
    assert (text, document, rank, user, prefix) == ("tv", "d", 3, "c", None)
    assert time.isoformat() == at(4)
    assert log.report["searches known from events alone"] == 1


def test_the_prefix_is_of_the_last_pick_before_the_search(tmp_path: Path) -> None:
    picks = [("wrong", 0), ("right", 1), ("too late", 3)]
    records = [*(pick("q", "tv", prefix, seconds=s) for prefix, s in picks), query("q", "tv", 2)]
    assert rows(read(tmp_path, records), "prefix") == [("right",)]
    assert rows(read(tmp_path, [pick("q", "tv", "", seconds=0), query("q", "tv", 2)]), "prefix") == [("",)]
    assert rows(read(tmp_path, [pick("other", "tv", "t"), query("q", "tv", 2)]), "prefix") == [(None,)]


@pytest.mark.parametrize(
    "stamp",
    [
        "2024-01-01T00:00:05Z",
        "2024-01-01T00:00:05",
        "2024-01-01T00:00:05.000+0000",
        "2024-01-01T01:00:05+01:00",
        "2023-12-31T18:30:05-0530",
        "2024-01-01 00:00:05",
        1704067205000,
        "1704067205000",
        1704067205000.0,
    ],
)
def test_times_in_every_form_are_one(tmp_path: Path, stamp: object) -> None:
    ((time,),) = rows(read(tmp_path, [SEARCH | {"timestamp": stamp}]), "time")
    assert time.isoformat() == at(5)


@pytest.mark.parametrize(
    "stamp", [None, "yesterday", "infinity", 1e300, -1e300, 9e15, {"a": 1}, [1], "", "nan"]
)
def test_a_time_that_cannot_be_read_is_counted(tmp_path: Path, stamp: object) -> None:
    log = read(tmp_path, [SEARCH | {"timestamp": stamp}])
    assert rows(log, "time") == [(None,)]
    assert log.report["times that cannot be read"] == 1


def test_the_user_is_the_user_id_else_the_client_else_of_an_event(tmp_path: Path) -> None:
    records = [
        query("1", "tv", 1, user_id="u"),
        query("2", "tv", 2, user_id=""),
        query("3", "tv", 3, client_id=None),
        click("3", "d", 1, user_id=7),
        query("4", "tv", 4, client_id=""),
    ]
    assert rows(read(tmp_path, records), "user") == [("u",), ("c",), ("7",), (None,)]


def test_attributes_are_context_unless_they_have_parts_or_our_names(tmp_path: Path) -> None:
    first = {
        "device": "phone",
        "Shop": 1,
        'a "b"; c': True,
        "nested": {"a": 1},
        "list": [1],
        "rank": 9,
        " ": 1,
    }
    second = {"DEVICE": "desk", "shop": 2.5, "gone": None, "user": "x", "input_row": 3}
    records = [query("1", "tv", 1, query_attributes=first), query("2", "tv", 2, query_attributes=second)]
    records.append(query("3", "tv", 3, query_attributes="none"))
    log = read(tmp_path, records)
    assert log.context == ["DEVICE", "Shop", 'a "b"; c']
    assert rows(log, *log.context) == [("phone", "1", "true"), ("desk", "2.5", None), (None, None, None)]
    assert read(tmp_path, records, context=["shop"]).context == ["Shop"]
    assert read(tmp_path, records, context=[]).context == []
    with pytest.raises(LogError, match=r"Found no attribute nested .* found DEVICE, Shop"):
        read(tmp_path, records, context=["nested"])
    many = {f"a{n}": n for n in range(101)}
    with pytest.raises(LogError, match="Found 101 names of context columns; expected at most 100"):
        read(tmp_path, [query("1", "tv", query_attributes=many)], context=list(many))


def test_other_applications_are_left_out_on_demand(tmp_path: Path) -> None:
    records = [query(name, "tv", application=name) for name in ("one", "two")] + [query("none", "tv")]
    log = read(tmp_path, records, application="one")
    assert rows(log, "search_id") == [("one",)]
    assert log.report["records of other applications"] == 2
    with pytest.raises(
        LogError, match=r"of the application 'three', but no search .* 3 records are of others"
    ):
        read(tmp_path, records, application="three")


# --- clicks


def test_clicks_that_cannot_be_used_are_counted_by_reason(tmp_path: Path) -> None:
    records = [
        SEARCH,
        click("q", "a", 1),
        click("q", "a", 1),
        click("q", "a", 1, seconds=2),
        click("q", "a", 3, seconds=3),
        click("q", None, 1),
        click("q", "x"),
        click("q", "b", user_query="radio"),
        click("unknown", "a", 1),
        click(None, "a", 1),
        click("q", "deep", 9),
        click("q", "c", seconds=4),
        event("purchase", "q", "b", ordinal=2),
    ]
    log = read(tmp_path, records)
    assert clicked(log) == [("q", "a", 1), ("q", "deep", 9), ("q", "a", 1), ("q", "c", 3)]
    assert {name: n for name, n in log.report.items() if name.startswith("clicks") and n} == {
        "clicks": 4,
        "clicks whose rank is that of the list": 1,
        "clicks deeper than the list of their search": 1,
        "clicks of no known search": 2,
        "clicks without an object_id": 1,
        "clicks of another query under the same query_id": 1,
        "clicks that are there twice": 1,
        "clicks without a rank": 1,
        "clicks on a document that an earlier click found at another rank": 1,
        "clicks on documents in no result list": 1,
        "clicks on results that their search did not show": 1,
    }
    bought = read(tmp_path, records, click_actions=["purchase"])
    assert clicked(bought) == [("q", "b", 2)]


def test_of_a_click_told_twice_the_one_that_says_where_counts(tmp_path: Path) -> None:
    assert clicked(read(tmp_path, [SEARCH, click("q", "a"), click("q", "a", 3)])) == [("q", "a", 3)]


def test_each_application_counts_from_0_or_from_1(tmp_path: Path) -> None:
    records = [query(name, "tv", application=name) for name in ("zero", "one")]
    records += [click(name, "d", 2, application=name) for name in ("zero", "one")]
    records.append(event("impression", "zero", "e", ordinal=0, application="zero"))
    log = read(tmp_path, records)
    assert log.first_ordinals == {"one": 1, "zero": 0}
    assert sorted(clicked(log)) == [("one", "d", 2), ("zero", "d", 3)]
    assert sorted(clicked(read(tmp_path, records, first_ordinal=0))) == [("one", "d", 3), ("zero", "d", 3)]
    assert sorted(clicked(read(tmp_path, records, first_ordinal=1))) == [("one", "d", 2), ("zero", "d", 2)]


def test_a_stray_zero_changes_nothing_and_is_told(tmp_path: Path) -> None:
    records = [SEARCH, *(click("q", "a", 1, seconds=n) for n in range(20)), click("q", "b", 0)]
    log = read(tmp_path, records)
    assert "only 1 positions of 0 beside 20 of 1" in log.notes[0]
    assert log.first_ordinals == {"": 1}
    assert ("q", "b", 2) in clicked(log)  # its place in the hits
    for first in (0, 1):
        assert not read(tmp_path, records, first_ordinal=first).notes
    few = [SEARCH, *(click("q", "a", 1, seconds=n) for n in range(10)), click("q", "b", 0)]
    assert read(tmp_path, few).first_ordinals == {"": 0}


# --- rankings


def test_the_latest_list_of_a_query_counts_and_impressions_where_there_is_none(tmp_path: Path) -> None:
    records = [
        query("1", "tv", 1, query_response_hit_ids=["old"]),
        query("2", "tv", 3, query_response_hit_ids=["a", "b", "a"]),
        query("3", "tv", 4),
        event("impression", "3", "seen", ordinal=1, seconds=5),
        query("4", "radio", 1),
        event("impression", "4", "x", ordinal=1),
        query("5", "radio", 2),
        event("impression", "5", "y", ordinal=2, seconds=3),
        event("impression", "5", "z", ordinal=2, seconds=4),
        event("impression", "5", "y", ordinal=3, seconds=4),
    ]
    log = read(tmp_path, records)
    assert log.rankings
    assert [tuple(row.values()) for row in pq.read_table(log.rankings).to_pylist()] == [
        ("radio", "y", 2),
        ("tv", "a", 1),
        ("tv", "b", 2),
    ]
    assert log.report["result lists known from impressions"] == 1


def test_of_two_lists_of_one_moment_the_later_line_counts(tmp_path: Path) -> None:
    records = [query(name, "tv", query_response_hit_ids=[name]) for name in ("first", "last")]
    log = read(tmp_path, records)
    assert log.rankings
    assert pq.read_table(log.rankings)["document"].to_pylist() == ["last"]


def test_without_any_list_there_are_no_rankings_nor_those_of_an_earlier_log(tmp_path: Path) -> None:
    assert read(tmp_path, [SEARCH]).rankings
    log = read(tmp_path, [query("q", "tv")])
    assert log.rankings is None
    assert log.impressions is None
    assert sorted(path.name for path in log.folder.iterdir()) == ["clicks.parquet", "completions.parquet"]
