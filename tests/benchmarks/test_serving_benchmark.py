"""The benchmark of serving on a few hundred queries: what it makes, asks and compares is what it says."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wayword
from runs import Made
from wayword.serving.completer import Completer
from wayword.text import normalise

SCRIPTS = str(Path(__file__).parents[2] / "benchmarks")
MODULES = ("in_process", "known_world", "load", "made_index", "peers", "server_processes", "typed_texts")
QUERIES = 500
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scripts() -> Iterator[Any]:
    """The modules beside `benchmarks/serving.py`."""
    sys.path.insert(0, SCRIPTS)
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(SCRIPTS)


@pytest.fixture(scope="module")
def made(scripts: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    index: Path = scripts.in_process.made(tmp_path_factory.mktemp("made"), QUERIES, 0)
    return index


def test_queries_are_distinct_sorted_and_the_same_again(scripts: Any) -> None:
    one, other = scripts.made_index.queries(QUERIES), scripts.made_index.queries(QUERIES)
    assert one.texts == other.texts == sorted({*one.texts})
    assert len(one.texts) == QUERIES
    assert all(normalise(text) == text and 2 <= len(text.split()) <= 5 for text in one.texts)
    assert np.array_equal(one.popularity, other.popularity)
    assert one.popularity.max() == QUERIES


def test_pages_have_ten_to_twenty_documents(scripts: Any) -> None:
    asked = scripts.made_index.queries(20_000)
    rankings = scripts.made_index.rankings_of(asked, np.random.default_rng(0))
    pages = np.bincount(rankings["query"].to_numpy(), minlength=len(asked.texts))
    assert 10 < pages.mean() < 15.5
    assert pages.max() <= 20
    assert rankings["rank"].to_numpy().max() <= 20


def test_every_known_text_is_answered_and_unknown_ones_are_not_known(scripts: Any, made: Path) -> None:
    drawn, completer = scripts.typed_texts.TypedTexts(made), Completer.open(made.parent.parent)
    for text in [*drawn.known(100), *drawn.as_typed(100)]:
        assert text in completer.index.lists
        assert (
            completer.complete(text) or text in completer.index.texts
        )  # a whole query may have nothing to add
    unknown = [*drawn.misspelt(20), *drawn.with_new_words(20)]
    assert not any(text in completer.index.lists for text in unknown)
    found = scripts.in_process.answers(made, 100, 20)
    assert {kind: len(times) for kind, times in found.items()} == {
        "known": 100,
        "as typed": 100,
        "misspelt": 10,
        "new words": 10,
    }


def test_peers_show_the_most_popular_beginnings(scripts: Any, made: Path) -> None:
    asked = scripts.made_index.queries(QUERIES)
    typed = scripts.typed_texts.TypedTexts(made).as_typed(30)
    count = dict(zip(asked.texts, asked.popularity.tolist(), strict=True))
    tried = 0
    for name, peer in scripts.peers.PEERS.items():
        if scripts.peers.missing(name):
            continue
        tried += 1
        with closing(peer(asked.texts, asked.popularity)) as built:
            for prefix in typed:
                found = [count[text] for text in built.complete(prefix, 5)]
                begun = sorted((count[text] for text in asked.texts if text.startswith(prefix)), reverse=True)
                if (
                    name == "fast-autocomplete"
                ):  # first what was typed in full; corrections, where few begin so
                    assert {*begun[:4]} <= {*found}, prefix
                else:
                    assert found == begun[:5], (name, prefix)
        assert len(scripts.peers.cost(name, made, typed).answers) == 27
    assert tried >= 2


def test_peers_are_timed_in_turns_on_the_same_texts(scripts: Any, made: Path) -> None:
    typed = scripts.typed_texts.TypedTexts(made).as_typed(450)
    times = scripts.in_process.beside(made, typed, ("SQLite FTS5", "marisa-trie"))
    assert {name: len(each) for name, each in times.items()} == {
        "Wayword": 450,
        "SQLite FTS5": 450,
        "marisa-trie": 450,
    }
    assert all((each > 0).all() for each in times.values())


def test_the_true_utility_of_what_is_served_is_near_its_estimate(
    scripts: Any, undisturbed: Made, world: Path
) -> None:
    workspace = wayword.Workspace.open(undisturbed.path)
    known = scripts.known_world.KnownWorld.open(workspace, world / "truth.parquet")
    served = Completer.open(undisturbed.path)
    lists = [[one.query for one in served.complete(text, 5)] for text in known.typed]
    estimates = {(row["policy"], row["k"]): row for row in wayword.estimates(workspace)}
    assert known.utility(lists) == pytest.approx(estimates["expected", 5]["value"], rel=0.5)
    assert known.utility([[] for _ in known.typed]) == 0.0
    assert known.utility(lists, 1) > known.utility([found[::-1] for found in lists], 1)


def test_requests_at_a_rate_are_all_answered(scripts: Any, made: Path) -> None:
    asked = scripts.load.paths(scripts.typed_texts.TypedTexts(made).as_typed(50))
    with scripts.server_processes.serving(scripts.server_processes.wayword(made.parent.parent)) as server:
        found = scripts.load.at_rate(server.port, asked, 200, 1.0, warm_up=0.5)
    assert 150 < len(found.answers) < 250
    assert (found.answers > 0).all()
