"""Whatever the records, the log is what the slow reading of them is; and a log told as records comes back as it was."""

import gzip
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ubi_reference import Reading, Record, at, bare, bulk, click, event, pick, query

import wayword
from wayword.config import Config

IDS, TEXTS = ("1", "2", "3"), ("tv", "TV ", "日本 😀", "", " ", None)
DOCUMENTS = ("d1", "d2", "d/ü", "")
moments = st.one_of(st.none(), st.integers(0, 3).flatmap(lambda s: st.sampled_from(_same_moment(s))))


def _same_moment(seconds: int) -> list[Any]:
    iso = at(seconds)
    number = 1_704_067_200_000 + 1000 * seconds
    other = f"2024-01-01T02:00:0{seconds}+02:00"
    return [iso, iso.replace("+00:00", "Z"), number, str(number), other]


@st.composite
def drawn(draw: st.DrawFn) -> Record:
    query_id, text = draw(st.sampled_from((*IDS, None))), draw(st.sampled_from(TEXTS))
    document = draw(st.sampled_from((*DOCUMENTS, None)))
    ordinal = draw(st.sampled_from((None, -1, 0, 1, 1, 2, 3, 1.5)))
    kinds: list[Callable[[], Record]] = [
        lambda: query(query_id, text, query_response_hit_ids=draw(st.lists(st.sampled_from(DOCUMENTS[:3])))),
        lambda: query(query_id, text),
        lambda: click(query_id, document, ordinal, user_query=text),
        lambda: event("item_click", query_id, document, ordinal=ordinal),
        lambda: event("impression", query_id, document, ordinal=ordinal, user_query=text),
        lambda: event("hover", query_id, document, ordinal=ordinal),
        lambda: pick(query_id or "1", "tv", draw(st.sampled_from(["", "t", "日"]))),
    ]
    made = draw(st.sampled_from(kinds))()
    who = {"client_id": draw(st.sampled_from(["c", None])), "user_id": draw(st.sampled_from(["u", "", None]))}
    return made | who | {"timestamp": draw(moments), "application": draw(st.sampled_from(["one", "two"]))}


@given(st.lists(drawn(), min_size=1, max_size=15), st.sampled_from([None, 0, 1]), st.booleans())
@settings(max_examples=60)
def test_the_log_is_what_a_slow_reading_finds(
    records: list[Record], first: int | None, in_bulk: bool
) -> None:
    reading = Reading(records, first)
    with TemporaryDirectory() as folder:
        (Path(folder) / "ubi.ndjson").write_bytes((bulk if in_bulk else bare)(records))
        if not reading.searches:
            with pytest.raises(wayword.WaywordError, match="no search"):
                wayword.read_ubi(folder, out=folder, first_ordinal=first)
            return
        log = wayword.read_ubi(folder, out=folder, first_ordinal=first)
        rows = pq.read_table(log.clicks).select(["query", "document", "rank", "search_id", "user", "prefix"])
        lists, shown = (
            pq.read_table(file).to_pylist() if file else [] for file in (log.rankings, log.impressions)
        )
    found = [tuple(row.values()) for row in rows.to_pylist()]
    assert sorted(found, key=str) == sorted(reading.rows(), key=str)
    assert [row for row in found if row[1]] == [
        row
        for search in dict.fromkeys(r[3] for r in found)
        for row in reading.rows()
        if row[3] == search and row[1]
    ]
    assert sorted(tuple(row.values()) for row in lists) == sorted(reading.rankings())
    assert sorted(tuple(row.values())[:5] for row in shown) == sorted(reading.shown())


def as_records(clicks: pa.Table, rankings: pa.Table, *, first_ordinal: int = 1) -> list[Record]:
    """A simulated log as a site would have told it: somebody picks a completion, searches and clicks."""
    lists: dict[str, list[str]] = {}
    for row in rankings.sort_by([("query", "ascending"), ("rank", "ascending")]).to_pylist():
        lists.setdefault(row["query"], []).append(row["document"])
    records = []
    for row in clicks.to_pylist():
        name, text, seconds = f"Q{row['search_id']}", row["query"], row["search_id"]
        who = {"client_id": f"c{seconds % 97}"}
        if seconds % 3 == 0:
            records.append(pick(name, text, text[:3], seconds=seconds, **who))
        attributes = {"part": row["part"], "nested": {"a": 1}}
        hits = {"query_response_hit_ids": lists[text], "query_attributes": attributes}
        records.append(query(name, text, seconds + 0.1, **hits, **who))
        if row["document"]:
            ordinal = row["rank"] - 1 + first_ordinal
            records.append(
                click(name, row["document"], ordinal, user_query=text, seconds=seconds + 0.2, **who)
            )
    return records


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packages")
    return wayword.simulate("packages", clicks=1000, depth=10, part=0.7, out=out)


@pytest.mark.parametrize("first_ordinal", [0, 1])
def test_a_simulated_log_told_as_records_comes_back_and_runs(
    packages: Path, tmp_path: Path, first_ordinal: int
) -> None:
    clicks, rankings = (pq.read_table(packages / f"{name}.parquet") for name in ("clicks", "rankings"))
    records = as_records(clicks, rankings, first_ordinal=first_ordinal)
    half = len(records) // 2
    random.Random(0).shuffle(records)
    (tmp_path / "events").mkdir()
    (tmp_path / "events/a.ndjson").write_bytes(bulk(records[:half]))
    (tmp_path / "events/b.ndjson.gz").write_bytes(gzip.compress(bare(records[half:])))
    log = wayword.read_ubi(tmp_path / "events", out=tmp_path / "log")
    assert log.first_ordinals == {"": first_ordinal}
    assert log.rankings

    found = pq.read_table(log.clicks)
    assert found.column_names == ["query", "document", "rank", "search_id", "user", "time", "prefix", "part"]
    assert found.select(["query", "document", "rank", "part"]).equals(
        clicks.select(["query", "document", "rank", "part"])
    )  # a search a second: the same order
    numbers = clicks["search_id"].to_pylist()
    assert found["search_id"].to_pylist() == [f"Q{number}" for number in numbers]
    assert found["user"].to_pylist() == [f"c{number % 97}" for number in numbers]
    assert [time.isoformat() for time in found["time"].to_pylist()] == [at(n + 0.1) for n in numbers]
    expected = [
        None if n % 3 else text[:3] for n, text in zip(numbers, clicks["query"].to_pylist(), strict=True)
    ]
    assert found["prefix"].to_pylist() == expected

    assert log.impressions
    shown = pq.read_table(log.impressions)
    assert shown.column_names == ["search_id", "query", "document", "rank", "clicked", "time"]
    assert shown["search_id"].unique().to_pylist() == [f"Q{number}" for number in numbers]
    order = [("search_id", "ascending"), ("document", "ascending")]
    clicked = ["search_id", "query", "document", "rank"]
    assert (
        shown.filter(shown["clicked"])
        .select(clicked)
        .sort_by(order)
        .equals(found.filter(pc.is_valid(found["document"])).select(clicked).sort_by(order))
    )
    depth = dict(Counter(rankings["query"].to_pylist()))
    assert len(shown) == sum(depth[text] for text in clicks["query"].to_pylist())

    logged = rankings.filter(pc.is_in(rankings["query"], value_set=clicks["query"].unique()))
    order = [("query", "ascending"), ("rank", "ascending")]
    assert pq.read_table(log.rankings).sort_by(order).equals(logged.sort_by(order))

    small = {"retriever": {"model": "popular", "candidates": 10}, "ranker": {"rounds": 5}}
    config = Config.parse({**small, "features": {"dimensions": 4}, "evaluation": {"bootstrap": 20}})
    workspace = wayword.run(log.clicks, log.rankings, out=tmp_path / "workspace", config=config)
    report = workspace.report("rankings")
    assert report["clicks explained by the rankings"] == 1000
    assert report["mismatched clicks"] == 0
    assert {row["policy"] for row in wayword.estimates(workspace)} > {"logged", "expected"}
