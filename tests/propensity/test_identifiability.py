"""Tables that cannot tell ranks apart: one clear sentence each."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from made_impressions import LAWS, impressions, one_sentence, shown

from inputs import Row
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.propensity.comparison import compare
from wayword.propensity.estimate import Options, estimate, spans
from wayword.propensity.identifiability import LEAST_CLICKS
from wayword.propensity.rank_groups import rank_groups
from wayword.propensity.swap_plan import Wanted, plan
from wayword.simulation.result_pages import World, draw


def moving(
    searches: int, *, clicked: Callable[[int, int], bool] = lambda n, rank: n % (rank + 3) == 0
) -> list[Row]:
    """Searches that show two documents in changing order."""
    rows = []
    for n in range(searches):
        first = n % 2
        results = [("ab"[(first + rank) % 2], rank + 1, int(clicked(n, rank + 1))) for rank in range(2)]
        rows += shown(n, *results)
    return rows


def separate(searches: int) -> list[Row]:
    """Ranks 1 and 2 change places, and ranks 4 and 5 do."""
    rows = []
    for n in range(searches):
        first = "abcd" if n % 2 else "badc"
        rows += shown(n, *((d, r, int(n % 7 == r)) for d, r in zip(first, (1, 2, 4, 5), strict=True)))
    return rows


BAD = {
    "no click": (moving(60, clicked=lambda *_: False), "Found no click in 120 impressions; expected some"),
    "all clicks at rank 1": (moving(60, clicked=lambda n, rank: rank == 1 and n > 9), "Found all 50 clicks at rank 1"),
    "clicks without impressions": (moving(60, clicked=lambda *_: True), "Found 120 clicks and no impression without"),
    "clicked searches alone": (
        moving(60, clicked=lambda n, rank: n % 2 + 1 == rank),
        "Found a click in 60 of 60 searches; expected also the searches without a click",
    ),
    "no pair at two ranks": (
        [row for n in range(60) for row in shown(n, ("a", 1, n % 3 == 0), ("b", 2, n % 5 == 0))],
        "Found no query with a document that was shown at two ranks; expected some",
    ),
    "pairs that move between weeks alone": (
        [row for n in range(60) for row in shown(n, ("a", 1 + (n > 30), n % 3 == 0), day=7 * (n > 30))],
        'shown at two ranks within a week (`--period none` or [propensity] period = "none" looks at all)',
    ),
    "one click": (moving(60, clicked=lambda n, rank: n == 7 and rank == 2), "Found the only click at rank 2"),
    "one search": (shown(1, ("a", 1, 1), ("b", 2, 0)), "Found one search with 2 impressions"),
    "ten rows": (moving(5), f"clicks on results that were shown at several ranks; expected {LEAST_CLICKS} or more"),
    "no rank 1": (
        [{**row, "rank": row["rank"] + 1} for row in moving(300)],
        "Found ranks from 2 on; expected rank 1 too",
    ),
    "separate groups": (
        separate(700),
        "Found ranks in 2 groups that no clicked result joins (1–2; 4–5); expected each rank to be joined with rank 1: "
        "collect results that were shown, and clicked, at both ranks of 2 and 4 (`wayword propensity plan`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_tables_that_say_nothing_are_refused(engine: Engine, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(LogError, match=re.escape(message)) as error:
        estimate(impressions(engine, rows), Options())
    assert one_sentence(str(error.value))


def test_a_rank_is_joined_where_clicks_lead_both_ways(engine: Engine) -> None:
    rows = [*shown(0, ("a", 1, 1)), *shown(1, ("a", 2, 0)), *shown(2, ("b", 2, 1)), *shown(3, ("b", 3, 1))]
    data = impressions(engine, rows)
    assert [group.tolist() for group in rank_groups(data.strata)] == [[1], [2, 3]]
    rows += [*shown(4, ("c", 1, 0)), *shown(5, ("c", 2, 1))]
    assert [group.tolist() for group in rank_groups(impressions(engine, rows).strata)] == [[1, 2, 3]]


def test_ranks_with_few_clicks_have_the_fitted_law_and_it_is_said() -> None:
    world = World(queries=200, shown=10, search_noise=1.5)
    data = draw(np.random.default_rng(0), LAWS["alpha 2"], searches=3000, world=world).impressions()
    found = estimate(data, Options())
    assert found.last < 10
    assert found.by_law[-1] == 10
    assert any(
        note.startswith("By the power law") and f": {spans(found.by_law)}. There, fewer than" in note
        for note in found.notes
    )
    p = found.law.at(found.by_law)[0]
    assert found.p[found.by_law - 1] == pytest.approx(p)
    assert (np.diff(found.p[found.last - 1 :]) <= 0).all()


def test_ranks_that_were_never_shown_are_named() -> None:
    data = draw(np.random.default_rng(0), LAWS["alpha 1"], searches=5000).impressions()
    apart = data.at(np.array([1, 2, 3, 6, 7, 8]))
    found = estimate(apart, Options())
    (note,) = [note for note in found.notes if note.startswith("Never shown")]
    assert note.startswith("Never shown: ranks 4–5, though others are down to 8; expected all: ")
    assert one_sentence(note)
    assert found.at(np.array([5]))["p"][0].as_py() == pytest.approx(1 / 5, rel=0.3)


def test_ranks_far_apart_are_fitted(engine: Engine) -> None:
    """The first guess, 1/rank, is wrong by orders of magnitude where the third result stands at rank 50,000."""
    rows, ranks = [], [1, 2, 50_000]
    for n in range(600):
        results = [
            ("abc"[(n + place) % 3], rank, int(n % (3 * place + 4) == 0)) for place, rank in enumerate(ranks)
        ]
        rows += shown(n, *results)
    found = estimate(impressions(engine, rows), Options())
    clicks = [sum(row["clicked"] for row in rows if row["rank"] == rank) for rank in ranks]
    assert found.p == pytest.approx(np.array(clicks) / clicks[0], rel=0.1)
    assert any("Never shown: ranks 3–49999, though" in note for note in found.notes)


def test_one_search_with_very_many_results_takes_no_memory_for_pairs_of_ranks(engine: Engine) -> None:
    many = [(f"d{rank}", rank, 0) for rank in range(1, 20_001)]
    data = impressions(engine, [*moving(300), *shown(999, *many, query="many")])
    found = compare(data)
    assert found.estimates["likelihood"].by_law.tolist() == list(range(3, 20_001))
    groups = plan(data, Wanted()).groups
    assert groups[0].tolist() == [1, 2]
    assert len(groups) == 1 + 19_998
