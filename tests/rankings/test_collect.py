"""What is collected: kept, renewed by age, and never of two sources."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.errors import EngineError
from wayword.rankings.collect import collect
from wayword.rankings.journal import Journal
from wayword.rankings.sources.callable import Function

DAY = 86_400.0


class Shop:
    """An engine whose results change."""

    def __init__(self) -> None:
        self.shelf = {"video": ["mpv", "vlc"], "mail": ["mutt"]}
        self.asked: list[str] = []

    def search(self, query: str, depth: int) -> list[str]:
        self.asked.append(query)
        return self.shelf.get(query, [])[:depth]


def log_of(path: Path, *queries: str) -> Path:
    pq.write_table(pa.table({"query": queries}), path)
    return path


def rows(path: Path) -> list[tuple[str, str, int]]:
    return [(row["query"], row["document"], row["rank"]) for row in pq.read_table(path).to_pylist()]


class Clock:
    """A clock that tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000_000.0
        monkeypatch.setattr("wayword.rankings.collect.time.time", lambda: self.now)


def test_only_answers_older_than_the_age_are_renewed_and_none_older_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, shop, out = Clock(monkeypatch), Shop(), tmp_path / "rankings.parquet"
    week = log_of(tmp_path / "week.parquet", "video", "mail", "fish")
    collect(shop.search, [week], out=out)
    clock.now += 5 * DAY
    shop.shelf["radio"] = ["tuner"]
    assert collect(shop.search, [log_of(tmp_path / "new.parquet", "radio")], out=out).asked == 1
    clock.now += 3 * DAY
    shop.asked, shop.shelf["video"], shop.shelf["fish"] = [], ["vlc"], ["rod"]
    today = log_of(tmp_path / "today.parquet", "video", "fish", "radio")
    found = collect(shop.search, [today], out=out, max_age=7 * DAY)
    assert sorted(shop.asked) == ["fish", "video"]
    assert (found.asked, found.known, found.without_results) == (2, 1, 0)
    assert rows(out) == [("fish", "rod", 1), ("radio", "tuner", 1), ("video", "vlc", 1)]
    times = dict(zip(*(pq.read_table(out)[name].to_pylist() for name in ("query", "time")), strict=True))
    assert {query: moment.timestamp() for query, moment in times.items()} == {
        "fish": clock.now,
        "video": clock.now,
        "radio": clock.now - 3 * DAY,
    }


def test_answers_are_kept_without_an_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shop, out = Clock(monkeypatch), Shop(), tmp_path / "rankings.parquet"
    log = log_of(tmp_path / "log.parquet", "video", "fish")
    collect(shop.search, [log], out=out)
    clock.now += 1000 * DAY
    found = collect(shop.search, [log, log_of(tmp_path / "more.parquet", "mail")], out=out)
    assert shop.asked.count("video") == shop.asked.count("fish") == 1
    assert (found.asked, found.known, found.without_results) == (1, 2, 1)
    assert rows(out) == [("mail", "mutt", 1), ("video", "mpv", 1), ("video", "vlc", 2)]


def test_another_source_or_depth_asks_everything_again_and_says_so(tmp_path: Path) -> None:
    shop, out, log = Shop(), tmp_path / "rankings.parquet", log_of(tmp_path / "log.parquet", "video")
    collect(Function(shop.search, "one"), [log], out=out)
    deeper = collect(Function(shop.search, "one"), [log], out=out, depth=1)
    assert deeper.asked == 1
    assert "were of another source" in deeper.notes[0]
    assert rows(out) == [("video", "mpv", 1)]
    assert collect(Function(shop.search, "two"), [log], out=out, depth=1).asked == 1
    assert collect(Function(shop.search, "two"), [log], out=out, depth=1).notes == ()


def test_a_table_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    out, log = tmp_path / "rankings.parquet", log_of(tmp_path / "log.parquet", "video")
    pq.write_table(pa.table({"query": ["video"], "document": ["precious"], "rank": [1]}), out)
    with pytest.raises(EngineError, match="`wayword rankings` did not write it"):
        collect(Shop().search, [log], out=out)
    out.write_bytes(out.read_bytes()[:50])
    with pytest.raises(EngineError, match=r"Cannot read .*Move it away"):
        collect(Shop().search, [log], out=out)
    with pytest.raises(EngineError, match=r"expected a name that ends in \.parquet"):
        collect(Shop().search, [log], out=tmp_path / "rankings.csv")


def test_a_run_whose_table_was_written_but_not_its_journal_removed_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, out, log = Shop(), tmp_path / "rankings.parquet", log_of(tmp_path / "log.parquet", "video", "fish")

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            collect(shop.search, [log], out=out)
    before = out.read_bytes()
    assert collect(shop.search, [log], out=out).asked == 0
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "rankings.parquet"]


def test_nothing_found_at_all_is_said(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.parquet", "fish")
    found = collect(Shop().search, [log], out=tmp_path / "rankings.parquet")
    assert found.notes == (
        "no query has a result: check the index, the template and the fields that are searched",
    )
    assert found.without_results == 1
