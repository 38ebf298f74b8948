"""What every ranker must do, run on every member of the family."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from progress_steps import Steps
from wayword.completion.candidates import Candidates
from wayword.config import RankerConfig
from wayword.errors import WaywordError, WorkspaceError
from wayword.paper.rankers import (
    RANKERS,
    Examples,
    Ranker,
    reorder,
)

CONFIG = RankerConfig(depth=3, rounds=20)
FEATURES = 5


def synthetic(groups: int, size: int, seed: int) -> Examples:
    """Utility grows with feature 0 and falls with feature 1; feature 4 is one number per context."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(groups * size, FEATURES)).astype(np.float32)
    features[:, 4] = np.repeat(generator.normal(size=groups), size)
    labels = np.maximum(0.0, 2 * features[:, 0] - features[:, 1]).astype(np.float64)
    weights = generator.integers(1, 9, groups).astype(np.float64)
    return Examples(features, labels, np.full(groups, size), weights)


EXAMPLES = synthetic(groups=60, size=8, seed=0)


@pytest.fixture(scope="module", params=list(RANKERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ranker(name: str) -> Ranker:
    return RANKERS[name].fit(EXAMPLES, CONFIG)


def ordered_share(ranker: Ranker, examples: Examples) -> float:
    """Share of the pairs of different labels, groups being of one size, that the scores order rightly."""
    size = int(examples.sizes[0])
    labels, scores = (a.reshape(-1, size) for a in (examples.labels, ranker.score(examples.features)))
    better = labels[:, :, None] > labels[:, None, :]
    return float((scores[:, :, None] > scores[:, None, :])[better].mean())


def files(ranker: Ranker, folder: Path) -> dict[str, str]:
    ranker.save(folder)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def test_it_orders_contexts_that_it_has_not_seen(ranker: Ranker) -> None:
    assert ordered_share(ranker, synthetic(groups=60, size=8, seed=1)) > 0.9


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, len(EXAMPLES.features) - 1), min_size=1, max_size=200))
def test_a_candidate_has_the_same_bits_alone_and_among_others(ranker: Ranker, rows: list[int]) -> None:
    whole = ranker.score(EXAMPLES.features)
    assert whole.dtype == np.float32
    assert ranker.score(EXAMPLES.features[rows]).tobytes() == whole[rows].tobytes()
    assert ranker.score(EXAMPLES.features[rows[:1]]).tobytes() == whole[rows[:1]].tobytes()


def test_loaded_gives_the_same_scores(name: str, ranker: Ranker, tmp_path: Path) -> None:
    ranker.save(tmp_path)
    for threads in (1, 2):
        loaded = RANKERS[name].load(tmp_path, threads=threads)
        assert loaded.score(EXAMPLES.features).tobytes() == ranker.score(EXAMPLES.features).tobytes()


def test_the_same_examples_give_the_same_files_on_any_number_of_threads(
    name: str, ranker: Ranker, tmp_path: Path
) -> None:
    again, on_two = (RANKERS[name].fit(EXAMPLES, CONFIG, threads=threads) for threads in (1, 2))
    first = files(ranker, tmp_path / "first")
    assert files(again, tmp_path / "again") == first
    assert files(on_two, tmp_path / "two") == first


def test_nothing_is_pickled(ranker: Ranker, tmp_path: Path) -> None:
    assert {Path(file).suffix for file in files(ranker, tmp_path)} <= {".ubj", ".npy"}
    for file in tmp_path.iterdir():
        assert not file.read_bytes().startswith(b"\x80")


def test_garbage_is_named(name: str, ranker: Ranker, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="Train the ranker again"):
        RANKERS[name].load(tmp_path / "nowhere")
    ranker.save(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"garbage")
    with pytest.raises(WorkspaceError, match=file.name):
        RANKERS[name].load(tmp_path)


def test_progress_runs_to_its_end(name: str) -> None:
    progress = Steps()
    RANKERS[name].fit(EXAMPLES, CONFIG, progress=progress)
    seen = progress.steps
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_groups_without_two_labels_and_single_candidates_add_nothing(name: str) -> None:
    """They train the same order as if they were not there."""
    generator = np.random.default_rng(3)
    extra = generator.normal(size=(5, FEATURES)).astype(np.float32)
    more = Examples(
        np.concatenate([EXAMPLES.features, extra]),
        np.r_[EXAMPLES.labels, [2.0] * 4, 7.0],
        np.r_[EXAMPLES.sizes, 4, 1],
        np.r_[EXAMPLES.weights, 3.0, 2.0],
    )
    assert ordered_share(RANKERS[name].fit(more, CONFIG), synthetic(60, 8, seed=1)) > 0.9


@pytest.mark.parametrize("sizes", [[480], [1] * 480, [8] * 60])
def test_with_nothing_to_learn_every_list_stays_as_the_retriever_made_it(name: str, sizes: list[int]) -> None:
    constant = np.repeat(np.arange(len(sizes), dtype=np.float64), sizes)
    examples = Examples(EXAMPLES.features, constant, np.array(sizes), np.ones(len(sizes)))
    scores = RANKERS[name].fit(examples, CONFIG).score(EXAMPLES.features)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) == 1
    proposed = Candidates(
        np.zeros(480, np.int32), np.arange(480, dtype=np.int32)[::-1], np.ones(480, np.float32)
    )
    assert reorder(proposed, scores).query.tolist() == proposed.query.tolist()


def test_weights_are_the_groups(name: str) -> None:
    """Half of the contexts want feature 0, the other half its opposite: the heavier half decides."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(400, 1)).astype(np.float32)
    labels = (features[:, 0] * np.repeat([1.0, -1.0], 200)).astype(np.float64)
    sizes = np.full(40, 10)
    for heavy, sign in ((0, 1), (1, -1)):
        weights = np.repeat([100.0, 1.0] if heavy == 0 else [1.0, 100.0], 20)
        scores = RANKERS[name].fit(Examples(features, labels, sizes, weights), CONFIG).score(features)
        assert sign * np.corrcoef(scores, features[:, 0])[0, 1] > 0.8


def test_no_rows_no_scores(ranker: Ranker) -> None:
    assert ranker.score(np.zeros((0, FEATURES), np.float32)).shape == (0,)


def utilities(seed: int) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """30 contexts of 6 candidates and 5 searches, each with a click: features, and û unbiased and biased.

    The unbiased û(s, q) = p[rank_q(a)]/p[r̄] with p ∝ 1/rank is (logged rank)/rank; the biased one, 1/rank,
    forgets at which rank the click was seen. Axes: context, search, candidate.
    """
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(30 * 6, FEATURES)).astype(np.float32)
    ranks = generator.integers(1, 40, (30, 5, 6))
    logged = generator.choice([1, 2, 20, 40], (30, 5, 1))
    return features, logged / ranks, 1 / ranks


def test_estimators_differ_with_one_group_per_context_and_do_not_with_one_per_click(
    name: str, tmp_path: Path
) -> None:
    features, unbiased, biased = utilities(seed=0)
    per_context, per_click = [], []
    for variant, utility in (("unbiased", unbiased), ("biased", biased)):
        mean = utility.mean(axis=1).ravel()
        examples = Examples.of(features, mean, np.repeat(np.arange(30), 6), np.full(30, 5))
        per_context.append(files(RANKERS[name].fit(examples, CONFIG), tmp_path / f"context-{variant}"))
        repeated = np.repeat(features.reshape(30, 1, 6, FEATURES), 5, axis=1).reshape(-1, FEATURES)
        clicks = Examples.of(repeated, utility.ravel(), np.repeat(np.arange(150), 6), np.ones(150))
        per_click.append(files(RANKERS[name].fit(clicks, CONFIG), tmp_path / f"click-{variant}"))
    assert per_click[0] == per_click[1]
    assert per_context[0] != per_context[1]


def test_labels_of_any_size_are_taken(name: str) -> None:
    """Utilities are not grades: XGBoost's exponential gain would refuse a label above 31."""
    examples = Examples(EXAMPLES.features, EXAMPLES.labels * 1000, EXAMPLES.sizes, EXAMPLES.weights)
    assert ordered_share(RANKERS[name].fit(examples, CONFIG), synthetic(60, 8, seed=1)) > 0.9


def test_equal_scores_keep_the_retrievers_order_in_every_context() -> None:
    proposed = Candidates(
        np.array([0, 0, 0, 1, 1], np.int32),
        np.array([9, 2, 5, 3, 1], np.int32),
        np.array([0.9, 0.5, 0.5, 0.2, 0.1], np.float32),
    )
    ordered = reorder(proposed, np.array([1, 3, 1, 0, 0], np.float32))
    assert ordered.query.tolist() == [2, 9, 5, 3, 1]
    assert ordered.score.tolist() == [3, 1, 1, 0, 0]


def test_examples_must_fit_together() -> None:
    ones = np.ones((3, 1), np.float32)
    with pytest.raises(ValueError, match="3 rows of features, 2 labels, 3 rows in 1 groups and 1 weights"):
        Examples(ones, np.ones(2), np.array([3]), np.ones(1))
    with pytest.raises(ValueError, match="labels hold NaN"):
        Examples(ones, np.array([1.0, np.nan, 2.0]), np.array([3]), np.ones(1))
    with pytest.raises(WaywordError, match="nothing to learn from"):
        Examples.of(ones[:0], np.ones(0), np.zeros(0, np.int32), np.ones(4))


def test_importing_rankers_and_features_is_cheap() -> None:
    heavy = "{'xgboost', 'sklearn', 'scipy', 'torch', 'transformers'}"
    modules = "sys, wayword.paper.rankers, wayword.paper.features.ranker_features"
    code = f"import {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
