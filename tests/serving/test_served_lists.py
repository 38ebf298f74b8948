"""The lists that people see: equal to those of the policy in the workspace, explained, and without hidden queries."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shop import QUERIES, Shop
from wayword.completion import stage
from wayword.completion.list_policy import ListPolicy
from wayword.config import Config, IndexConfig
from wayword.index.build import build
from wayword.index.overrides import FILE
from wayword.index.versions import ROOT
from wayword.logs.contexts import from_prefixes
from wayword.pipeline import run
from wayword.request import MODES
from wayword.serving.completer import Completer, Served
from wayword.serving.explanation import explain
from wayword.store.workspace import Workspace

KNOWN = sorted({text[:end] for text in QUERIES for end in range(1, len(text) + 1) if text[end - 1] != " "})
UNKNOWN = ["lx", "lamo", "steel la", "small", "zzz", "latern", "ladder stel", "lamp steel x", "", "laptp st"]
SHOES = {"shirt": 150, "shirts": 30, "shoe rack": 300, "shoe rack red": 90, "shoe racks": 60, "shoes": 200}
"""Queries and how often they are searched; plurals are variants."""


@pytest.fixture(scope="module")
def policy(shop: Shop) -> ListPolicy:
    return stage.load_lists(shop.folders)


@pytest.fixture(scope="module")
def served(shop: Shop) -> Served:
    return Completer.open(shop.workspace.path).served


@pytest.mark.parametrize("k", [3, 10, 15])
@pytest.mark.parametrize("mode", MODES)
def test_the_served_list_is_that_of_the_policy(mode: str, k: int, policy: ListPolicy, served: Served) -> None:
    texts = [*KNOWN, *UNKNOWN]
    found = policy.complete(from_prefixes(texts), k, mode=mode)
    expected: list[list[tuple[str, float, str]]] = [[] for _ in texts]
    rows = zip(found.context, found.query, found.score, found.sources(), strict=True)
    for context, query, score, source in rows:
        expected[context].append((QUERIES[query], float(score), source))
    for typed, whole in zip(texts, expected, strict=True):
        listed = served.complete(typed, k, mode=mode)
        assert [(one.query, one.score, one.source) for one in listed] == whole, typed
    assert all(typed in served.index.lists for typed in KNOWN)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("typed", ["l", "la", "lap", "laptop", "laptop steel", "lamo", "steel la"])
def test_the_value_that_is_explained_is_the_score_and_its_parts_add_up(
    typed: str, mode: str, served: Served
) -> None:
    for one in served.complete(typed, 10, mode=mode):
        people = explain(served, typed, one.query, mode=mode).people
        assert people is not None
        assert people.value == pytest.approx(one.score, rel=1e-4, abs=1e-7)
        assert people.finds - people.instead_of + people.saves == pytest.approx(people.value, abs=1e-6)
        parts = sum(taker.value for taker in people.takers) + people.others + people.careless
        assert parts == pytest.approx(people.value)
        assert sum(taker.share * taker.takes for taker in people.takers) <= people.taken + 1e-9
        for taker in people.takers:
            assert taker.finds - taker.instead_of + taker.saves == pytest.approx(taker.value, abs=1e-6)


def test_a_query_that_is_not_listed_is_explained_at_the_first_place(served: Served) -> None:
    listed = {one.query for one in served.complete("lap", 10, mode="prefix")}
    other = next(query for query in QUERIES if query not in listed)
    people = explain(served, "lap", other, mode="prefix").people
    assert people is not None
    assert 0 <= people.taken <= 1


@pytest.fixture(scope="module")
def shoes(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run on a log of which two queries are variants of others."""
    folder = tmp_path_factory.mktemp("shoes")
    rng = np.random.default_rng(0)
    first = {"shirt": 4, "shirts": 4, "shoe rack": 0, "shoe racks": 0, "shoe rack red": 1, "shoes": 2}
    query = [text for text, count in SHOES.items() for _ in range(count)]
    rank = rng.integers(1, 4, len(query))
    log = {
        "search_id": [f"s{n}" for n in range(len(query))],
        "query": query,
        "document": [f"d{(first[text] + r) % 8}" for text, r in zip(query, rank.tolist(), strict=True)],
        "rank": rank,
    }
    rankings = [(text, f"d{(first[text] + r) % 8}", r) for text in SHOES for r in range(1, 5)]
    pq.write_table(pa.table(log), folder / "clicks.parquet")
    columns = zip(("query", "document", "rank"), zip(*rankings, strict=True), strict=True)
    pq.write_table(pa.table(dict(columns)), folder / "rankings.parquet")
    config = Config.parse({"evaluation": {"bootstrap": 20}})
    return run(folder / "clicks.parquet", folder / "rankings.parquet", out=folder / "run", config=config)


def _served_anywhere(path: Path) -> set[str]:
    served = Completer.open(path).served
    texts = sorted({text[:end] for text in SHOES for end in range(1, len(text) + 1)} | {"shoo", "racks"})
    return {one.query for typed in texts for mode in MODES for one in served.complete(typed, 15, mode=mode)}


def test_a_hidden_variant_is_not_shown_in_any_mode(shoes: Workspace) -> None:
    """In mode prefix a variant may be shown as it is, where the query that stands for it does not continue the text."""
    build(shoes, IndexConfig())
    assert "shoe racks" in _served_anywhere(shoes.path)
    build(shoes, IndexConfig(min_searches=70))
    assert _served_anywhere(shoes.path) == {"shirt", "shoe rack", "shoe rack red", "shoes"}


def test_a_deleted_variant_is_not_shown_in_any_mode(shoes: Workspace) -> None:
    overrides = shoes.path / ROOT / FILE
    overrides.write_text(json.dumps({"delete": ["shoe racks", "shirts"]}))
    try:
        build(shoes, IndexConfig(kept=16))
        overrides.unlink()  # what is shown now is what the index holds
        assert _served_anywhere(shoes.path) == {"shirt", "shoe rack", "shoe rack red", "shoes"}
    finally:
        overrides.unlink(missing_ok=True)
