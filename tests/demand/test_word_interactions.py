"""Which words go with which: against plain Python, without a pair's own clicks, and where it must learn."""

from collections import defaultdict
from dataclasses import replace
from math import exp, log
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_graphs import Small, smalls

from wayword.demand import word_interactions
from wayword.demand.word_interactions import MANY, PRIOR, STEP, compiled_pairs, log_odds, predict, train

Key = tuple[object, ...]


def found(small: Small, seed: int = 0, threads: int = 1) -> np.ndarray:
    pairs = small.pairs()
    clicks = small.of_pairs(pairs)
    text = small.similarity(pairs).text_match
    return log_odds(text, pairs, clicks, small.query_rate, seed=seed, threads=threads)


class Slow:
    """One pair after the other; weights are known by what they are for."""

    def __init__(self, small: Small) -> None:
        pairs = small.pairs()
        text, self.clicked = small.similarity(pairs).text_match, small.of_pairs(pairs) > 0
        self.examination = 1 - np.exp(-small.query_rate[pairs.query] * pairs.propensity)
        self.keys = [
            self._keys(
                int(a),
                round(-2 * log(p, 2)),
                text.queries.values[text.queries.offsets[q] : text.queries.offsets[q + 1]].tolist(),
                text.documents.values[text.documents.offsets[a] : text.documents.offsets[a + 1]].tolist(),
            )
            for q, a, p in zip(
                pairs.query.tolist(), pairs.document.tolist(), pairs.propensity.tolist(), strict=True
            )
        ]

    def _keys(self, a: int, place: int, query: list[int], document: list[int]) -> list[Key]:
        asked, told = [w for w in query if w not in document], [w for w in document if w not in query]
        both = len(query) - len(asked)
        return [
            ("document", a),
            ("place", place),
            ("query", both, len(asked)),
            ("title", both, len(told)),
            *(("asked", w) for w in asked),
            *(("told", t) for t in told),
            *(("pair", w, t) for t in told for w in asked),
            *(("word", w, a) for w in query),
        ]

    def learn(self, orders: list[list[int]]) -> list[float]:
        share = min(max(float(self.clicked[orders[0]].mean()), 1e-6), 0.5)
        base, weights, squares = log(share / (1 - share)), defaultdict[Key, float](float), dict[Key, float]()
        often = defaultdict[Key, int](int)
        for row in orders[0]:
            for key in self.keys[row]:
                often[key] += 1
        mean = defaultdict[Key, float](float)
        first = sum(map(len, orders[:-1]))
        for at, row in enumerate(row for order in orders for row in order):
            rho = 1 / (1 + exp(-base - sum(weights[key] for key in self.keys[row])))
            e = self.examination[row]
            slope = rho - 1 if self.clicked[row] else e * rho * (1 - rho) / (1 - e * rho)
            most = STEP * min(1, MANY / len(self.keys[row]))
            for key in self.keys[row]:
                step = slope + PRIOR * weights[key] / often[key]
                squares[key] = squares.get(key, 1.0) + step * step
                weights[key] -= most * step / squares[key] ** 0.5
            if at >= first:  # in the last pass
                for key, weight in weights.items():
                    mean[key] += weight / len(orders[-1])
        return [base + sum(mean[key] for key in keys) for keys in self.keys]


@settings(max_examples=40, deadline=None)
@given(smalls(), st.randoms(use_true_random=False))
def test_it_learns_as_the_slow_reference_does(small: Small, random: Random) -> None:
    pairs = small.pairs()
    rows = list(range(len(pairs)))
    if not rows:
        return
    orders = [random.sample(rows, len(rows)) for _ in range(2)]
    slow = Slow(small)
    known = compiled_pairs(small.similarity(pairs).text_match, pairs)
    base, weights = train(
        known,
        slow.clicked,
        slow.examination,
        np.array(rows),
        np.ones(len(rows)),
        [np.array(o) for o in orders],
    )
    judged = np.zeros(len(rows))
    predict(np.array(rows), known, base, weights, judged)
    assert judged.tolist() == pytest.approx(slow.learn(orders), rel=1e-3, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(smalls(), st.data())
def test_no_click_on_a_pair_enters_its_own_score(small: Small, data: st.DataObject) -> None:
    pairs = small.pairs()
    if len(pairs) < 2:
        return
    own = data.draw(st.integers(0, len(pairs) - 1))
    at = (int(pairs.query[own]), int(pairs.document[own]))
    clicks = small.clicks.copy()
    clicks[at] = 0.0 if clicks[at] else 3.0
    other = replace(small, clicks=clicks)
    if clicks.any() and small.clicks.any():
        assert found(small)[own] == found(other)[own]


@settings(max_examples=10, deadline=None)
@given(smalls())
def test_any_number_of_threads_gives_the_same(small: Small) -> None:
    assert np.array_equal(found(small), found(small, threads=3))


def test_no_click_enters_its_own_score_where_examples_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_interactions, "SAMPLE", 20)
    rng = np.random.default_rng(0)
    clicks = rng.poisson(0.3, (10, 6)).astype(np.float64)
    small = Small([f"a{q} b" for q in range(10)], rng.uniform(0.1, 1.0, (10, 6)), clicks, np.ones(10))
    for own in range(0, 60, 7):
        other = clicks.copy()
        other.flat[own] = 0.0 if other.flat[own] else 2.0
        assert found(small)[own] == pytest.approx(found(replace(small, clicks=other))[own], abs=0.2)


def _chance(rng: np.random.Generator, words: int) -> str:
    return " ".join(f"w{number}" for number in rng.integers(0, 400, words).tolist())


def test_texts_of_many_words_do_not_make_it_surer_than_right() -> None:
    """A document is wanted with 0.6 if its title has the query's first word, else with 0.05; all else is chance."""
    rng = np.random.default_rng(0)
    queries, documents, page = 500, 200, 8
    topic, about = rng.integers(0, 20, queries), rng.integers(0, 20, documents)
    texts = [f"t{t} {_chance(rng, 11)}" for t in topic]
    titles = [f"t{t} {_chance(rng, 20)}" for t in about]
    p = np.zeros((queries, documents))
    for q in range(queries):
        p[q, rng.choice(documents, page, replace=False)] = 1 / np.arange(1, page + 1)
    rho = np.where(topic[:, None] == about[None, :], 0.6, 0.05)
    clicks = rng.poisson(p * (rng.random(p.shape) < rho)).astype(np.float64)
    small = Small(texts, p, clicks, np.ones(queries), [f"{a}" for a in range(documents)], titles)
    pairs = small.pairs()
    hit, examination = small.of_pairs(pairs) > 0, 1 - np.exp(-pairs.propensity)

    def likelihood(share: np.ndarray) -> float:
        return float(np.where(hit, np.log(examination * share), np.log1p(-examination * share)).mean())

    share = 1 / (1 + np.exp(-found(small)))
    assert likelihood(share) > likelihood(np.full(len(pairs), hit.sum() / examination.sum())) - 0.01


def test_without_a_click_it_says_nothing() -> None:
    small = Small(["a", "b"], np.full((2, 3), 0.5), np.zeros((2, 3)), np.ones(2))
    assert found(small).tolist() == [0.0] * 6


def test_words_that_only_one_says_tell_of_documents_that_nobody_clicked() -> None:
    """Who asks for "thing17 development" wants "thing17 library", not "thing17 manual"; a quarter was ever clicked."""
    rng = np.random.default_rng(0)
    things = 400
    texts = [f"thing{n} development" for n in range(things)]
    titles = [f"thing{n} {kind}" for n in range(things) for kind in ("library", "manual")]
    p, wanted = np.zeros((things, 2 * things)), np.zeros((things, 2 * things))
    for n in range(things):
        p[n, 2 * n : 2 * n + 2] = 0.5
        wanted[n, 2 * n] = 1.0
    clicks = wanted * (rng.random(wanted.shape) < 0.25)
    small = Small(texts, p, clicks, np.full(things, 0.6), [f"d{n}" for n in range(2 * things)], titles)
    pairs = small.pairs()
    unseen = clicks[pairs.query, pairs.document] == 0
    good = wanted[pairs.query, pairs.document][unseen] > 0
    rank = stats.rankdata(found(small)[unseen])
    auc = (rank[good].sum() - good.sum() * (good.sum() + 1) / 2) / (good.sum() * (~good).sum())
    assert auc > 0.99


def test_endless_texts_are_bounded() -> None:
    text = " ".join(f"w{n}" for n in range(500))
    title = " ".join(f"t{n}" for n in range(500))
    small = Small([text, "w1"], np.ones((2, 1)), np.ones((2, 1)), np.ones(2), ["d"], [title])
    assert np.isfinite(found(small)).all()
