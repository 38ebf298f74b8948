"""The linear ranker: its pairs against a double loop, its weights against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.config import RankerConfig
from wayword.paper.rankers import Examples, LinearRanker, linear

CONFIG = RankerConfig(model="linear")
grouped_labels = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=1, max_size=6), min_size=1, max_size=5
)


def examples_of(labels: list[list[float]]) -> Examples:
    flat = np.array([label for group in labels for label in group])
    sizes = np.array([len(group) for group in labels])
    return Examples(np.ones((len(flat), 1), np.float32), flat, sizes, np.arange(1.0, 1 + len(labels)))


def all_pairs(examples: Examples) -> dict[tuple[int, int], float]:
    """(better, worse) → weight, the slow way."""
    found, start = {}, 0
    for size, weight in zip(examples.sizes.tolist(), examples.weights.tolist(), strict=True):
        rows = range(start, start + size)
        for i in rows:
            for j in rows:
                if examples.labels[i] > examples.labels[j]:
                    found[i, j] = weight / (size * (size - 1) / 2)
        start += size
    return found


def test_pairs_of_one_group_by_hand() -> None:
    examples = Examples(
        np.ones((3, 1), np.float32), np.array([1.0, 0.5, 1.0]), np.array([3]), np.array([6.0])
    )
    better, worse, weight = linear.pairs(examples, 10, np.random.default_rng(0))
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == [(0, 1), (2, 1)]
    assert weight.tolist() == [6 / 3, 6 / 3]


@given(grouped_labels)
def test_without_a_bound_all_pairs_of_different_labels_are_taken(labels: list[list[float]]) -> None:
    examples = examples_of(labels)
    better, worse, weight = linear.pairs(examples, 100, np.random.default_rng(0))
    found = dict(zip(zip(better.tolist(), worse.tolist(), strict=True), weight.tolist(), strict=True))
    assert len(found) == len(better)
    assert found == pytest.approx(all_pairs(examples))


@given(grouped_labels, st.integers(1, 4), st.integers(0, 9))
def test_a_bound_takes_fewer_pairs_that_weigh_as_much(
    labels: list[list[float]], most: int, seed: int
) -> None:
    examples = examples_of(labels)
    every = all_pairs(examples)
    better, worse, weight = linear.pairs(examples, most, np.random.default_rng(seed))
    drawn = list(zip(better.tolist(), worse.tolist(), strict=True))
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(every)
    group = np.repeat(np.arange(len(labels)), examples.sizes)
    for number in range(len(labels)):
        available = [value for (i, _), value in every.items() if group[i] == number]
        mine = group[better] == number
        assert mine.sum() == min(most, len(available))
        assert weight[mine].sum() == pytest.approx(sum(available))


def test_the_size_of_a_chunk_changes_only_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = examples_of([[0.0, 1.0, 2.0]] * 7)
    whole = linear.pairs(examples, 2, np.random.default_rng(0))
    monkeypatch.setattr(linear, "_CHUNK", 6)
    for one, other in zip(whole, linear.pairs(examples, 2, np.random.default_rng(0)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_equal_scikit_learns_on_differences_of_both_signs() -> None:
    from sklearn.linear_model import LogisticRegression

    generator = np.random.default_rng(0)
    features = (generator.normal(size=(90, 3)) * [1.0, 10.0, 0.1]).astype(np.float32)
    labels = np.round(features[:, 0] + 0.1 * features[:, 1] + generator.normal(size=90))
    examples = Examples(features, labels, np.full(15, 6), generator.integers(1, 5, 15).astype(float))
    every = all_pairs(examples)
    scale = np.sqrt(np.mean([features[g : g + 6].astype(float).var(axis=0) for g in range(0, 90, 6)], axis=0))
    difference = np.array([(features[i].astype(float) - features[j]) / scale for i, j in every])
    weight = np.array(list(every.values())) / np.mean(list(every.values()))
    model = LogisticRegression(fit_intercept=False, C=1.0, tol=1e-10, max_iter=10_000)
    signs = np.repeat([1, -1], len(every))
    model.fit(np.r_[difference, -difference], signs, sample_weight=np.r_[weight, weight] / 2)
    found = LinearRanker.fit(examples, CONFIG)
    np.testing.assert_allclose(found.weights * scale, model.coef_[0], rtol=1e-3)


def test_a_known_direction_is_recovered() -> None:
    generator = np.random.default_rng(0)
    truth = np.array([3.0, -2.0, 1.0, 0.0])
    features = generator.normal(size=(4000, 4)).astype(np.float32)
    labels = features @ truth + generator.logistic(size=4000)
    found = LinearRanker.fit(Examples(features, labels, np.full(200, 20), np.ones(200)), CONFIG).weights
    assert found @ truth / np.linalg.norm(found) / np.linalg.norm(truth) > 0.99


def test_what_is_equal_within_every_context_has_no_weight() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(200, 3)).astype(np.float32)
    features[:, 1] = np.repeat(generator.normal(size=20), 10)
    features[:, 2] = 0.1
    examples = Examples(features, features[:, 0].astype(float), np.full(20, 10), np.ones(20))
    found = LinearRanker.fit(examples, CONFIG).weights
    assert found[0] > 0
    assert found[1:].tolist() == [0, 0]


def test_the_score_is_the_weighted_sum() -> None:
    ranker = LinearRanker(np.array([1.0, 2.0], np.float32), np.array([10.0, 0.5], np.float32))
    scores = ranker.score(np.array([[3.0, 4.0], [1.0, 2.0]], np.float32))
    assert scores.tolist() == [10 * (3 - 1) + 0.5 * (4 - 2), 0]


def test_one_pair_is_enough() -> None:
    examples = Examples(np.array([[0.0], [1.0]], np.float32), np.array([0.2, 0.7]), np.array([2]), np.ones(1))
    assert LinearRanker.fit(examples, CONFIG).weights[0] > 0
