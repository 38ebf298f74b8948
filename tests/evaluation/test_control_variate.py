"""The control variate of the cut: mean 0 over the cuts, no bias, less variance where it predicts and none added."""

from collections.abc import Iterator
from math import log1p, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.config import EvaluationConfig, PrefixConfig
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.evaluation.control_variate import FEATURES, SEARCHES, adjusted, deviations
from wayword.evaluation.estimates import CONTROL_VARIATE, IPS, best, estimate, more_precise
from wayword.evaluation.outcomes import Outcomes

TEXTS = ["ab", "abc", "b"]
TRAINED = [3, 1, 0]
"""Training searches of each query."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    database = DuckDB(threads=1)
    yield database
    database.close()


def load(engine: Engine, tested: list[tuple[int, str, bool]]) -> None:
    """Test searches as (query, prefix, recorded), after the training searches."""
    trained = [query for query, n in enumerate(TRAINED) for _ in range(n)]
    queries = trained + [query for query, _, _ in tested]
    recorded = [None] * len(trained) + [prefix if fixed else None for _, prefix, fixed in tested]
    prefixes = sorted({prefix for _, prefix, _ in tested})
    searches = np.arange(len(trained), len(queries))
    context = pa.array([prefixes.index(prefix) for _, prefix, _ in tested], pa.int32())
    for name, columns in {
        "queries": {"query": pa.array([0, 1, 2], pa.int32()), "text": TEXTS},
        "numbered_searches": {
            "search": np.arange(len(queries)),
            "query": pa.array(queries, pa.int32()),
            "text": [TEXTS[query] for query in queries],
            "prefix": pa.array(recorded, pa.string()),
            "split": ["ranker"] * len(trained) + ["test"] * len(tested),
        },
        "contexts": {"context": pa.array(range(len(prefixes)), pa.int32()), "prefix": prefixes},
        "test_searches": {"place": np.arange(len(tested)), "search": searches, "context": context},
    }.items():
        engine.load(name, pa.table(columns))


def features(query: int, prefix: str) -> list[float]:
    """The slow version: counts over all queries, each with half a search more."""
    begin = [n for n, text in enumerate(TEXTS) if text.startswith(prefix)]
    share = (TRAINED[query] + 0.5) / sum(TRAINED[n] + 0.5 for n in begin)
    return [share, log1p(len(begin)), sqrt(share), len(prefix) / len(TEXTS[query])]


def test_deviations_are_from_the_mean_over_the_cuts(engine: Engine) -> None:
    load(engine, [(1, "a", False), (1, "ab", False), (0, "a", False), (1, "ab", True)])
    found = deviations(engine, PrefixConfig())
    of_cuts = {1: ["a", "ab"], 0: ["a"]}
    for row, (query, prefix) in enumerate([(1, "a"), (1, "ab"), (0, "a")]):
        mean = np.mean([features(query, cut) for cut in of_cuts[query]], axis=0)
        assert found[row] == pytest.approx(features(query, prefix) - mean)
    assert (found[0] + found[1]).tolist() == pytest.approx([0] * len(FEATURES))
    assert (found[2:] == 0).all()  # one cut only; a recorded prefix


def test_without_cut_prefixes_there_is_no_control_variate(engine: Engine) -> None:
    load(engine, [(1, "a", True)])
    centred = deviations(engine, PrefixConfig())
    assert centred.shape == (1, len(FEATURES))
    values = np.array([[3.0]])
    assert adjusted(values, np.ones(1), centred).tolist() == values.tolist()
    outcome = Outcomes(np.ones(1), {"logged": np.ones((1, 1))}, {})
    assert estimate(outcome, EvaluationConfig(bootstrap=2), centred=centred)[0]["estimator"].to_pylist() == [
        IPS
    ]


@given(seed=st.integers(0, 1000), n=st.integers(1, 400), columns=st.integers(1, 3))
def test_the_logged_query_is_worth_1_exactly_and_scales_do_not_matter(
    seed: int, n: int, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    own, centred = rng.choice([0.0, 1.0, 3.0], n), rng.normal(size=(n, 2))
    values = np.column_stack([own, rng.gamma(1.0, 1.0, (n, columns))])
    found = adjusted(values, own, centred)
    assert (found[:, 0] == own).all()
    assert found == pytest.approx(adjusted(values * 8, own * 8, centred * 3) / 8, rel=1e-6, abs=1e-9)
    if n < SEARCHES:
        assert (found == values).all()


def redrawn(n: int, explained: float, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """(estimator, repeat): Utility of a policy worth 0.6, whose value is explained by the cut to a share."""
    found = []
    for _ in range(repeats):
        own = rng.choice([1.0, 2.0], n)
        centred = rng.normal(size=(n, 4))
        noise = rng.gamma(0.3, 1 / np.sqrt(0.3), n) - np.sqrt(0.3)
        value = own * (0.6 + sqrt(explained) * centred[:, 0] + sqrt(1 - explained) * noise)
        found.append([value.sum() / own.sum(), adjusted(value[:, None], own, centred).sum() / own.sum()])
    return np.array(found).T


@pytest.mark.parametrize("n", [150, 1000])
@pytest.mark.parametrize("explained", [0.0, 0.05, 0.6])
def test_the_variance_falls_by_what_is_explained_and_never_rises(n: int, explained: float) -> None:
    """2,000 repeats: the ratio of the variances is known to about 2 %, where nothing is explained to far less."""
    ips, controlled = redrawn(n, explained, 2000, np.random.default_rng(n))
    assert abs(controlled.mean() - 0.6) < 4 * controlled.std() / sqrt(2000)
    ratio = controlled.var() / ips.var()
    assert ratio < 1.02
    assert ratio == pytest.approx(1 - explained, abs=0.05)


def test_both_estimators_are_listed_and_the_best_is_chosen() -> None:
    rng = np.random.default_rng(0)
    own, centred = np.ones(200), rng.normal(size=(200, 1))
    value = 0.5 + 0.3 * centred + 0.1 * rng.normal(size=(200, 1))
    outcome = Outcomes(own, {"logged": own[:, None], "good": value}, {})
    estimates, differences = estimate(outcome, EvaluationConfig(bootstrap=200), centred=centred)
    rows = {(row["policy"], row["estimator"]): row for row in estimates.to_pylist()}
    assert list(rows) == [(p, e) for e in (IPS, CONTROL_VARIATE) for p in ("logged", "good")]
    wide, narrow = (rows["good", name] for name in (IPS, CONTROL_VARIATE))
    assert narrow["standard_error"] == pytest.approx(0.1 / sqrt(200), rel=0.2)
    assert wide["standard_error"] == pytest.approx(sqrt(0.3**2 + 0.1**2) / sqrt(200), rel=0.2)
    assert narrow["high"] - narrow["low"] < (wide["high"] - wide["low"]) / 2
    assert narrow["low"] < 0.5 < narrow["high"]
    for table, n in ((estimates, 2), (differences, 2)):
        assert best(table)["estimator"].to_pylist() == [CONTROL_VARIATE] * n


def test_an_estimator_with_larger_standard_errors_is_not_chosen() -> None:
    outcome = Outcomes(np.ones(4), {"good": np.array([[0.0], [1.0], [0.0], [1.0]])}, {})
    steady = Outcomes(np.ones(4), {"good": np.array([[0.4], [0.6], [0.4], [0.6]])}, {})
    wide, narrow = (estimate(one, EvaluationConfig(bootstrap=20))[0] for one in (outcome, steady))
    assert more_precise(narrow, wide)
    assert not more_precise(wide, narrow)


def test_what_is_zero_but_for_rounding_counts_nowhere() -> None:
    """The residuals of logged queries are 0: in other units of p they are rounding errors."""
    random = np.random.default_rng(5)
    centred, own = random.normal(size=(600, 2)), random.exponential(size=600)
    values = own * (1 + 0.3 * centred[:, 0]) + random.normal(size=600)
    exact = adjusted(np.column_stack([values, own]), own, centred)
    rounded = adjusted(np.column_stack([values, own * (1 + 1e-16 * random.normal(size=600))]), own, centred)
    nearly = adjusted(np.column_stack([values, own + 1e-14 * random.normal(size=600)]), own, centred)
    assert rounded[:, 0] == pytest.approx(exact[:, 0], rel=1e-9)
    assert nearly[:, 0] == pytest.approx(exact[:, 0], rel=1e-9)
