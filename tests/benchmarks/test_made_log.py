"""The made shop: a log of the wanted size whose clicks are where the rankings have the documents."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def made_log() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "made_log.py"
    spec = importlib.util.spec_from_file_location("made_log", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_log"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("queries", "pairs", "clicks"), [(400, 2_000, 900), (300, 12_000, 100)], ids=["few results", "many"]
)
def test_the_log_has_the_size_that_was_asked_for(
    queries: int, pairs: int, clicks: int, made_log: ModuleType, tmp_path: Path
) -> None:
    made_log.write(tmp_path, queries=queries, pairs=pairs, clicks=clicks)
    rankings, log = (pq.read_table(tmp_path / name) for name in (made_log.RANKINGS, made_log.LOG))
    texts = rankings["query"].to_pylist()
    assert len(set(texts)) == queries
    assert all(1 <= len(text.split()) <= 5 for text in texts)
    assert rankings.num_rows == pytest.approx(pairs, rel=0.1)
    assert log.num_rows == clicks
    rank = dict(
        zip(
            zip(texts, rankings["document"].to_pylist(), strict=True),
            rankings["rank"].to_pylist(),
            strict=True,
        )
    )
    assert len(rank) == rankings.num_rows
    clicked = zip(log["query"].to_pylist(), log["document"].to_pylist(), strict=True)
    assert [rank[pair] for pair in clicked] == log["rank"].to_pylist()


def test_queries_share_documents_and_first_results_are_clicked_most(
    made_log: ModuleType, tmp_path: Path
) -> None:
    made_log.write(tmp_path, queries=2_000, pairs=20_000, clicks=20_000)
    returned = (
        pq.read_table(tmp_path / made_log.RANKINGS)["document"].value_counts().field("counts").to_numpy()
    )
    assert returned.mean() > 20
    clicks = np.bincount(pq.read_table(tmp_path / made_log.LOG)["rank"].to_numpy())
    assert clicks[1] > 1.5 * clicks[2] > 1.5 * clicks[4]


def test_the_same_seed_gives_the_same_files(made_log: ModuleType, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        made_log.write(tmp_path / folder, queries=300, pairs=3_000, clicks=500, seed=3)
    for name in (made_log.LOG, made_log.RANKINGS, made_log.DOCUMENTS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
