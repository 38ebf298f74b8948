"""No record stops a log: what is malformed is left out, counted and shown with its file and line."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ubi_reference import bare, click, query

import wayword
from wayword.logs.ubi import line_check, lines
from wayword.logs.ubi.line_check import TOO_LARGE, TWICE, UNREADABLE, WRONG_TYPE
from wayword.logs.ubi.read import UbiLog
from wayword.logs.ubi.schema import LONGEST_RECORD

GOOD = [
    *(
        query(f"{n}", "tv", n, query_response_hit_ids=["a", "b"], query_attributes={"n": n})
        for n in range(60)
    ),
    *(click(f"{n}", "b", 2, seconds=n + 1) for n in range(60)),
]
DEEP = b'{"user_query": "x", "query_id": "x", "query_attributes": %b1%b}'
MANY = {f"a{n}": n for n in range(5000)}


def read(folder: Path, content: bytes, **options: Any) -> UbiLog:
    (folder / "ubi.ndjson").write_bytes(content)
    return wayword.read_ubi(folder / "ubi.ndjson", out=folder / "log", **options)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"user_query": "x"', UNREADABLE),
        (b'"text"', UNREADABLE),
        (b"[{}]", UNREADABLE),
        (b"null", UNREADABLE),
        (b'{"user_query": "\xff", "query_id": "x"}', UNREADABLE),
        (b'{"more": "\xff", "user_query": "x", "query_id": "x"}', UNREADABLE),
        (b'{"user_query": "\\ud83d", "query_id": "x"}', UNREADABLE),
        (b'{"user_query": "x", "query_id": "x", "query_attributes": {"n": NaN}}', UNREADABLE),
        (b'{"user_query": "x", "query_id": "x", "query_attributes": {"n": -Infinity}}', UNREADABLE),
        (b'{"user_query": "x", "query_id": "x", "query_attributes": {"n": 1e999}}', WRONG_TYPE),
        (b"\0" * 100, UNREADABLE),
        (b'{"user_query": {"a": 1}, "query_id": "x"}', WRONG_TYPE),
        (b'{"user_query": "x", "query_id": ["x"]}', WRONG_TYPE),
        (b'{"user_query": "x", "query_id": "x", "query_response_hit_ids": "a"}', WRONG_TYPE),
        (b'{"user_query": "x", "query_id": "x", "query_response_hit_ids": [["a"]]}', WRONG_TYPE),
        (b'{"action_name": "click", "query_id": "1", "event_attributes": 5}', WRONG_TYPE),
        (b'{"action_name": "click", "query_id": "1", "event_attributes": {"object": "a"}}', WRONG_TYPE),
        (b'{"_source": {"user_query": [], "query_id": "x"}}', WRONG_TYPE),
        (DEEP % (b'{"a":' * 40, b"}" * 40), TOO_LARGE),
        (DEEP % (b'{"a":' * 100_000, b"}" * 100_000), TOO_LARGE),
        (bare([query("x", "x", query_attributes=MANY)])[:-1], TOO_LARGE),
        (bare([query("x", "x" * 200_000)])[:-1], TOO_LARGE),
        (bare([query("x", "x", query_response_hit_ids=["a"] * 20_000)])[:-1], TOO_LARGE),
        (bare([query("x", "x", more="x" * 5_000_000)])[:-1], TOO_LARGE),
        (b'{"user_query": "x", "query_id": "x", "query_id": "y"}', TWICE),
        (b'{"user_query": "x", "query_id": "x", "query_attributes": {"n": 1, "n": 2}}', TWICE),
        (
            b'{"action_name": "click", "event_attributes": {"object": {"object_id": 1, "object_id": 2}}}',
            TWICE,
        ),
        (b'{"_source": {"user_query": "x", "user_query": "y"}}', TWICE),
    ],
    ids=lambda value: value[:60].decode(errors="replace") if isinstance(value, bytes) else "",
)
def test_a_malformed_line_is_left_out_and_changes_nothing_else(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    expected = read(tmp_path, bare(GOOD))
    rows = pq.read_table(expected.clicks)
    log = read(tmp_path, bare(GOOD[:7]) + line + b"\n" + bare(GOOD[7:]))
    assert pq.read_table(log.clicks).equals(rows)
    assert {name: n for name, n in log.report.items() if n != expected.report[name]} == {reason: 1}
    (note,) = log.notes
    assert note.startswith(f"1 {reason}. For example:\n    ")
    assert "ubi.ndjson:8: " in note


def test_one_line_stops_not_even_the_smallest_log(tmp_path: Path) -> None:
    log = read(tmp_path, b"garbage\n" + bare([query("q", "tv")]))
    assert (log.report["searches"], log.report["unreadable lines"]) == (1, 1)


def test_a_record_with_odd_values_in_fields_that_are_not_read_is_used(tmp_path: Path) -> None:
    odd: dict[str, Any] = {
        "session_id": [1],
        "message": {"a": 1},
        "query_response_id": {},
        "timestamp": [5],
        "more": "x" * 10_000,
    }
    odd |= {"client_id": 7, "application": 1.5, "query_attributes": [1]}
    report = read(tmp_path, bare([query("q", "tv") | odd])).report
    assert report["searches"] == 1
    assert not any(report[reason] for reason in line_check.REASONS)


def test_a_line_of_any_length_is_left_out_in_bounded_memory(tmp_path: Path) -> None:
    """100 MB that take 100 KB on disk, between records, and again at the end without a line break."""
    huge = b'{"user_query": "' + b"x" * 100_000_000
    path = tmp_path / "bomb.ndjson.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(bare(GOOD[:7]) + huge + b'"}\n' + bare(GOOD[7:]) + huge)
    del huge
    tracemalloc.start()
    longest = [max(map(len, block["bytes"].to_pylist())) for block, _ in lines.blocks(path)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * lines.BLOCK < 100_000_000
    assert max(longest) <= LONGEST_RECORD + lines.BLOCK
    log = wayword.read_ubi(path, out=tmp_path / "log", unreadable=0.02)
    assert (log.report["searches"], log.report["clicks"], log.report[TOO_LARGE]) == (60, 60, 2)
    assert f"{path}:8: " in log.notes[0]
    assert f"{path}:122: " in log.notes[0]


def test_millions_of_empty_lines_are_only_counted(tmp_path: Path) -> None:
    log = read(tmp_path, bare(GOOD[:1]) + b"\n" * 3_000_000 + b"garbage\n" + bare(GOOD[1:]))
    assert (log.report["blank lines"], log.report["searches"]) == (3_000_000, 60)
    assert "ubi.ndjson:3000002: " in log.notes[0]


def test_a_compressed_file_may_end_after_any_byte(tmp_path: Path) -> None:
    """Also within the header of its first or second part."""
    part = gzip.compress(bare(GOOD[:2]))
    path = tmp_path / "ubi.ndjson.gz"
    for length in range(2 * len(part) + 1):
        path.write_bytes((part + part)[:length])
        content = b"".join(row for block, _ in lines.blocks(path) for row in block["bytes"].to_pylist())
        assert (bare(GOOD[:2]) * 2).startswith(content)
        assert len(content) >= len(bare(GOOD[:2])) * (length // len(part))


# --- what one record says about columns


def test_an_attribute_of_few_searches_is_no_column(tmp_path: Path) -> None:
    rare = [query("rare", "tv", query_attributes={f"a{n}": n for n in range(50)})]
    many = [query(f"m{n}", "tv", query_attributes={"n": n}) for n in range(200)]
    log = read(tmp_path, bare(GOOD + many + rare))
    assert (log.context, log.report["attributes that are no context columns"]) == (["n"], 50)
    assert "50 attributes in query_attributes are no context columns" in log.notes[0]
    assert read(tmp_path, bare(GOOD + many + rare), context=["a7"]).context == ["a7"]


def test_of_too_many_attributes_the_most_frequent_are_columns(tmp_path: Path) -> None:
    records = [query(f"{n}", "tv", query_attributes={f"a{m}": m for m in range(n, 150)}) for n in range(10)]
    log = read(tmp_path, bare(records))
    assert len(log.context) == 100
    assert not {f"a{m}" for m in range(9)} & set(log.context)
    assert log.report["attributes that are no context columns"] == 50


@pytest.mark.parametrize("value", ["text", "Infinity", 1e200, "-1e101", "x" * 1001])
def test_a_value_that_does_not_fit_its_column_is_none(tmp_path: Path, value: object) -> None:
    records = [query(f"{n}", "tv", n, query_attributes={"price": n / 4}) for n in range(150)]
    log = read(tmp_path, bare([*records, query("odd", "tv", 200, query_attributes={"price": value})]))
    assert pq.read_table(log.clicks)["price"].to_pylist() == [str(n / 4) for n in range(150)] + [None]
    assert log.report["values that do not fit their context column"] == 1


def test_a_column_of_texts_keeps_texts_that_look_like_numbers(tmp_path: Path) -> None:
    values = ["red", "1e999", "12", "inf"]
    records = [query(f"{n}", "tv", n, query_attributes={"hash": values[n % 4]}) for n in range(40)]
    log = read(tmp_path, bare(records))
    assert pq.read_table(log.clicks)["hash"].to_pylist() == values * 10


def test_a_rank_that_no_list_has_is_no_rank(tmp_path: Path) -> None:
    """Divided by its propensity, one click at rank 2,000,000,000 would outweigh every other."""
    search = query("q", "tv", query_response_hit_ids=["a", "b"])
    records = [search, click("q", "b", 2_000_000_000), click("q", "c", 10_001, seconds=2)]
    log = read(tmp_path, bare([*records, click("q", "d", 10_000, seconds=3)]))
    found = pq.read_table(log.clicks).select(["document", "rank"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [("b", 2), ("d", 10_000)]
    assert log.report["clicks without a rank"] == 1


def test_an_event_that_is_in_two_files_counts_once(tmp_path: Path) -> None:
    """As after a rotation in the middle of a write."""
    once = read(tmp_path, bare(GOOD))
    rows = pq.read_table(once.clicks)
    (tmp_path / "ubi").mkdir()
    for name in ("a", "b"):
        (tmp_path / "ubi" / f"{name}.ndjson").write_bytes(bare(GOOD))
    twice = wayword.read_ubi(tmp_path / "ubi", out=tmp_path / "log")
    assert pq.read_table(twice.clicks).equals(rows)
    assert json.dumps(twice.arms) == json.dumps(once.arms)


def test_one_false_list_does_not_replace_that_of_a_query(tmp_path: Path) -> None:
    false = query("false", "tv", 999, query_response_hit_ids=["x"])
    log = read(tmp_path, bare([*GOOD, false]))
    assert log.rankings
    assert pq.read_table(log.rankings)["document"].to_pylist() == ["a", "b"]
    newer = query("newer", "tv", 1000, query_response_hit_ids=["new", "b"])
    log = read(tmp_path, bare([*GOOD, false, newer]))
    assert log.rankings
    assert pq.read_table(log.rankings)["document"].to_pylist() == ["new", "b"]
