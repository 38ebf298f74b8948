"""Boosted trees: the paper's parameters, and what a linear ranker cannot learn."""

import json

import numpy as np
import pytest

from progress_steps import Steps
from wayword.config import RankerConfig
from wayword.paper.rankers import BoostedRanker, Examples, LinearRanker

SIZE = 10


def only_in_context(groups: int, seed: int) -> Examples:
    """Feature 0 is wanted where feature 1, one number per context, is positive, and shunned elsewhere."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(groups * SIZE, 2)).astype(np.float32)
    features[:, 1] = np.repeat(generator.choice([-1.0, 1.0], groups), SIZE)
    labels = (features[:, 0] * features[:, 1]).astype(np.float64)
    return Examples(features, labels, np.full(groups, SIZE), np.ones(groups))


def best_found(ranker: BoostedRanker | LinearRanker, examples: Examples) -> float:
    """Mean label of the first candidate, as a share of the best there is."""
    labels = examples.labels.reshape(-1, SIZE)
    first = ranker.score(examples.features).reshape(-1, SIZE).argmax(axis=1)
    return float(labels[np.arange(len(labels)), first].mean() / labels.max(axis=1).mean())


def test_trees_learn_what_depends_on_the_context_and_a_linear_ranker_cannot() -> None:
    train, test = only_in_context(300, seed=0), only_in_context(100, seed=1)
    config = RankerConfig(depth=3, rounds=40)
    assert best_found(BoostedRanker.fit(train, config), test) > 0.95
    assert best_found(LinearRanker.fit(train, config), test) < 0.5


def test_parameters_are_the_papers_and_otherwise_the_defaults() -> None:
    config = RankerConfig(rounds=2)
    booster = BoostedRanker.fit(only_in_context(20, seed=0), config).booster
    learner = json.loads(booster.save_config())["learner"]
    objective = learner["objective"]
    assert objective["name"] == "rank:pairwise"
    assert objective["lambdarank_param"]["lambdarank_pair_method"] == "topk"
    assert objective["lambdarank_param"]["lambdarank_unbiased"] == "0"
    trees = learner["gradient_booster"]
    assert trees["gbtree_train_param"]["tree_method"] == "hist"
    parameters = trees["tree_train_param"]
    assert parameters["max_depth"] == "8"
    assert float(parameters["eta"]) == pytest.approx(0.3)
    assert booster.num_boosted_rounds() == 2


def test_progress_counts_rounds() -> None:
    progress = Steps()
    BoostedRanker.fit(only_in_context(20, seed=0), RankerConfig(rounds=3), progress=progress)
    assert progress.steps == [(1, 3), (2, 3), (3, 3)]


def test_the_order_of_labels_is_all_that_counts() -> None:
    """rank:pairwise ignores the size of a difference: increasing functions of the labels train the same."""
    examples = only_in_context(40, seed=0)
    stretched = Examples(examples.features, np.exp(3 * examples.labels), examples.sizes, examples.weights)
    one, other = (
        BoostedRanker.fit(e, RankerConfig(rounds=5)).score(e.features) for e in (examples, stretched)
    )
    assert one.tobytes() == other.tobytes()


def noise(groups: int, seed: int) -> Examples:
    """Labels that no feature predicts."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(groups * SIZE, 2)).astype(np.float32)
    return Examples(features, generator.random(groups * SIZE), np.full(groups, SIZE), np.ones(groups))


def trees(examples: Examples, patience: int) -> int:
    ranker = BoostedRanker.fit(examples, RankerConfig(depth=3, rounds=40, patience=patience))
    return int(ranker.booster.num_boosted_rounds())


def test_boosting_stops_where_held_out_contexts_gain_nothing_more() -> None:
    assert trees(noise(1000, seed=0), patience=5) < 20
    assert trees(noise(1000, seed=0), patience=0) == 40
    assert trees(only_in_context(1000, seed=0), patience=5) > trees(noise(1000, seed=0), patience=5)


def test_too_few_contexts_are_all_learned_from() -> None:
    assert trees(noise(100, seed=0), patience=5) == 40


def test_a_ranker_that_stopped_early_is_the_same_for_any_number_of_threads() -> None:
    examples, config = only_in_context(1000, seed=0), RankerConfig(depth=3, rounds=40, patience=5)
    one, two = (BoostedRanker.fit(examples, config, threads=n).booster.save_raw() for n in (1, 2))
    assert one == two
