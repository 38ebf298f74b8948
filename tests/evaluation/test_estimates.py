"""Utility@k: the estimates against the reference, the normalisation, and what the intervals promise."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

import logbook
import reference
from reference import Click, Rankings, Search
from wayword.bootstrap import interval, resample
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.estimates import at_cutoffs, estimate
from wayword.evaluation.outcomes import Outcomes, outcomes
from wayword.evaluation.stage import choose_tested
from wayword.utility import CUTOFFS, Measure, position_weights

ZIPF = reference.power_law(1.0)
QUICK = EvaluationConfig(bootstrap=20)
CONTEXTS = np.arange(logbook.CONTEXTS, dtype=np.int32)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    yield database
    database.close()


def values_of(outcome: Outcomes, config: EvaluationConfig = QUICK) -> dict[tuple[str, int], float]:
    return {(row["policy"], row["k"]): row["value"] for row in estimate(outcome, config)[0].to_pylist()}


lists_by_context = st.fixed_dictionaries(
    {context: st.permutations(range(logbook.QUERIES)) for context in range(logbook.CONTEXTS)}
).flatmap(lambda whole: st.integers(0, 4).map(lambda n: {c: q[:n] for c, q in whole.items()}))


@settings(max_examples=50, deadline=None)
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=6),
    rankings=logbook.result_lists(),
    lists=lists_by_context,
    candidates=lists_by_context,
    max_ratio=logbook.bounds,
)
def test_estimates_are_those_of_the_reference(
    engine: Engine,
    searches: list[Search],
    rankings: Rankings,
    lists: dict[int, list[int]],
    candidates: dict[int, list[int]],
    max_ratio: float,
) -> None:
    def of(search: Search, query: int) -> float:
        return reference.utility(search, query, rankings, ZIPF, max_ratio=max_ratio)

    assume(sum(of(s, s.query) for s in searches) > 0)
    elsewhere = [replace(s, split="ranker") for s in searches[:1]]
    logbook.load(engine, [*searches, *elsewhere], rankings, ZIPF)
    measure = Measure(max_ratio=max_ratio)
    outcome = outcomes(
        engine, {"some": logbook.as_candidates(lists)}, logbook.as_candidates(candidates), CONTEXTS, measure
    )
    found = values_of(outcome)
    own = sum(of(s, s.query) for s in searches)
    best = sum(max((of(s, q) for q in candidates[s.context]), default=0.0) for s in searches)
    assert found == pytest.approx(
        {
            ("logged", 1): 1.0,
            ("oracle", 1): best / own,
            **{("some", k): reference.utility_at(k, searches, lists, of) for k in CUTOFFS},
        },
        rel=1e-9,
        abs=1e-12,
    )


@pytest.mark.parametrize(("most", "kept"), [(0, 40), (15, 15), (100, 40)], ids=["all", "some", "more"])
def test_lists_are_measured_on_some_searches_with_a_click(engine: Engine, most: int, kept: int) -> None:
    """Those of smallest md5; searches without a click and of other splits keep their contexts."""
    searches = [Search(n % 3, (Click(0, 2, 1.0),)) for n in range(40)]
    logbook.load(engine, [*searches, Search(1), replace(searches[0], split="ranker")], {}, ZIPF)
    engine.step("numbered_searches", "SELECT *, concat('s', search) AS search_id FROM numbered_searches")
    before = engine.arrow("SELECT search FROM instances ORDER BY search")["search"].to_pylist()
    choose_tested(engine, most)
    after = engine.arrow("SELECT search FROM instances ORDER BY search")["search"].to_pylist()
    names = engine.arrow("SELECT search_id, search FROM numbered_searches").to_pylist()
    order = sorted(
        names, key=lambda row: hashlib.md5(str(row["search_id"]).encode(), usedforsecurity=False).hexdigest()
    )
    clicked = [row["search"] for row in order if row["search"] < len(searches)]
    assert after == [search for search in before if search not in clicked[kept:]]


def test_position_weights_sum_to_1() -> None:
    for k in CUTOFFS:
        harmonic = sum(1 / i for i in range(1, k + 1))
        assert position_weights(k).tolist() == pytest.approx([1 / j / harmonic for j in range(1, k + 1)])
        assert position_weights(k).sum() == pytest.approx(1.0)


def test_logged_is_1_with_several_clicks_and_weights_and_equals_a_list_of_its_equals(engine: Engine) -> None:
    """Ten queries with the logged one's result list are worth 1 at every k; a shorter list counts zeros."""
    returned = {0: 2, 1: 5, 2: 9}
    rankings = dict.fromkeys(range(11), returned)
    searches = [
        Search(0, (Click(0, 2, 3.0), Click(1, 5, 0.5))),
        Search(0, (Click(2, 9, 10.0),)),
        Search(0, (Click(1, 5, 0.0),)),
        Search(0),
    ]
    logbook.load(engine, searches, rankings, ZIPF)
    lists = {
        "ten": logbook.as_candidates({0: range(1, 11)}),
        "three": logbook.as_candidates({0: range(1, 4)}),
    }
    outcome = outcomes(engine, lists, logbook.as_candidates({0: [1]}), CONTEXTS, Measure())
    assert outcome.own.tolist() == [3.0 + 0.5, 10.0, 0.0]
    found = values_of(outcome)
    assert found["logged", 1] == 1.0
    assert [found["ten", k] for k in CUTOFFS] == pytest.approx([1.0, 1.0, 1.0])
    three = 1 + 1 / 2 + 1 / 3
    expected = [1.0, *(three / sum(1 / i for i in range(1, k + 1)) for k in CUTOFFS[1:])]
    assert [found["three", k] for k in CUTOFFS] == pytest.approx(expected)


def test_the_share_of_bounded_terms_is_known_for_every_policy(engine: Engine) -> None:
    """Logged at 10, and 2 in today's rankings: the drifted own query is cut by the bound, as is a query at 1."""
    rankings = {0: {0: 2}, 1: {0: 1}, 2: {0: 10}}
    logbook.load(engine, [Search(0, (Click(0, 10),))], rankings, ZIPF)
    lists = {"mixed": logbook.as_candidates({0: [1, 2]})}
    outcome = outcomes(engine, lists, logbook.as_candidates({0: [2]}), CONTEXTS, Measure(max_ratio=2.0))
    assert outcome.bounded == {"logged": 1.0, "mixed": 1 / 2, "oracle": 0.0}
    assert outcome.clipped["mixed"] == 1 - (2 + 10 / 10) / (10 / 1 + 10 / 10)


def simulated(n: int, rng: np.random.Generator) -> Outcomes:
    """Searches of weight 1 or 3, with policies worth 1.2 and 0.9 of the logged query on average."""
    own = rng.choice([1.0, 3.0], size=n)
    noise = rng.gamma(0.5, 2.0, size=n)  # mean 1, heavy tail
    lists = {
        "logged": own[:, None],
        "good": (own * noise * 1.2)[:, None],
        "poor": (own * noise * 0.9)[:, None],
    }
    return Outcomes(own, {name: np.pad(u, ((0, 0), (0, 9))) for name, u in lists.items()}, {})


def test_intervals_cover_the_truth_as_often_as_they_promise() -> None:
    config, worlds = EvaluationConfig(bootstrap=200, level=0.9), 300
    covered = {("good", "logged"): 0, ("good", "poor"): 0, "good": 0}
    rng = np.random.default_rng(1)
    for _ in range(worlds):
        estimates, differences = estimate(simulated(600, rng), config)
        good = next(r for r in estimates.to_pylist() if (r["policy"], r["k"]) == ("good", 1))
        covered["good"] += good["low"] <= 1.2 <= good["high"]
        for row in differences.to_pylist():
            truth = {("good", "logged"): 0.2, ("good", "poor"): 0.3}.get((row["policy"], row["other"]))
            if row["k"] == 1 and truth is not None:
                covered[row["policy"], row["other"]] += row["low"] <= truth <= row["high"]
    noise = 3.3 * np.sqrt(0.9 * 0.1 / worlds)
    for count in covered.values():  # percentile intervals of a skewed mean are a little short
        assert 0.9 - 0.02 - noise <= count / worlds <= 0.9 + noise


def test_differences_are_paired_and_antisymmetric() -> None:
    estimates, differences = estimate(
        simulated(400, np.random.default_rng(2)), EvaluationConfig(bootstrap=300)
    )
    value = {(r["policy"], r["k"]): r for r in estimates.to_pylist()}
    rows = {(r["policy"], r["other"], r["k"]): r for r in differences.to_pylist()}
    for (one, other, k), row in rows.items():
        assert row["value"] == pytest.approx(value[one, k]["value"] - value[other, k]["value"])
        back = rows[other, one, k]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(
            (-back["value"], -back["high"], -back["low"])
        )
    paired = rows["good", "poor", 1]
    assert 0 < paired["low"] < paired["high"]
    apart = (
        value["good", 1]["high"]
        - value["good", 1]["low"]
        + value["poor", 1]["high"]
        - value["poor", 1]["low"]
    )
    assert paired["high"] - paired["low"] < apart / 3  # what the policies share cancels


def test_effective_n_is_that_of_kish() -> None:
    outcome = Outcomes(
        np.ones(4), {"logged": np.ones((4, 1)), "oracle": np.array([[4.0], [0], [0], [0]])}, {}
    )
    rows = {r["policy"]: r for r in estimate(outcome, QUICK)[0].to_pylist()}
    assert (rows["logged"]["effective_n"], rows["oracle"]["effective_n"]) == (4.0, 4.0**2 / 4.0**2)
    assert rows["logged"]["n"] == 4


def test_the_same_seed_gives_equal_tables_and_another_does_not() -> None:
    outcome = simulated(100, np.random.default_rng(3))
    one, again = estimate(outcome, QUICK), estimate(outcome, QUICK)
    assert all(a.equals(b) for a, b in zip(one, again, strict=True))
    other = estimate(outcome, structs.replace(QUICK, seed=1))
    assert one[0]["value"].equals(other[0]["value"])
    assert not one[0]["low"].equals(other[0]["low"])


def test_resampling_in_blocks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = simulated(50, np.random.default_rng(4))
    values = np.column_stack(list(at_cutoffs(outcome).values()))
    whole = resample(values, outcome.own, QUICK)
    monkeypatch.setattr("wayword.bootstrap.RESAMPLED_AT_ONCE", 150)
    assert resample(values, outcome.own, QUICK) == pytest.approx(whole)


def test_draws_without_own_utility_are_left_out() -> None:
    """The rankings have drifted: the first search's own query no longer returns what it clicked."""
    own, values = np.array([0.0, 1.0]), np.array([[2.0], [1.0]])
    replicates = resample(values, own, EvaluationConfig(bootstrap=500))
    assert len(replicates) < 500
    assert np.isfinite(replicates).all()
    assert np.isnan(interval(np.zeros((0, 2)), 0.95)[0]).all()


def test_nothing_to_test_gives_empty_tables(engine: Engine) -> None:
    for searches in (
        [],
        [Search(0)],
        [Search(0, (Click(3, 1),))],
        [Search(0, (Click(0, 1),), split="ranker")],
    ):
        logbook.load(engine, searches, {0: {0: 1}}, ZIPF)
        lists = {"some": logbook.as_candidates({0: [0]})}
        outcome = outcomes(engine, lists, logbook.as_candidates({}), CONTEXTS, Measure())
        estimates, differences = estimate(outcome, QUICK)
        assert (estimates.num_rows, differences.num_rows) == (0, 0)
        assert "effective_n" in estimates.column_names
