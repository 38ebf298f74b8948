"""What is particular to one format of events: sessions, pages, conversions, names of fields."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from wayword.errors import LogError, WaywordError
from wayword.logs.importers.read import ImportedLog, import_log

SECOND = 1_700_000_000_000_000


def imported(folder: Path, files: Mapping[str, str | Sequence[Any]], **options: Any) -> ImportedLog:
    for name, content in files.items():
        lines = content if isinstance(content, str) else "".join(json.dumps(each) + "\n" for each in content)
        (folder / name).write_text(lines)
    return import_log(*(folder / name for name in files), out=folder / "out", **options)


def clicks(log: ImportedLog) -> list[tuple[Any, ...]]:
    rows = pq.read_table(log.folder / "clicks.parquet").to_pylist()
    return sorted(
        ((row["query"], row["document"], row["rank"], row.get("weight")) for row in rows),
        key=str,
    )


def shown(log: ImportedLog) -> set[tuple[Any, ...]]:
    rows = pq.read_table(log.folder / "impressions.parquet").to_pylist()
    return {(row["query"], row["document"], row["rank"], row["clicked"]) for row in rows}


def ga4(name: str, seconds: int, *items: Mapping[str, Any], user: str = "u", **text: str) -> Any:
    values = [{"key": key, "value": {"string_value": value}} for key, value in text.items()]
    return {
        "event_name": name,
        "event_timestamp": SECOND + seconds * 1_000_000,
        "user_pseudo_id": user,
        "event_params": [{"key": "ga_session_id", "value": {"int_value": 5}}, *values],
        "items": list(items),
        "device": {"category": "mobile"},
    }


def item(document: str, index: int | None = None, name: str | None = None) -> dict[str, Any]:
    return {"item_id": document, "item_list_index": index, "item_list_name": name}


def test_ga4_joins_events_to_the_latest_search_of_their_session(tmp_path: Path) -> None:
    events = [
        ga4("select_item", 0, item("a", 1)),  # before any search
        ga4("view_search_results", 1, search_term="tv"),
        ga4("view_item_list", 1, item("a", 1, "Search results"), item("b", 2, "Search results")),
        ga4("view_search_results", 2, search_term="tv"),  # the next page
        ga4("view_item_list", 2, item("c", 3, "Search results")),
        ga4("select_item", 3, item("c", 3)),
        ga4("view_item_list", 4, item("z", 1, "Related products")),
        ga4("select_item", 5, item("z", 1, "Related products")),
        ga4("search", 6, search_term="radio"),
        ga4("view_item_list", 6, item("a", 1, "Search results")),
        ga4("purchase", 7, item("c"), item("y")),  # c was found by the search before
        ga4("select_item", 8, item("a", 1), user="v"),  # another session
        ga4("begin_checkout", 9, item("c")),
    ]
    log = imported(tmp_path, {"events": events}, weights={"purchase": 5})
    assert clicks(log) == [("radio", None, None, None), ("tv", "c", 3, 1.0), ("tv", "c", 3, 5.0)]
    listed = {("tv", "a", 1, False), ("tv", "b", 2, False), ("tv", "c", 3, True)}
    assert shown(log) == listed | {("radio", "a", 1, False)}
    assert log.outcome.dropped["results in lists that are no search results"] == 2
    assert log.outcome.dropped["clicks of no known search"] == 3
    assert any("begin_checkout (1)" in note for note in log.outcome.notes)


def test_ga4_without_indexes_takes_the_order_of_the_list(tmp_path: Path) -> None:
    events = [
        ga4("view_search_results", 1, search_term="tv"),
        ga4("view_item_list", 2, item("a"), item("b")),
        ga4("select_item", 3, item("b")),
    ]
    log = imported(tmp_path, {"events": events})
    assert clicks(log) == [("tv", "b", 2, None)]
    assert shown(log) == {("tv", "a", 1, False), ("tv", "b", 2, True)}


def test_metarank_takes_the_query_from_the_field_that_is_named(tmp_path: Path) -> None:
    fields = [{"name": "text", "value": "tv"}, {"name": "shop", "value": "north"}]
    ranking = {
        "event": "ranking",
        "id": "1",
        "timestamp": "1700000000000",
        "fields": fields,
        "items": [{"id": "a"}],
    }
    action = {"event": "interaction", "id": "2", "ranking": "1", "timestamp": "1700000001000", "item": "a"}
    other = {"event": "item", "id": "3", "timestamp": "1700000000000", "item": "a", "fields": []}
    events = [ranking, {**action, "type": "click"}, {**action, "type": "cart"}, other]
    with pytest.raises(LogError, match="no search with a text"):
        imported(tmp_path, {"events": events})
    log = imported(tmp_path, {"events": events}, mapping={"query": "text"}, weights={"cart": 2})
    assert clicks(log) == [("tv", "a", 1, 1.0), ("tv", "a", 1, 2.0)]
    assert "context columns: shop" in log.outcome.taken_as
    assert log.outcome.dropped == {"events about items and users": 1}
    with pytest.raises(WaywordError, match="expected one of query"):
        imported(tmp_path, {"events": events}, mapping={"rank": "place"})


def test_coveo_joins_the_exported_searches_and_clicks(tmp_path: Path) -> None:
    files = {
        "searches.csv": "Search Id,Datetime,Query Expression,Visitor Id\n1,2026-01-01,tv,v\n2,2026-01-02,x,v\n",
        "clicks.csv": "Search Id;Datetime;Click Rank;Document Url\n1;2026-01-01 10:01;2;http://b\n",
    }
    log = imported(tmp_path, files)
    assert log.format == "coveo"
    assert clicks(log) == [("tv", "http://b", 2, None), ("x", None, None, None)]
    with pytest.raises(LogError, match=r"found no column for rank, document .* give both files"):
        import_log(tmp_path / "searches.csv", out=tmp_path / "out", format="coveo")


def test_algolia_joins_pages_and_conversions(tmp_path: Path) -> None:
    def page(number: int, *documents: str) -> Any:
        hits = [{"objectID": document} for document in documents]
        return {"queryID": "q", "query": "tv", "hits": hits, "page": number, "hitsPerPage": 2}

    click = {"eventType": "click", "queryID": "q", "objectIDs": ["c"], "positions": [3], "userToken": "u"}
    bought = {"eventType": "conversion", "eventSubtype": "purchase", "queryID": "q", "objectIDs": ["c", "a"]}
    apart = {"eventType": "view", "objectIDs": ["a"], "userToken": "u"}
    events = [page(0, "a", "b"), page(1, "c", "d"), click, bought, apart]
    log = imported(tmp_path, {"events": events}, weights={"purchase": 3})
    assert clicks(log) == [("tv", "a", 1, 3.0), ("tv", "c", 3, 1.0), ("tv", "c", 3, 3.0)]
    assert shown(log) == {
        ("tv", "a", 1, True),
        ("tv", "b", 2, False),
        ("tv", "c", 3, True),
        ("tv", "d", 4, False),
    }
    assert log.outcome.dropped == {"events without a queryID": 1, "further query records of a query_id": 1}


@pytest.mark.parametrize(
    "name", ["query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids"]
)
def test_ubi_spells_the_hits_in_three_ways(tmp_path: Path, name: str) -> None:
    query = {"query_id": "1", "user_query": "tv", "timestamp": "2026-01-01T10:00:00Z", name: ["a", "b"]}
    click = {"action_name": "purchase", "query_id": "1", "event_attributes": {"object": {"object_id": "b"}}}
    log = imported(tmp_path, {"events": [{"_source": query}, {"_source": click}]}, weights={"purchase": 2})
    assert clicks(log) == [("tv", "b", 2, 2.0)]
    assert shown(log) == {("tv", "a", 1, False), ("tv", "b", 2, True)}
