"""The plan names the pairs of ranks that are missing, and its experiment has the promised precision."""

from dataclasses import replace

import numpy as np
import pytest
from made_impressions import LAWS, RANKS, impressions, shown
from rich.console import Console

from inputs import Row
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.propensity.estimate import Options, estimate
from wayword.propensity.swap_plan import Wanted, plan
from wayword.report.propensity import print_plan
from wayword.simulation.result_pages import Pages, World, draw

FIXED = World(period_noise=0.0, search_noise=0.0, drift=0.0, periods=4)
"""Ranks never change."""


def fixed(searches: int = 20_000, seed: int = 0, law: str = "alpha 1") -> Pages:
    return draw(np.random.default_rng(seed), LAWS[law], searches=searches, world=FIXED)


def test_a_log_without_rank_changes_needs_each_rank_swapped() -> None:
    data = fixed().impressions()
    with pytest.raises(LogError, match="was shown at two ranks"):
        estimate(data, Options())
    found = plan(data, Wanted())
    assert [(swap.upper, swap.lower) for swap in found.swaps] == [(1, k) for k in range(2, 11)]
    assert sum(swap.share for swap in found.swaps) == pytest.approx(0.05)
    assert found.per_day == pytest.approx(20_000 / 28)
    assert found.days is not None
    for swap in found.swaps:  # every result page has ten results
        assert swap.searches == pytest.approx(found.traffic * swap.share)
        assert swap.searches == pytest.approx(found.days * swap.share * 20_000 / 28)


def test_only_groups_that_are_apart_are_swapped() -> None:
    """Ranks 1 to 5 change among themselves, and 6 to 10 do."""
    world = World(queries=50, documents=10, periods=1)
    pages = draw(np.random.default_rng(0), LAWS["alpha 0.5"], searches=10_000, world=world)
    assert plan(pages.impressions(), Wanted()).swaps == []
    rng = np.random.default_rng(1)
    halves = [rng.permuted(np.tile(np.arange(5) + first, (10_000, 1)), axis=1) for first in (0, 5)]
    apart = Pages(pages.query, pages.period, np.concatenate(halves, axis=1), pages.relevance, pages.clicked)
    found = plan(apart.impressions(), Wanted())
    assert [group.tolist() for group in found.groups] == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
    (swap,) = found.swaps
    assert swap.upper <= 5 < swap.lower
    assert swap.share == 0.05
    with pytest.raises(
        LogError, match=r"in 2 groups that no clicked result joins within a week .*\(1–5; 6–10\)"
    ):
        estimate(apart.impressions(), Options())


def test_a_finer_interval_needs_more_and_a_larger_share_is_faster() -> None:
    data = fixed().impressions()
    coarse, fine, fast = (plan(data, w) for w in (Wanted(0.2), Wanted(0.1), Wanted(0.2, share=0.5)))
    ratio = (np.log(1.2) / np.log(1.1)) ** 2
    assert fine.traffic / coarse.traffic == pytest.approx(ratio)
    assert coarse.traffic / fast.traffic == pytest.approx(0.5 / 0.05)
    assert sum(s.searches for s in fast.swaps) == pytest.approx(sum(s.searches for s in coarse.swaps))


def test_a_log_of_less_than_a_day_counts_as_one_day() -> None:
    """Also one whose times are all the same, such as the date alone."""
    data = fixed(5000).impressions()
    for days in (0.0, 0.5, 1.0):
        assert plan(replace(data, days=days), Wanted()).per_day == 5000
    assert plan(replace(data, days=None), Wanted()).days is None


def test_a_log_without_the_first_rank_gives_no_plan() -> None:
    data = fixed(5000).impressions()
    with pytest.raises(LogError, match="Found ranks from 2 on; expected rank 1 too"):
        plan(data.at(data.strata.ranks[1:]), Wanted())


def test_a_log_without_clicks_gives_no_plan(engine: Engine) -> None:
    rows = [row for n in range(60) for row in shown(n, ("a", 1, 0), ("b", 2, 0))]
    with pytest.raises(LogError, match="Found no click in 120 impressions"):
        plan(impressions(engine, rows), Wanted())


def test_a_log_with_hardly_a_click_or_one_rank_gives_no_plan(engine: Engine) -> None:
    rows = [row for n in range(60) for row in shown(n, ("a", 1, n == 5), ("b", 2, 0))]
    with pytest.raises(LogError, match="Found 1 click; expected 5 or more"):
        plan(impressions(engine, rows), Wanted())
    with pytest.raises(LogError, match="Found results at rank 1 only"):
        plan(impressions(engine, [row for row in rows if row["rank"] == 1]), Wanted())


def test_a_plan_that_takes_years_says_what_to_do_instead() -> None:
    def printed(days: float) -> str:
        found = plan(replace(fixed(5000).impressions(), days=days), Wanted(share=1))
        print_plan(found, console := Console(width=500, record=True))
        return console.export_text()

    assert "This log joins no two ranks." in printed(1.0)
    assert "longer than a year" not in printed(1.0)
    assert 'keep [propensity] source = "power"' in printed(10_000.0)


def experiment(pages: Pages, upper: int, lower: int, searches: int, seed: int) -> tuple[int, int]:
    """The clicks at both ranks, of searches that swap the results of these ranks with probability 1/2."""
    rng = np.random.default_rng(seed)
    of = pages.relevance[rng.integers(len(pages.relevance), size=searches)]
    pair = of[:, [upper - 1, lower - 1]]
    swapped = rng.random(searches) < 0.5
    pair[swapped] = pair[swapped, ::-1]
    clicked = rng.random(pair.shape) < pair / np.array([upper, lower])
    return int(clicked[:, 0].sum()), int(clicked[:, 1].sum())


def test_the_experiment_has_the_wanted_precision() -> None:
    """300 experiments for each pair: the spread of log p is what the formula promises, within 4 standard errors; it is
    a little less where clicks are not rare."""
    pages = fixed()
    wanted = Wanted(0.2)
    for swap in plan(pages.impressions(), wanted).swaps:
        clicks = [experiment(pages, swap.upper, swap.lower, int(swap.searches), seed) for seed in range(300)]
        ratios = np.log([below / above for above, below in clicks])
        spread = ratios.std() / np.sqrt(wanted.variance)
        bound = 4 / np.sqrt(2 * 300)
        assert 0.9 - bound < spread < 1 + bound
        assert ratios.mean() == pytest.approx(np.log(1 / swap.lower), abs=4 * ratios.std() / np.sqrt(300))


def test_labelled_swaps_join_the_ranks_and_give_the_curve(engine: Engine) -> None:
    """Each search shows each document once, so that only the labels of the swaps tell ranks apart."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for n in range(12_000):
        lower = 2 + n % 2
        pair = rng.permutation([1, lower])
        clicked = rng.random(2) < np.array([0.5, 0.4]) / RANKS[pair - 1]
        results = [
            (f"d{n}-{i}", int(rank), int(click))
            for i, (rank, click) in enumerate(zip(pair, clicked, strict=True))
        ]
        rows += shown(n, *results, query=f"q{n}", swap=f"1-{lower}")
    found = estimate(impressions(engine, rows), Options())
    assert found.p == pytest.approx(1 / RANKS[:3], rel=0.1)
    assert ((found.low <= 1 / RANKS[:3]) & (1 / RANKS[:3] <= found.high)).all()
