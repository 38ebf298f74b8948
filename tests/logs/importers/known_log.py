"""A small log that is known, and the same log as the files of each format."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
QUERIES = ("tv", "tv stand", "café au lait", "crème brûlée", "19 inch rack", "führerschein")


@dataclass(frozen=True)
class Search:
    """A search, what it showed, and which of that was clicked (places from 0)."""

    number: int
    user: str
    query: str
    shown: tuple[str, ...]
    clicked: tuple[int, ...]

    @property
    def time(self) -> datetime:
        """When it was issued; its clicks are seconds later."""
        return START + timedelta(minutes=self.number)


def draw(count: int = 40, seed: int = 1) -> list[Search]:
    """Draw searches. A user never issues the same query twice in a row, which some formats cannot tell from a page."""
    random, searches = Random(seed), list[Search]()
    for number in range(count):
        user = str(random.randrange(1, 6))
        latest = next((each.query for each in reversed(searches) if each.user == user), None)
        query = random.choice([each for each in QUERIES if each != latest])
        shown = tuple(random.sample([f"d{n}" for n in range(12)], random.randrange(1, 6)))
        clicked = tuple(sorted(random.sample(range(len(shown)), random.randrange(0, min(3, len(shown) + 1)))))
        searches.append(Search(number, user, query, shown, clicked))
    return searches


def expected_clicks(searches: Sequence[Search]) -> Counter[Any]:
    """Rows of `clicks.parquet`: the clicks, and searches without one."""
    rows: list[Any] = []
    for s in searches:
        rows += [(s.user, s.query, s.shown[place], place + 1) for place in s.clicked]
        rows += [] if s.clicked else [(s.user, s.query, None, None)]
    return Counter(rows)


def expected_impressions(searches: Sequence[Search]) -> Counter[Any]:
    """Rows of `impressions.parquet`."""
    return Counter(
        (s.query, d, place + 1, place in s.clicked) for s in searches for place, d in enumerate(s.shown)
    )


def clicks_in(folder: Path) -> Counter[Any]:
    rows = pq.read_table(folder / "clicks.parquet").to_pylist()
    return Counter((row["user"], row["query"], row["document"], row["rank"]) for row in rows)


def impressions_in(folder: Path) -> Counter[Any]:
    rows = pq.read_table(folder / "impressions.parquet").to_pylist()
    return Counter((row["query"], row["document"], row["rank"], row["clicked"]) for row in rows)


def _lines(records: Sequence[Any]) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records]


def _micros(time: datetime, seconds: float = 0) -> str:
    return str(int((time.timestamp() + seconds) * 1_000_000))


def _iso(time: datetime, seconds: float = 0) -> str:
    return (time + timedelta(seconds=seconds)).isoformat()


def click_table(searches: Sequence[Search]) -> list[str]:
    """CSV of a shop, with positions from 0."""
    lines = ["search_term;position;sku;request;uid;ts"]
    for s in searches:
        clicks = [(str(place), s.shown[place]) for place in s.clicked] or [("", "")]
        lines += [
            f"{s.query};{place};{d};r{s.number};{s.user};{s.time:%d.%m.%Y %H:%M:%S}" for place, d in clicks
        ]
    return lines


def shown_table(searches: Sequence[Search]) -> list[str]:
    """JSON Lines with a row per result shown."""
    return _lines(
        [
            {
                "search": {"id": f"r{s.number}", "keyword": s.query},
                "search_id": f"r{s.number}",
                "user_id": int(s.user),
                "position": place + 1,
                "product_id": document,
                "clicked": place in s.clicked,
            }
            for s in searches
            for place, document in enumerate(s.shown)
        ]
    )


def ubi(searches: Sequence[Search]) -> list[str]:
    records: list[Any] = []
    for s in searches:
        known = {"query_id": f"q{s.number}", "client_id": s.user, "timestamp": _iso(s.time)}
        records.append({**known, "user_query": s.query, "query_response_object_ids": s.shown})
        for place in s.clicked:
            attributes = {"object": {"object_id": s.shown[place]}, "position": {"ordinal": place + 1}}
            records.append({**known, "action_name": "click", "event_attributes": attributes})
    return _lines(records)


def ga4(searches: Sequence[Search]) -> list[str]:
    """Events with indexes from 0, a session per user."""

    def event(
        s: Search, name: str, seconds: float, items: Sequence[tuple[int, str]] = (), **text: str
    ) -> Any:
        values = [{"key": key, "value": {"string_value": value}} for key, value in text.items()]
        return {
            "event_name": name,
            "event_timestamp": _micros(s.time, seconds),
            "user_pseudo_id": s.user,
            "event_params": [{"key": "ga_session_id", "value": {"int_value": "1"}}, *values],
            "items": [{"item_id": d, "item_list_index": str(place)} for place, d in items],
        }

    records: list[Any] = []
    for s in searches:
        records.append(event(s, "view_search_results", 0, search_term=s.query))
        records.append(event(s, "view_item_list", 0, list(enumerate(s.shown))))
        records += [event(s, "select_item", 2 + place, [(place, s.shown[place])]) for place in s.clicked]
    return _lines(records)


def metarank(searches: Sequence[Search]) -> list[str]:
    records: list[Any] = []
    for s in searches:
        milliseconds = _micros(s.time)[:-3]
        known = {"timestamp": milliseconds, "user": s.user, "session": s.user}
        fields = [{"name": "query", "value": s.query}]
        items = [{"id": document} for document in s.shown]
        records.append({"event": "ranking", "id": f"q{s.number}", **known, "fields": fields, "items": items})
        for place in s.clicked:
            action = {"ranking": f"q{s.number}", "type": "click", "item": s.shown[place]}
            records.append({"event": "interaction", "id": f"i{s.number}-{place}", **known, **action})
    return _lines(records)


def coveo(searches: Sequence[Search]) -> list[str]:
    records: list[Any] = []
    for s in searches:
        known = {"searchQueryUid": f"q{s.number}", "clientId": s.user}
        records.append({**known, "queryText": s.query, "results": [{"documentUri": d} for d in s.shown]})
        records += [{**known, "documentPosition": p + 1, "documentUri": s.shown[p]} for p in s.clicked]
    return _lines(records)


def algolia(searches: Sequence[Search]) -> list[str]:
    records: list[Any] = []
    for s in searches:
        known = {"queryID": f"q{s.number}", "userToken": s.user, "timestamp": int(_micros(s.time)[:-3])}
        records.append({**known, "query": s.query, "hits": [{"objectID": document} for document in s.shown]})
        if s.clicked:
            objects, positions = [s.shown[p] for p in s.clicked], [p + 1 for p in s.clicked]
            records.append({**known, "eventType": "click", "objectIDs": objects, "positions": positions})
    return _lines(records)


def aol(searches: Sequence[Search]) -> list[str]:
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    for s in searches:
        clicks = [(str(place + 1), s.shown[place]) for place in s.clicked] or [("", "")]
        lines += [f"{s.user}\t{s.query}\t{s.time:%Y-%m-%d %H:%M:%S}\t{rank}\t{url}" for rank, url in clicks]
    return lines


@dataclass(frozen=True)
class Sample:
    """A format: its name, its lines, a line that is broken, one with a value of the wrong type, whether it shows."""

    format: str
    lines: Callable[[Sequence[Search]], list[str]]
    broken: str
    mixed: str
    shows: bool = True
    mapping: tuple[tuple[str, str], ...] = ()

    def content(self, searches: Sequence[Search]) -> bytes:
        """The file."""
        return "".join(f"{line}\n" for line in self.lines(searches)).encode()


SAMPLES = {
    "clicks": Sample(
        "tables",
        click_table,
        "tv;1;d1",
        "tv;third;d1;r99;1;01.03.2026 10:00:00",
        False,
        (("search_id", "request"),),
    ),
    "shown": Sample(
        "tables",
        shown_table,
        '{"search_id": "r99"',
        '{"search": {"keyword": "tv"}, "search_id": "r99", "position": "third", "product_id": "d1", "clicked": true}',
        mapping=(("query", "search.keyword"),),
    ),
    "ubi": Sample("ubi", ubi, '{"query_id": "q99"', '{"query_id": "q99", "user_query": ["tv"]}'),
    "ga4": Sample(
        "ga4",
        ga4,
        '{"event_name": "search"',
        '{"event_name": "search", "event_timestamp": "1", "event_params": "none", "items": []}',
    ),
    "metarank": Sample(
        "metarank",
        metarank,
        '{"event": "ranking"',
        '{"event": "ranking", "id": "q99", "timestamp": "1", "items": "d1"}',
    ),
    "coveo": Sample(
        "coveo",
        coveo,
        '{"searchQueryUid": "q99"',
        '{"searchQueryUid": "q1", "documentPosition": "third", "documentUri": "d1"}',
    ),
    "algolia": Sample(
        "algolia",
        algolia,
        '{"queryID": "q99"',
        '{"queryID": "q1", "eventType": "click", "objectIDs": ["d1"], "positions": ["third"]}',
    ),
    "aol": Sample(
        "aol", aol, "1\ttv\t2026-03-01\t1\td1\tmore", "1\ttv\t2026-03-01 10:00:00\tthird\td1", False
    ),
}
"""A sample of each format, and of tables two."""
