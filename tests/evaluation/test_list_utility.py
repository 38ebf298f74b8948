"""List utility on the log: against the reference, and beside Utility@k, which it leaves as it is."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import logbook
import reference
from reference import Click, Rankings, Search
from wayword.config import EvaluationConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.estimates import LIST_UTILITY, METRICS, UTILITY, estimate
from wayword.evaluation.outcomes import Outcomes, outcomes
from wayword.utility import CUTOFFS, Measure

ZIPF = reference.power_law(1.0)
QUICK = EvaluationConfig(bootstrap=20)
CONTEXTS = np.arange(logbook.CONTEXTS, dtype=np.int32)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    yield database
    database.close()


def values_of(outcome: Outcomes, metric: str) -> dict[tuple[str, int], float]:
    rows = estimate(outcome, QUICK, METRICS)[0].to_pylist()
    return {(row["policy"], row["k"]): row["value"] for row in rows if row["metric"] == metric}


@st.composite
def searches(draw: st.DrawFn) -> Search:
    """A search that may click a document twice, at another rank and weight."""
    search = draw(logbook.searches())
    again = draw(st.lists(st.sampled_from(search.clicks), max_size=2)) if search.clicks else []
    twice = [Click(click.document, draw(logbook.ranks), draw(logbook.weights)) for click in again]
    return Search(search.query, (*search.clicks, *twice), search.context)


lists_by_context = st.fixed_dictionaries(
    {context: st.permutations(range(logbook.QUERIES)) for context in range(logbook.CONTEXTS)}
).flatmap(lambda whole: st.integers(0, 4).map(lambda n: {c: q[:n] for c, q in whole.items()}))


@settings(max_examples=50, deadline=None)
@given(
    searches=st.lists(searches(), min_size=1, max_size=6),
    rankings=logbook.result_lists(),
    some=lists_by_context,
    others=lists_by_context,
    max_ratio=logbook.bounds,
    max_weight=logbook.bounds,
)
def test_list_utility_is_that_of_the_reference(
    engine: Engine,
    searches: list[Search],
    rankings: Rankings,
    some: dict[int, list[int]],
    others: dict[int, list[int]],
    max_ratio: float,
    max_weight: float,
) -> None:
    def of(search: Search, query: int) -> float:
        return reference.utility(search, query, rankings, ZIPF, max_ratio=max_ratio, max_weight=max_weight)

    assume(sum(of(s, s.query) for s in searches) > 0)
    logbook.load(engine, searches, rankings, ZIPF)
    lists = {"some": some, "others": others}
    listed = {name: logbook.as_candidates(found) for name, found in lists.items()}
    measure = Measure(max_ratio=max_ratio, max_weight=max_weight)
    outcome = outcomes(engine, listed, logbook.as_candidates(some), CONTEXTS, measure)
    found = values_of(outcome, LIST_UTILITY)
    expected = {
        (name, k): reference.list_utility_at(k, searches, lists[name], of) for name in lists for k in CUTOFFS
    }
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    utility = values_of(outcome, UTILITY)
    for name in lists:
        assert found[name, 1] == pytest.approx(utility[name, 1])
        assert all(found[name, k] >= utility[name, k] * (1 - 1e-9) for k in CUTOFFS)
        assert found[name, 1] * (1 - 1e-9) <= found[name, 5] <= found[name, 10]


@settings(max_examples=50, deadline=None)
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=6),
    rankings=logbook.result_lists(),
    lists=lists_by_context,
    variant=st.sampled_from(["dcg", "mrr"]),
)
def test_of_judgments_it_is_the_utility_of_the_best_shown_query(
    engine: Engine, searches: list[Search], rankings: Rankings, lists: dict[int, list[int]], variant: str
) -> None:
    def of(search: Search, query: int) -> float:
        return reference.utility(search, query, rankings, ZIPF, variant=variant)

    own = sum(of(s, s.query) for s in searches)
    assume(own > 0)
    logbook.load(engine, searches, rankings, ZIPF)
    outcome = outcomes(
        engine,
        {"some": logbook.as_candidates(lists)},
        logbook.as_candidates(lists),
        CONTEXTS,
        Measure(variant),
    )
    assert values_of(outcome, LIST_UTILITY) == pytest.approx(
        {
            ("some", k): sum(max((of(s, q) for q in lists[s.context][:k]), default=0.0) for s in searches)
            / own
            for k in CUTOFFS
        }
    )


def test_two_queries_may_each_serve_one_click(engine: Engine) -> None:
    """Two clicks of one search: the logged query shows both at 2, the others one each at 1."""
    rankings = {0: {0: 2, 1: 3}, 1: {0: 1}, 2: {1: 1}}
    logbook.load(engine, [Search(0, (Click(0, 2), Click(1, 3)))], rankings, ZIPF)
    lists = {"logged alone": logbook.as_candidates({0: [0]}), "both": logbook.as_candidates({0: [1, 2]})}
    found = values_of(
        outcomes(engine, lists, logbook.as_candidates({0: [0]}), CONTEXTS, Measure()), LIST_UTILITY
    )
    assert [found["logged alone", k] for k in CUTOFFS] == pytest.approx([1.0, 1.0, 1.0])
    assert [found["both", k] for k in CUTOFFS] == pytest.approx([2 / 2, (2 + 3) / 2, (2 + 3) / 2])


def drawn(seed: int) -> Outcomes:
    rng = np.random.default_rng(seed)
    own, lists = rng.gamma(1.0, size=300), rng.gamma(1.0, size=(300, 10))
    together = np.column_stack([lists[:, :k].max(axis=1) for k in CUTOFFS])
    return Outcomes(own, {"logged": own[:, None], "some": lists}, {"some": 0.25}, {"some": together})


def test_utility_is_the_same_to_the_last_bit_with_and_without_list_utility() -> None:
    alone, differences = estimate(drawn(1), EvaluationConfig(bootstrap=200))
    both, again = estimate(drawn(1), EvaluationConfig(bootstrap=200), METRICS)
    assert both.slice(0, alone.num_rows).equals(alone)
    assert again.equals(differences)
    assert set(both.slice(alone.num_rows)["metric"].to_pylist()) == {LIST_UTILITY}


def test_list_utility_has_the_intervals_of_the_same_resamples() -> None:
    """At 1 the two metrics are the same number, with the same interval, effective n and share."""
    rows = estimate(drawn(2), EvaluationConfig(bootstrap=200), METRICS)[0].to_pylist()
    utility, whole = ([r for r in rows if (r["policy"], r["metric"]) == ("some", m)] for m in METRICS)
    for name in ("value", "low", "high", "n", "effective_n", "share_bounded"):
        assert utility[0][name] == pytest.approx(whole[0][name])
    assert all(row["low"] < row["value"] < row["high"] for row in whole)


def test_estimates_without_any_utility_are_empty() -> None:
    outcome = Outcomes(np.zeros(3), {"some": np.ones((3, 10))}, {}, {"some": np.ones((3, len(CUTOFFS)))})
    assert estimate(outcome, QUICK, METRICS)[0].num_rows == 0
