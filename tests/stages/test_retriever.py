"""The retriever's stage: what it counts, and which queries it learns to propose."""

from pathlib import Path

import numpy as np
import pytest

import reference
import shop as small
from shop import Shop
from wayword import tables
from wayword.stages.retriever import POPULARITY, POPULARITY_OF_ALL_TRAINING, _instances
from wayword.utility import Measure


def test_popularity_counts_the_searches_of_its_splits(shop: Shop) -> None:
    searches = tables.read(shop.workspace.folder("rankings"), "numbered_searches").to_pylist()
    for file, splits in ((POPULARITY, {"retriever"}), (POPULARITY_OF_ALL_TRAINING, {"retriever", "ranker"})):
        expected = [0] * len(small.QUERIES)
        for row in searches:
            expected[row["query"]] += row["split"] in splits
        assert np.load(shop.workspace.folder("retriever") / file).tolist() == expected


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
