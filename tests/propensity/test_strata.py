"""Cells and rows against counting one by one."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_impressions import DAY, impressions, shown

from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.propensity.strata import DAYS, Impressions, Period

RESULTS = st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 1))
SEARCHES = st.lists(
    st.tuples(st.sampled_from("xy"), st.lists(RESULTS, min_size=1, max_size=4, unique_by=lambda r: r[0])),
    min_size=1,
)


def cells(data: Impressions) -> Counter[tuple[int, int, int]]:
    """Stratum, rank and clicks of each cell, with its impressions."""
    strata = data.strata
    names = zip(
        strata.owner.tolist(), strata.ranks[strata.rank].tolist(), strata.clicked.tolist(), strict=True
    )
    return Counter(dict(zip(((s, r, int(c)) for s, r, c in names), map(int, strata.shown), strict=True)))


def recounted(data: Impressions) -> tuple[list[float], list[float]]:
    """Impressions and clicks of the cells, from the rows."""
    size = len(data.strata.shown)
    return (
        np.bincount(data.rows.cell, minlength=size).tolist(),
        np.bincount(data.rows.cell, data.rows.clicked, size).tolist(),
    )


@pytest.fixture(scope="module")
def one_engine() -> Iterator[Engine]:
    with closing(DuckDB(threads=1)) as made:
        yield made


@given(SEARCHES)
def test_cells_count_what_was_shown_and_clicked(
    one_engine: Engine, searches: list[tuple[str, list[tuple[str, int, int]]]]
) -> None:
    rows = [row for n, (query, results) in enumerate(searches) for row in shown(n, *results, query=query)]
    data = impressions(one_engine, rows)
    strata, names = data.strata, sorted({(row["query"], row["document"]) for row in rows})
    expected = Counter((names.index((r["query"], r["document"])), r["rank"]) for r in rows)
    found = zip(
        strata.owner.tolist(), strata.ranks[strata.rank].tolist(), map(int, strata.shown), strict=True
    )
    assert {(s, rank): n for s, rank, n in found} == expected
    assert strata.clicked.sum() == sum(row["clicked"] for row in rows)
    for part in (data, data.informative(), data.at(strata.ranks[:2])):
        assert recounted(part) == (part.strata.shown.tolist(), part.strata.clicked.tolist())
    half = data.of_searches(np.arange(len(data.rows)) % 2 == 0)
    assert recounted(half) == (half.strata.shown.tolist(), half.strata.clicked.tolist())


@pytest.mark.parametrize(("period", "strata"), [("none", 1), ("month", 2), ("week", 3), ("day", 4)])
def test_strata_are_of_one_period(engine: Engine, period: Period, strata: int) -> None:
    rows = [row for n, day in enumerate((0, 1, 8, 33)) for row in shown(n, ("d", n + 1, 0), day=day)]
    assert len(impressions(engine, rows, period).strata.cells) == strata
    assert DAYS["week"] * DAY == 7 * 24 * 3600 * 1e6


def test_without_times_the_whole_log_is_one_period(engine: Engine) -> None:
    data = impressions(engine, [*shown(0, ("d", 1, 0)), *shown(1, ("d", 2, 0))], "week")
    assert (len(data.strata.cells), data.days) == (1, None)


def test_the_results_of_a_swap_experiment_are_one_stratum(engine: Engine) -> None:
    rows = [
        *shown(0, ("a", 1, 1), ("b", 4, 0), swap="1-4"),
        *shown(1, ("c", 4, 0), ("d", 1, 0), query="other", swap="1-4"),
        *shown(2, ("a", 1, 0)),
    ]
    assert cells(impressions(engine, rows)) == {(0, 1, 1): 2, (0, 4, 0): 2, (1, 1, 0): 1}
