"""The ceiling: the best list of every context under the world's law, which nothing beats but by chance."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reference
import shop as small
from reference import Intent
from shop import Shop
from wayword import differences, estimates, run, simulate
from wayword.config import Config, PrefixConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.evaluation.ceiling import ceiling
from wayword.simulation.world import World
from wayword.store.workspace import Workspace
from wayword.text import cuts

LAW = reference.power_law(1.0, 1 / sum(1 / k for k in range(1, small.DEPTH + 1)))


@pytest.fixture
def engine(shop: Shop) -> Iterator[Engine]:
    database = DuckDB(threads=1)
    shop.fill(database)
    yield database
    database.close()


def intents_of(world: World) -> list[Intent]:
    """The world's law in the words of the reference; queries and documents have the same numbers in both."""
    wanted = world.intents
    return [
        Intent(query, probability, frozenset(wanted.document[wanted.owner == i].tolist()))
        for i, (query, probability) in enumerate(
            zip(wanted.query.tolist(), wanted.probability.tolist(), strict=True)
        )
    ]


def rankings_of(world: World) -> dict[int, dict[int, int]]:
    found: dict[int, dict[int, int]] = {query: {} for query in range(len(small.QUERIES))}
    for row in world.rankings.to_pylist():
        found[small.QUERIES.index(row["query"])][small.DOCUMENTS.index(row["document"])] = row["rank"]
    return found


def cuts_of(query: int) -> list[str]:
    return cuts(small.QUERIES[query])


@pytest.mark.parametrize("k", [1, 5, 10])
def test_the_list_is_that_of_brute_force_over_all_queries(shop: Shop, engine: Engine, k: int) -> None:
    prefixes = engine.arrow("SELECT prefix FROM contexts ORDER BY context")["prefix"].to_pylist()
    numbers = np.arange(len(prefixes), dtype=np.int32)[::-1]
    found = ceiling(engine, shop.data / "truth.parquet", numbers, PrefixConfig(), k)
    intents, rankings = intents_of(shop.world), rankings_of(shop.world)
    for place, context in enumerate(numbers):
        expected = reference.ceiling(prefixes[context], intents, cuts_of, rankings, LAW, k)
        assert found.query[found.context == place].tolist() == expected


def test_its_estimate_meets_its_exact_value(shop: Shop) -> None:
    """E[û | click] of the best first query, by the law: Σ_x max_q Σ π(x|q̄)·mass·p_q over the rate of clicks."""
    intents, rankings = intents_of(shop.world), rankings_of(shop.world)
    admissible = {query: cuts_of(query) for query in rankings}
    value = 0.0
    for prefix in {cut for found in admissible.values() for cut in found}:
        by_query = [
            sum(
                i.probability
                * admissible[i.query].count(prefix)
                / len(admissible[i.query])
                * reference.true_utility(i.relevant, query, i.query, rankings, LAW)
                for i in intents
            )
            for query in rankings
        ]
        value += max(by_query)
    rate = sum(
        i.probability * reference.true_utility(i.relevant, i.query, i.query, rankings, LAW) for i in intents
    )
    row = next(r for r in estimates(shop.workspace) if (r["policy"], r["k"]) == ("ceiling", 1))
    width = (row["high"] - row["low"]) / (2 * 1.96)
    assert abs(row["value"] - value / rate) <= 3.3 * width
    assert value / rate > 1.2  # people do not type the best query


def beaten(workspace: Workspace) -> list[tuple[str, int]]:
    """The policies that are better than the ceiling by more than noise; the oracle knows the clicked document."""
    return [
        (row["other"], row["k"])
        for row in differences(workspace)
        if row["policy"] == "ceiling" and row["other"] not in ("oracle", "logged") and row["high"] < 0
    ]


def test_no_policy_beats_it_in_the_shop(shop: Shop) -> None:
    assert beaten(shop.workspace) == []
    assert {row["other"] for row in differences(shop.workspace)} >= {
        "popular",
        "unbiased",
        "retriever",
        "random",
    }


def test_no_policy_beats_it_among_packages(tmp_path: Path) -> None:
    data = simulate("packages", clicks=8000, out=tmp_path / "data", seed=1, clicks_only=True)
    config = Config.parse(
        {
            "retriever": {"model": "popular", "candidates": 20},
            "ranker": {"rounds": 20, "depth": 4, "max_contexts": 1000},
            "features": {"dimensions": 4},
            "evaluation": {"bootstrap": 200},
        }
    )
    workspace = run(
        data / "clicks.parquet",
        data / "rankings.parquet",
        truth=data / "truth.parquet",
        out=tmp_path / "workspace",
        config=config,
        paper=True,
    )
    assert beaten(workspace) == []
    value = {(row["policy"], row["k"]): row["value"] for row in estimates(workspace)}
    for k in (1, 5, 10):
        others = [value[policy, k] for policy in ("random", "popular", "retriever", "unbiased")]
        assert value["ceiling", k] > 1.2 * max(others)


def test_recorded_prefixes_have_no_ceiling(shop: Shop, engine: Engine) -> None:
    engine.load("numbered_searches", pa.table({"prefix": ["la"]}))
    with pytest.raises(LogError, match="no ceiling is known"):
        ceiling(engine, shop.data / "truth.parquet", np.arange(1, dtype=np.int32), PrefixConfig(), 1)


def test_a_truth_of_other_columns_is_refused_by_name(shop: Shop, engine: Engine) -> None:
    engine.load("numbered_searches", pa.table({"prefix": pa.array([None], pa.string())}))
    with pytest.raises(LogError, match="query, document, rank; expected query, document and mass"):
        ceiling(engine, shop.data / "rankings.parquet", np.arange(1, dtype=np.int32), PrefixConfig(), 1)
