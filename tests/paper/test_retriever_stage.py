"""The retriever's stage: which queries it learns to propose."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import reference
import shop as small
from shop import Shop
from wayword.engines import tables
from wayword.paper.retriever_stage import _group_alike, _instances
from wayword.utility import Measure


def test_labels_are_the_alternatives_of_each_clicked_search_in_every_pass(shop: Shop, tmp_path: Path) -> None:
    typed, labels = _instances(tmp_path, shop.folders, Measure(), len(small.QUERIES))
    log, rankings = shop.searches("retriever"), shop.rankings()
    prefixes = tables.read(shop.workspace.folder("contexts"), "contexts")["prefix"].to_pylist()
    expected = sorted(
        (prefixes[s.context], sorted(reference.alternatives(s, rankings, reference.power_law(1.0))))
        for s in log
    )
    found = sorted(
        (prefix, labels.indices[labels.indptr[row] : labels.indptr[row + 1]].tolist())
        for row, prefix in enumerate(typed["prefix"].to_pylist())
    )
    assert found == expected
    assert labels.data.tolist() == pytest.approx([1.0] * labels.nnz)
    clicked = {
        row["search"] for row in tables.read(shop.workspace.folder("rankings"), "numbered_clicks").to_pylist()
    }
    assert len(found) <= small.CONFIG.prefixes.passes * len(clicked)


def test_a_sample_of_the_instances_is_a_part_of_them_and_the_same_again(shop: Shop, tmp_path: Path) -> None:
    def draw(most: int) -> list[tuple[str, tuple[int, ...]]]:
        typed, labels = _instances(tmp_path, shop.folders, Measure(), len(small.QUERIES), most=most)
        rows = [tuple(labels.indices[a:b].tolist()) for a, b in pairwise(labels.indptr)]
        return list(zip(typed["prefix"].to_pylist(), rows, strict=True))

    some, more, everything = draw(100), draw(200), draw(0)
    assert len(some) == 100
    assert some == draw(100)
    assert not Counter(some) - Counter(more)
    assert not Counter(more) - Counter(everything)
    assert draw(len(everything) + 1) == everything


def test_searches_with_the_same_query_and_click_are_worked_out_once(shop: Shop, tmp_path: Path) -> None:
    with tables.tables_in(tmp_path) as engine:
        tables.fetch(engine, shop.folders["rankings"], "numbered_searches", "numbered_clicks")
        _group_alike(engine)
        alike = engine.arrow("SELECT search, example FROM alike ORDER BY search").to_pylist()
    clicks: dict[int, list[tuple[int, int]]] = {}
    for row in tables.read(shop.folders["rankings"], "numbered_clicks").to_pylist():
        clicks.setdefault(row["search"], []).append((row["document"], row["rank"]))
    searches = tables.read(shop.folders["rankings"], "numbered_searches").to_pylist()
    query = {row["search"]: row["query"] for row in searches if row["split"] == "retriever"}
    assert {row["search"] for row in alike} == query.keys() & clicks.keys()
    for row in alike:
        search, example = row["search"], row["example"]
        assert (query[search], clicks[search]) == (query[example], clicks[example])
        assert len(clicks[search]) == 1 or search == example
    assert len({row["example"] for row in alike}) < len(alike)
