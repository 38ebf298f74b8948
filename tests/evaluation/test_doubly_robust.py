"""Doubly robust: against a slow reference, IPS where ranks never change, unbiased for any guess of the relevance."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import logbook
import reference
from reference import Click, Search
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.doubly_robust import SHRINKAGE, applies, pooled_clicks
from wayword.utility import Measure

ZIPF = reference.power_law(1.0)
Shown = list[dict[int, int]]
"""For each search the ranks of the documents that it showed."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    yield database
    database.close()


def load(engine: Engine, searches: list[Search], shown: Shown, missing: int = 0) -> None:
    """`missing` searches have impressions, but are not in the log."""
    every = range(1, 7)
    logbook.load(engine, searches, {0: dict(enumerate(every))}, ZIPF)
    rows: list[tuple[str, int | None, int, int, int]] = [
        (str(n), n, s.query, a, rank)
        for n, (s, page) in enumerate(zip(searches, shown, strict=True))
        for a, rank in page.items()
    ]
    rows += [(f"missing {n}", None, 0, 0, 1) for n in range(missing)]
    columns = zip(*rows, strict=True)
    types = (pa.string(), pa.int64(), pa.int32(), pa.int32(), pa.int32())
    names = ("search_id", "search", "query", "document", "rank")
    arrays = {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}
    engine.load("numbered_impressions", pa.table({**arrays, "clicked": pa.nulls(len(rows), pa.bool_())}))


def counted(engine: Engine) -> dict[tuple[int, int], float]:
    """b_s(a) by test search and document."""
    with pooled_clicks(engine):
        rows = engine.arrow(
            """SELECT c.search, c.document, c.weight FROM numbered_clicks AS c
               JOIN numbered_searches AS s ON s.search = c.search AND s.split = 'test' WHERE c.rank = 1"""
        ).to_pylist()
    return {(row["search"], row["document"]): row["weight"] for row in rows}


def slow(searches: list[Search], shown: Shown) -> dict[tuple[int, int], float]:
    """The definition, pair by pair and search by search."""

    def p(n: int, a: int) -> float:
        return ZIPF(shown[n][a]) if a in shown[n] else 0.0

    def clicks(n: int, a: int) -> float:
        return sum(c.weight for c in searches[n].clicks if c.document == a and a in shown[n])

    rest = [n for n, s in enumerate(searches) if s.split != "test"]
    exposed = sum(p(n, a) for n in rest for a in shown[n])
    mean = sum(clicks(n, a) for n in rest for a in shown[n]) / exposed if exposed else 0.0
    found = {}
    for test, search in enumerate(searches):
        if search.split != "test" or not shown[test]:
            continue
        mine = [n for n, s in enumerate(searches) if s.query == search.query and shown[n]]
        tested = [n for n in mine if searches[n].split == "test"]
        others = [n for n in mine if searches[n].split != "test"]
        for a in {a for n in tested for a in shown[n]}:
            pooled = sum(p(n, a) for n in tested) / len(tested)
            top = sum(clicks(n, a) for n in others) + SHRINKAGE * mean
            guess = top / (sum(p(n, a) for n in others) + SHRINKAGE)
            found[test, a] = guess + (clicks(test, a) - p(test, a) * guess) / pooled
    return {key: b for key, b in found.items() if b != 0}


def drawn(
    rng: np.random.Generator, searches: int, relevance: list[float], test: float
) -> tuple[list[Search], Shown]:
    """Searches of one query, whose page is a random order of the documents or a part of it."""
    log, shown = [], []
    for _ in range(searches):
        order = rng.permutation(len(relevance))[: rng.integers(2, len(relevance) + 1)]
        page = {int(a): rank for rank, a in enumerate(order, start=1)}
        clicks = tuple(Click(a, r) for a, r in page.items() if rng.random() < ZIPF(r) * relevance[a])
        log.append(Search(0, clicks, 0, "test" if rng.random() < test else "ranker"))
        shown.append(page)
    return log, shown


def test_the_counts_are_those_of_the_definition(engine: Engine) -> None:
    searches, shown = drawn(np.random.default_rng(0), 40, [0.8, 0.3, 0.5], test=0.4)
    load(engine, searches, shown)
    assert applies(engine, Measure())
    expected = slow(searches, shown)
    assert counted(engine) == pytest.approx({key: b for key, b in expected.items() if abs(b) > 1e-12})


def test_a_log_that_lacks_the_searches_without_a_click_does_not_do(engine: Engine) -> None:
    searches, shown = drawn(np.random.default_rng(30), 40, [0.8, 0.3, 0.5], test=0.4)
    load(engine, searches, shown, missing=30)
    assert not applies(engine, Measure())


def test_an_engine_that_has_changed_since_training_does_no_harm(engine: Engine) -> None:
    """Document 0 was at rank 4 and is first in two of three test searches: 2 clicks / p̄, whatever is guessed."""
    train = [Search(0, (Click(1, 1),), 0, "ranker")] * 20
    test = [Search(0, (Click(0, 1),)), Search(0, (Click(0, 1),)), Search(0)]
    load(engine, train + test, [{1: 1, 0: 4}] * 20 + [{0: 1, 1: 4}, {0: 1, 1: 4}, {1: 1, 0: 4}])
    b = counted(engine)
    assert sum(b[search, 0] for search in (20, 21, 22)) == pytest.approx(2 / ((1 + 1 + 1 / 4) / 3))


def test_it_is_ips_where_ranks_never_change(engine: Engine) -> None:
    searches = [
        Search(0, (Click(1, 2, 3.0),)),
        Search(0),
        Search(0, (Click(0, 1), Click(2, 3)), split="ranker"),
    ]
    load(engine, searches, [{0: 1, 1: 2, 2: 3}] * 3)
    assert not applies(engine, Measure())
    assert counted(engine) == {(0, 1): pytest.approx(3.0 / (1 / 2))}


def test_it_applies_to_the_unbounded_utility_of_known_ranks_only(engine: Engine) -> None:
    searches = [Search(0, (Click(0, 1),)), Search(0, (Click(0, 2),))]
    load(engine, searches, [{0: 1, 1: 2}, {1: 1, 0: 2}])
    assert applies(engine, Measure())
    assert not applies(engine, Measure(max_ratio=2.0))
    load(engine, searches, [{0: 1, 1: 2}, {1: 1, 0: 20}])
    assert not applies(engine, Measure())


def test_the_log_is_as_before_afterwards(engine: Engine) -> None:
    searches, shown = drawn(np.random.default_rng(0), 10, [0.5, 0.5], test=0.5)
    load(engine, searches, shown)
    before = engine.arrow("SELECT * FROM numbered_clicks ORDER BY search, document")
    counted(engine)
    assert engine.arrow("SELECT * FROM numbered_clicks ORDER BY search, document").equals(before)


def test_searches_without_impressions_keep_their_clicks(engine: Engine) -> None:
    searches = [Search(0, (Click(0, 3, 2.0),)), Search(0, (Click(1, 1),)), Search(0, (Click(1, 2),))]
    load(engine, searches, [{}, {0: 2, 1: 1}, {0: 1, 1: 2}])
    with pooled_clicks(engine):
        rows = engine.arrow("SELECT document, rank, weight FROM numbered_clicks WHERE search = 0").to_pylist()
    assert rows == [{"document": 0, "rank": 3, "weight": 2.0}]


@pytest.mark.slow
@pytest.mark.parametrize("others", [[0.1, 0.9, 0.4], [0.7, 0.2, 0.4]], ids=["wrong guess", "right guess"])
def test_it_is_unbiased_whatever_is_guessed(engine: Engine, others: list[float]) -> None:
    """With training clicks of other people the guess is wrong; with those of the same, it varies less than IPS."""
    relevance = [0.7, 0.2, 0.4]
    robust, ips = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        (train, seen), (test, shown) = drawn(rng, 30, others, test=0), drawn(rng, 30, relevance, test=1)
        load(engine, train + test, seen + shown)
        b = counted(engine)
        robust.append([sum(v for (_, a), v in b.items() if a == d) / len(test) for d in range(3)])
        clicks = [[c for c in s.clicks if c.document == d] for s in test for d in range(3)]
        of_ips = np.array([sum(1 / ZIPF(c.rank or 1) for c in each) for each in clicks]).reshape(-1, 3)
        ips.append(of_ips.mean(axis=0))
    mean, error = np.mean(robust, axis=0), np.std(robust, axis=0) / np.sqrt(200)
    wanted = np.array(relevance)
    assert (np.abs(mean - wanted) < 3.5 * error).all()
    if others == relevance:
        assert np.var(robust, axis=0).sum() < np.var(ips, axis=0).sum()


@pytest.mark.parametrize("unclicked", [0, 10])
def test_impressions_of_clicked_searches_alone_do_not_do(engine: Engine, unclicked: int) -> None:
    searches = [Search(0, (Click(n % 2, n % 2 + 1),), 0, "test") for n in range(60)]
    searches += [Search(0, (), 0, "test")] * unclicked
    load(engine, searches, [{n % 2: 1, 1 - n % 2: 2} for n in range(len(searches))])
    shown = engine.arrow("numbered_impressions")
    clicked = pa.array([search < 60 for search in shown["search"].to_pylist()])
    engine.load("numbered_impressions", shown.set_column(5, "clicked", clicked))
    assert applies(engine, Measure()) == bool(unclicked)
