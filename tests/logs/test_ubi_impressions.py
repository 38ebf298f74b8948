"""What each search showed, from UBI records."""

from pathlib import Path

import pyarrow.parquet as pq
from ubi_reference import Record, bare, click, event, query

import wayword
from wayword.logs.ubi.read import UbiLog
from wayword.logs.ubi.summary import next_command

HITS: Record = {"query_response_hit_ids": ["a", "b", "a", "c"]}


def read(folder: Path, records: list[Record]) -> UbiLog:
    (folder / "ubi.ndjson").write_bytes(bare(records))
    return wayword.read_ubi(folder / "ubi.ndjson", out=folder / "log")


def shown(log: UbiLog) -> list[tuple[object, ...]]:
    assert log.impressions
    return [tuple(row.values())[:5] for row in pq.read_table(log.impressions).to_pylist()]


def seen(query_id: str, document: str, rank: int, seconds: float = 1) -> Record:
    return event("impression", query_id, document, ordinal=rank, seconds=seconds)


def test_hits_are_shown_at_their_first_position_and_a_search_without_a_click_counts(tmp_path: Path) -> None:
    log = read(tmp_path, [query("1", "TV", 0, **HITS), click("1", "b", 2), query("2", "tv", 9, **HITS)])
    assert shown(log) == [
        ("1", "TV", "a", 1, False),
        ("1", "TV", "b", 2, True),
        ("1", "TV", "c", 4, False),
        ("2", "tv", "a", 1, False),
        ("2", "tv", "b", 2, False),
        ("2", "tv", "c", 4, False),
    ]
    assert {name: n for name, n in log.report.items() if "impressions" in name} == {
        "result lists known from impressions": 0,
        "impressions": 6,
        "searches whose impressions are events": 0,
        "searches whose impressions are hits": 2,
        "searches without known impressions": 0,
    }


def test_events_say_what_was_shown_of_many_hits(tmp_path: Path) -> None:
    """A hundred results came back, two of them were on the page: 98 were not skipped, but never there."""
    many: Record = {"query_response_hit_ids": [f"d{n}" for n in range(1, 101)]}
    records = [query("1", "tv", **many), seen("1", "d1", 1), seen("1", "d2", 2), click("1", "d2", 2)]
    log = read(tmp_path, [*records, query("2", "tv", 9, **HITS), query("3", "tv", 10), click("3", "x", 1)])
    assert shown(log) == [
        ("1", "tv", "d1", 1, False),
        ("1", "tv", "d2", 2, True),
        ("2", "tv", "a", 1, False),
        ("2", "tv", "b", 2, False),
        ("2", "tv", "c", 4, False),
    ]
    assert log.report["searches whose impressions are events"] == 1
    assert log.report["searches whose impressions are hits"] == 1
    assert log.report["searches without known impressions"] == 1


def test_clicks_that_what_was_shown_does_not_explain_are_counted(tmp_path: Path) -> None:
    records = [
        query("1", "tv", **HITS),
        click("1", "b", 7),  # the page had something else above
        click("1", "x", 3, seconds=2),
        query("2", "tv", 9, **HITS),
        seen("2", "a", 1),
        click("2", "b", 2),  # a hit without an event
        query("3", "tv", 10),
        click("3", "a", 1),  # nothing is known of what this search showed
    ]
    log = read(tmp_path, records)
    assert [row for row in shown(log) if row[4]] == [("1", "tv", "b", 2, True)]
    assert log.report["clicks on results that their search did not show"] == 2
    assert log.report["clicks at another rank than the result was shown"] == 1


def test_impressions_of_a_search_that_nobody_recorded_are_left_out(tmp_path: Path) -> None:
    log = read(tmp_path, [query("1", "tv"), seen("unknown", "a", 1)])
    assert log.impressions is None
    assert not (log.folder / "impressions.parquet").exists()
    assert "--impressions" not in next_command(log)


def test_the_next_command_names_the_impressions(tmp_path: Path) -> None:
    log = read(tmp_path, [query("1", "tv", **HITS)])
    assert f"--impressions {log.impressions} " in next_command(log)
