"""Old searches weigh less in all that is learned: what rises is served, and most popular completion gets the same."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.completion.stage import load_lists
from wayword.config import Config
from wayword.engines import tables
from wayword.pipeline import run
from wayword.serving.completer import Completer
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.workspace import Workspace

NEWEST = datetime(2026, 3, 1, tzinfo=UTC)
QUERIES = ("lamp table", "lamp solar", "ladder steel", "label red")
SETTINGS: dict[str, dict[str, float]] = {
    "evaluation": {"sessions": 20, "bootstrap": 10},
    "log": {"ranker_share": 0.38},
}


def shop(folder: Path) -> tuple[Path, Path]:
    """90 days: three steady queries, and "lamp solar", which nobody searched before the last nine days."""
    rng, rows = random.Random(0), []
    for day in range(90):
        wanted = ["lamp table"] * 4 + ["ladder steel"] * 2 + ["label red"]
        if day >= 81:
            wanted += ["lamp solar"] * 14
        for query in wanted:
            place = QUERIES.index(query)
            time = NEWEST - timedelta(days=89 - day, minutes=rng.randrange(600))
            document = f"d{place * 3}" if rng.random() < 0.8 else f"d{place * 3 + 1}"
            rows.append((query, document, int(document[1:]) - place * 3 + 1, time.isoformat()))
    names = ("query", "document", "rank", "time")
    log = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    ranked = [(query, f"d{place * 3 + n}", n + 1) for place, query in enumerate(QUERIES) for n in range(3)]
    rankings = dict(zip(("query", "document", "rank"), map(list, zip(*ranked, strict=True)), strict=True))
    pq.write_table(log, folder / "clicks.parquet")
    pq.write_table(pa.table(rankings), folder / "rankings.parquet")
    return folder / "clicks.parquet", folder / "rankings.parquet"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workspace]:
    """The same log without a half-life, with a short one, and with a very long one."""
    folder = tmp_path_factory.mktemp("shop")
    log, rankings = shop(folder)
    return {
        name: run(
            log,
            rankings,
            out=folder / name,
            config=Config.parse({**SETTINGS, "log": {**SETTINGS["log"], "half_life_days": days}}),
        )
        for name, days in (("off", 0), ("week", 7), ("long", 100_000))
    }


def test_a_query_that_rises_in_the_last_days_becomes_the_first_completion(runs: dict[str, Workspace]) -> None:
    for policy in ("popular", "expected", "wayword"):
        first = {
            name: PolicyCompleter.open(runs[name]).complete("la", 1, policy=policy)[0].query for name in runs
        }
        assert first == {"off": "lamp table", "week": "lamp solar", "long": "lamp table"}, policy
    served = {name: Completer.open(runs[name]).complete("la", 1)[0].query for name in runs}
    assert served == {"off": "lamp table", "week": "lamp solar", "long": "lamp table"}


def test_the_popularity_is_the_sum_of_recency(runs: dict[str, Workspace]) -> None:
    folders = {stage: runs["week"].folder(stage) for stage in ("rankings", "demand", "completion")}
    searches = tables.read(folders["rankings"], "numbered_searches").to_pylist()
    expected = np.zeros(len(QUERIES))
    for row in searches:
        if row["split"] != "test":
            expected[row["query"]] += row["recency"]
    assert load_lists(folders).retriever.popularity == pytest.approx(expected)
    assert expected.max() < 100 < len(searches) / len(QUERIES)


def test_a_very_long_half_life_learns_what_none_does(runs: dict[str, Workspace]) -> None:
    off, long = (
        load_lists(
            {stage: runs[name].folder(stage) for stage in ("rankings", "demand", "completion")}
        ).retriever
        for name in ("off", "long")
    )
    assert long.popularity == pytest.approx(off.popularity, rel=1e-3)
    assert long.graph.demand.matrix(12).toarray() == pytest.approx(
        off.graph.demand.matrix(12).toarray(), rel=0.02
    )


def test_the_run_says_how_the_log_is_split(runs: dict[str, Workspace]) -> None:
    assert runs["off"].report("log")["split"] == "by time: the newest searches are the test"
    newest = tables.read(runs["off"].folder("log"), "searches").to_pylist()
    bounds = {
        split: [row["time_text"] for row in newest if row["split"] == split]
        for split in ("retriever", "ranker", "test")
    }
    assert max(bounds["retriever"]) <= min(bounds["ranker"])
    assert max(bounds["ranker"]) <= min(bounds["test"])
