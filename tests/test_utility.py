"""The estimator of utility: the paper's example first, then the reference, the identities and the invariants."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isclose

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import logbook
import reference
from reference import Click, Intent, Propensity, Rankings, Search
from wayword import utility
from wayword.config import PropensityConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.errors import WaywordError
from wayword.propensity.power_law import power_law
from wayword.propensity.stage import build
from wayword.utility import Measure

ZIPF = reference.power_law(1.0)
QUERIES = list(range(logbook.QUERIES))
FEW = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    yield database
    database.close()


def utilities(
    engine: Engine,
    searches: Sequence[Search],
    rankings: Rankings,
    p: Propensity,
    measure: Measure,
    queries: Sequence[int] = QUERIES,
) -> dict[tuple[int, int], float]:
    """û of every search for every query, 0 where the SQL has no row."""
    logbook.load(engine, searches, rankings, p)
    logbook.all_pairs(engine, searches, queries)
    utility.of_searches(engine, "u", "pairs", measure)
    found = {(row["search"], row["query"]): row["utility"] for row in engine.arrow("u").to_pylist()}
    return {(s, q): found.get((s, q), 0.0) for s in range(len(searches)) for q in queries}


def test_the_example_of_the_paper(engine: Engine) -> None:
    q1, q2, q3, q4 = range(4)
    a1, a2, a3 = range(3)
    fig_1 = {q1: {a1: 1, a2: 5}, q2: {a2: 10}, q3: {a2: 2, a3: 1}, q4: {a1: 1}}
    logged = Search(q1, (Click(a2, rank=5),))
    found = utilities(engine, [logged], fig_1, ZIPF, Measure())
    assert found == {
        (0, q1): (1 / 5) / (1 / 5),
        (0, q2): (1 / 10) / (1 / 5),
        (0, q3): (1 / 2) / (1 / 5),
        (0, q4): 0.0,
    }
    assert reference.neighbours(logged, fig_1) == {q1, q2, q3}
    assert reference.neighbours(Search(q1, (Click(a1, rank=1),)), fig_1) == {q1, q4}
    engine.step("tested", "SELECT search FROM numbered_searches WHERE split = 'test'")
    utility.alternatives(engine, "kept", "tested", Measure())
    assert {row["query"] for row in engine.arrow("kept").to_pylist()} == {q1, q3}


def test_propensity_has_every_rank_that_occurs_and_rank_1(engine: Engine) -> None:
    logbook.load(engine, [Search(0, (Click(0, rank=7),))], {0: {0: 3}}, ZIPF)
    build(engine, PropensityConfig(alpha=2.0))
    rows = {row["rank"]: row["p"] for row in engine.arrow("propensity").to_pylist()}
    assert rows == pytest.approx({1: 1.0, 3: 3**-2.0, 7: 7**-2.0})
    assert power_law([1, 2, 4], alpha=0.5).tolist() == pytest.approx([1, 2**-0.5, 4**-0.5])


@pytest.mark.parametrize("lost", [1, 3, 7])
def test_a_missing_propensity_is_an_error_that_names_the_rank(engine: Engine, lost: int) -> None:
    logbook.load(engine, [Search(0, (Click(0, rank=7),))], {0: {0: 3}}, ZIPF)
    logbook.all_pairs(engine, [Search(0)], [0])
    ranks = [rank for rank in (1, 3, 7) if rank != lost]
    engine.load("propensity", pa.table({"rank": pa.array(ranks, pa.int32()), "p": [1.0, 0.5]}))
    with pytest.raises(WaywordError, match=f"ranks {lost};"):
        utility.of_searches(engine, "u", "pairs", Measure())


@FEW
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=4),
    rankings=logbook.result_lists(),
    alpha=logbook.alphas,
    variant=st.sampled_from(reference.VARIANTS),
    max_ratio=logbook.bounds,
    max_weight=logbook.bounds,
)
def test_sql_is_the_reference(
    engine: Engine,
    searches: list[Search],
    rankings: Rankings,
    alpha: float,
    variant: str,
    max_ratio: float,
    max_weight: float,
) -> None:
    p = reference.power_law(alpha)
    measure = Measure(variant, max_ratio, max_weight)
    found = utilities(engine, searches, rankings, p, measure)
    bounds = {"max_ratio": max_ratio, "max_weight": max_weight}
    expected = {
        (s, q): reference.utility(searches[s], q, rankings, p, variant=variant, **bounds) for s, q in found
    }
    assert found == pytest.approx(expected, rel=1e-12)
    whole = {key: reference.utility(searches[key[0]], key[1], rankings, p) for key in found}
    cut = {(row["search"], row["query"]) for row in engine.arrow("u").to_pylist() if row["bounded"]}
    assert cut == (
        {key for key in whole if not isclose(expected[key], whole[key], rel_tol=1e-9)}
        if variant == "unbiased"
        else set()
    )


@FEW
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=4),
    rankings=logbook.result_lists(),
    variant=st.sampled_from(reference.VARIANTS),
    scale=st.floats(1e-3, 1e3),
    max_ratio=logbook.bounds,
    max_weight=logbook.bounds,
)
def test_scaling_all_propensities_changes_nothing(
    engine: Engine,
    searches: list[Search],
    rankings: Rankings,
    variant: str,
    scale: float,
    max_ratio: float,
    max_weight: float,
) -> None:
    measure = Measure(variant, max_ratio, max_weight)
    plain = utilities(engine, searches, rankings, ZIPF, measure)
    scaled = utilities(engine, searches, rankings, reference.power_law(1.0, scale), measure)
    assert scaled == pytest.approx(plain, rel=1e-9)


@FEW
@given(
    search=logbook.searches(),
    rankings=logbook.result_lists(),
    variant=st.sampled_from(reference.VARIANTS),
    max_ratio=logbook.bounds,
    max_weight=logbook.bounds,
    data=st.data(),
)
def test_a_better_rank_never_lowers_utility_and_an_absent_document_adds_nothing(
    engine: Engine,
    search: Search,
    rankings: Rankings,
    variant: str,
    max_ratio: float,
    max_weight: float,
    data: st.DataObject,
) -> None:
    assume(rankings[0])
    document = data.draw(st.sampled_from(sorted(rankings[0])))
    rank = rankings[0][document]
    better = {**rankings[0], document: data.draw(st.integers(1, rank))}
    without = {a: r for a, r in rankings[0].items() if a != document}
    nothing = {a: r for a, r in rankings[0].items() if a not in {c.document for c in search.clicks}}
    lists = {0: rankings[0], 1: better, 2: without, 3: nothing}
    found = utilities(engine, [search], lists, ZIPF, Measure(variant, max_ratio, max_weight))
    assert found[0, 1] >= found[0, 0] >= found[0, 2] >= found[0, 3] == 0.0


@FEW
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=3),
    rankings=logbook.result_lists(),
    max_ratio=logbook.bounds,
    max_weight=logbook.bounds,
)
def test_a_bound_never_raises_utility(
    engine: Engine, searches: list[Search], rankings: Rankings, max_ratio: float, max_weight: float
) -> None:
    free = utilities(engine, searches, rankings, ZIPF, Measure())
    bounded = utilities(engine, searches, rankings, ZIPF, Measure("unbiased", max_ratio, max_weight))
    assert all(bounded[key] <= free[key] for key in free)


def test_the_two_bounds_are_two_things(engine: Engine) -> None:
    """A click at rank 10: `max_ratio` 2 cuts only what is much better, `max_weight` 2 the weight of the click."""
    search, rankings = Search(0, (Click(0, rank=10),)), {0: {0: 10}, 1: {0: 5}, 2: {0: 1}}
    by_ratio = utilities(engine, [search], rankings, ZIPF, Measure(max_ratio=2), [0, 1, 2])
    assert list(by_ratio.values()) == [1.0, (1 / 5) / (1 / 10), 2.0]
    by_weight = utilities(engine, [search], rankings, ZIPF, Measure(max_weight=2), [0, 1, 2])
    assert list(by_weight.values()) == [1 / 10 * 2, 1 / 5 * 2, 1 / 1 * 2]


@FEW
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=4),
    rankings=logbook.result_lists(),
    alpha=logbook.alphas,
)
def test_alternatives_are_those_of_the_reference(
    engine: Engine, searches: list[Search], rankings: Rankings, alpha: float
) -> None:
    p = reference.power_law(alpha)
    logbook.load(engine, [*searches, replace(searches[0], split="ranker")], rankings, p)
    engine.step("tested", "SELECT search FROM numbered_searches WHERE split = 'test'")
    utility.alternatives(engine, "kept", "tested", Measure())
    found = {(row["search"], row["query"]) for row in engine.arrow("kept").to_pylist()}
    expected = {
        (s, q) for s in range(len(searches)) for q in reference.alternatives(searches[s], rankings, p)
    }
    own = {s: reference.utility(searches[s], searches[s].query, rankings, p) for s in range(len(searches))}
    for s, q in found ^ expected:  # only where rounding decides
        assert reference.utility(searches[s], q, rankings, p) == pytest.approx(own[s], rel=1e-12)


def means(
    engine: Engine, searches: Sequence[Search], rankings: Rankings, p: Propensity, measure: Measure
) -> dict[tuple[int, int], float]:
    """The mean û of every context that has a search, for every query."""
    logbook.load(engine, searches, rankings, p)
    logbook.all_pairs(engine, searches, QUERIES)
    utility.of_contexts(engine, "labels", "pairs", "test", measure)
    found = {(row["context"], row["query"]): row["utility"] for row in engine.arrow("labels").to_pylist()}
    return {(s.context, q): found.get((s.context, q), 0.0) for s in searches for q in QUERIES}


@FEW
@given(
    searches=st.lists(logbook.searches(), min_size=1, max_size=6),
    rankings=logbook.result_lists(),
    alpha=logbook.alphas,
    max_weight=logbook.bounds,
)
def test_the_mean_utility_is_the_inner_product_of_demand_and_exposure(
    engine: Engine, searches: list[Search], rankings: Rankings, alpha: float, max_weight: float
) -> None:
    p = reference.power_law(alpha)
    found = means(engine, searches, rankings, p, Measure(max_weight=max_weight))
    for (context, query), value in found.items():
        of_context = [s for s in searches if s.context == context]
        wanted = reference.demand(of_context, p, max_weight=max_weight)
        assert value == pytest.approx(
            reference.inner(wanted, reference.exposure(query, rankings, p)), rel=1e-12
        )
        assert value == pytest.approx(
            reference.mean_utility(
                of_context,
                query,
                lambda s, q: reference.utility(s, q, rankings, p, max_weight=max_weight),
            ),
            rel=1e-12,
        )


def test_max_ratio_breaks_the_inner_product_and_max_weight_keeps_it(engine: Engine) -> None:
    """Two logged ranks, one document: an inner product is linear in the exposure, and a bounded ratio is not."""
    searches = [Search(0, (Click(0, rank=10),)), Search(0, (Click(0, rank=2),))]
    rankings = {0: {0: 10}, 1: {0: 1}, 2: {}, 3: {}}
    by_ratio = means(engine, searches, rankings, ZIPF, Measure(max_ratio=3))
    by_weight = means(engine, searches, rankings, ZIPF, Measure(max_weight=3))
    exposed = ZIPF(1) / ZIPF(10)
    assert by_weight[0, 1] == pytest.approx(by_weight[0, 0] * exposed)
    assert by_weight[0, 1] == pytest.approx((3 + 2) / 2)
    assert by_ratio[0, 1] == pytest.approx((3 + 2) / 2)
    assert by_ratio[0, 0] == pytest.approx((1 + (1 / 10) / (1 / 2)) / 2)
    assert by_ratio[0, 1] < 0.5 * by_ratio[0, 0] * exposed


def test_searches_without_a_click_count_and_other_splits_do_not(engine: Engine) -> None:
    searches = [
        Search(0, (Click(0, rank=2),)),
        Search(0),
        Search(0, (Click(0, rank=2),), split="ranker"),
        Search(0, (Click(0, rank=2),), context=1),
    ]
    found = means(engine, searches, {0: {0: 2}, 1: {0: 1}, 2: {}, 3: {}}, ZIPF, Measure())
    assert found[0, 1] == (1 / (1 / 2) + 0) / 2
    assert found[1, 1] == 1 / (1 / 2)


# A world of one look per search: documents 0 to 3 are relevant or not, and 9 is never.
LISTS = {
    0: {0: 3, 1: 1, 9: 2},
    1: {0: 1, 1: 4, 2: 2},
    2: {0: 2, 3: 1},
    3: {1: 6, 9: 1},
}
DEPTH = 6
LOOKS = reference.power_law(1.0, 1 / sum(1 / k for k in range(1, DEPTH + 1)))


def one_look(intent: Intent, n: int, rng: np.random.Generator) -> list[Search]:
    """n searches of an intent: each looks at one rank and clicks what is there if it is relevant."""
    law = [LOOKS(rank) for rank in range(1, DEPTH + 1)]
    shown = {rank: a for a, rank in LISTS[intent.query].items()}
    searches = []
    for rank in rng.choice(np.arange(1, DEPTH + 1), size=n, p=law).tolist():
        document = shown.get(rank)
        clicks = (Click(document, rank),) if document in intent.relevant and document is not None else ()
        searches.append(Search(intent.query, clicks))
    return searches


@pytest.mark.parametrize(("logged", "relevant"), [(0, {0, 1, 2}), (1, {0, 2, 3}), (3, {1})])
def test_mean_and_variance_of_utility_meet_the_truth(engine: Engine, logged: int, relevant: set[int]) -> None:
    """Over all searches the mean meets u, over clicks u/u(q̄); the variance is Σ p_q²/p_q̄ − u², at most B·u − u²."""
    n, intent = 20_000, Intent(logged, 1.0, frozenset(relevant))
    searches = one_look(intent, n, np.random.default_rng(logged))
    clicked = sum(bool(s.clicks) for s in searches)
    found = utilities(engine, searches, LISTS, LOOKS, Measure())
    rate = reference.true_utility(relevant, logged, logged, LISTS, LOOKS)
    for query, returned in LISTS.items():
        values = np.array([found[s, query] for s in range(n)])
        u = reference.true_utility(relevant, query, logged, LISTS, LOOKS)
        variance = reference.second_moment(relevant, query, logged, LISTS, LOOKS) - u**2
        assert abs(values.mean() - u) <= 3.3 * np.sqrt(variance / n)
        of_clicks = values[[bool(s.clicks) for s in searches]]
        spread = reference.second_moment(relevant, query, logged, LISTS, LOOKS) / rate - (u / rate) ** 2
        assert abs(of_clicks.mean() - u / rate) <= 3.3 * np.sqrt(spread / clicked) + 1e-12
        fourth = np.mean((values - values.mean()) ** 4)
        assert abs(values.var() - variance) <= 3.3 * np.sqrt(fourth / n)
        shared = [a for a in relevant if a in LISTS[logged] and a in returned]
        bound = max((LOOKS(returned[a]) / LOOKS(LISTS[logged][a]) for a in shared), default=0.0)
        assert values.max() <= bound * (1 + 1e-12)
        assert variance <= bound * u - u**2 + 1e-12


def test_variance_for_one_shared_document() -> None:
    """p_q²/p_q̄ − p_q², where the paper's proof has p_q̄² in the denominator: exact, by adding up all looks."""
    logged, query, document = 0, 1, 0
    p_q, p_logged = LOOKS(LISTS[query][document]), LOOKS(LISTS[logged][document])
    values = np.array([p_q / p_logged if rank == LISTS[logged][document] else 0.0 for rank in range(1, 7)])
    law = np.array([LOOKS(rank) for rank in range(1, 7)])
    variance = law @ values**2 - (law @ values) ** 2
    assert law @ values == pytest.approx(p_q)
    assert variance == pytest.approx(p_q**2 / p_logged - p_q**2)
    assert variance != pytest.approx(p_q**2 / p_logged**2 - p_q**2)
    u = reference.true_utility([document], query, logged, LISTS, LOOKS)
    assert variance == pytest.approx(reference.second_moment([document], query, logged, LISTS, LOOKS) - u**2)


def test_a_document_that_the_logged_query_cannot_return_is_invisible(engine: Engine) -> None:
    """Document 3 is wanted and query 2 shows it first, but no search by query 0 can say so."""
    searches = one_look(Intent(0, 1.0, frozenset({3})), 500, np.random.default_rng(0))
    found = utilities(engine, searches, LISTS, LOOKS, Measure())
    assert set(found.values()) == {0.0}
    assert reference.true_utility([3], 2, 0, LISTS, LOOKS) == 0.0 < LOOKS(LISTS[2][3])
