"""Features of a pair: against loops in plain Python, and without the pair's own clicks."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from slow_text_match import slow_text_match
from small_graphs import Small, clicked, smalls

from wayword.demand import click_data, click_sums, relevance_prior, similarity
from wayword.demand import features as listed
from wayword.demand import signals as module
from wayword.demand.click_data import ClickData, folds
from wayword.demand.feature_blocks import FeatureBlocks
from wayword.demand.features import FEATURES, GROUPS, Feature, feature_matrix
from wayword.demand.observations import Floats, Observations
from wayword.demand.signals import Signals
from wayword.demand.similarity import Neighbours, Similarity

NAMES = [feature.name for feature in FEATURES]
MONOTONE = {feature.name for feature in FEATURES if feature.monotone}

Pair = tuple[int, int]
Vector = dict[object, float]


def matrix_of(
    pairs: Observations, clicks: Floats, query_rate: Floats, similar: Similarity, threads: int = 1
) -> NDArray[np.floating]:
    data = ClickData.of(pairs, clicks, query_rate, similar, np.zeros(len(pairs)), threads=threads)
    return feature_matrix(Signals.of(data), threads=threads)


def rows_of(small: Small, threads: int = 1) -> NDArray[np.floating]:
    pairs = small.pairs()
    return matrix_of(pairs, small.of_pairs(pairs), small.query_rate, small.similarity(pairs), threads)


class Slow:
    """Everything of the module's docstrings, one pair at a time."""

    def __init__(self, small: Small) -> None:
        self.small = small
        queries, documents = small.p.shape
        self.pairs = [(q, a) for q in range(queries) for a in range(documents) if small.p[q, a] > 0]
        self.fold = dict(zip(self.pairs, folds(small.pairs()).tolist(), strict=True))
        self.clicks = {pair: float(small.clicks[pair]) for pair in self.pairs}
        self.expected = {(q, a): float(small.query_rate[q] * small.p[q, a]) for q, a in self.pairs}
        self.mean = max(sum(self.clicks.values()) / max(sum(self.expected.values()), 1e-12), 1e-9)
        words = [text.split() for text in small.texts]
        self.word_vectors = self._word_vectors(words)
        self.near_words = nearest(self.word_vectors)
        first = [self._first(q, 20) for q in range(queries)]
        self.pages = [dict(page) for page in first]
        self.near_pages = nearest(self.pages)
        self.similar_documents = nearest(
            [{q: page[a] for q, page in enumerate(first) if a in page} for a in range(documents)]
        )
        self.groups: dict[str, list[set[int]]] = {
            "word": groups(words),
            "phrase": groups([pairwise(w) for w in words]),
            "prefix": groups([[tuple(w[:n]) for n in range(1, len(w) + 1)] for w in words]),
            "suffix": groups([[tuple(w[-n:]) for n in (1, 2, 3)] for w in words]),
            "result": groups([self._first(q, 3) for q in range(queries)]),
        }

    def _first(self, query: int, most: int) -> dict[object, float]:
        page = {a: float(self.small.p[q, a]) for q, a in self.pairs if q == query}
        return dict(sorted(page.items(), key=lambda row: (-row[1], row[0]))[:most])

    def _word_vectors(self, words: list[list[str]]) -> list[Vector]:
        size = {w: sum(w in other for other in words) for of_query in words for w in of_query}
        n = len(words)
        return [
            {w: log(n / size[w]) + 1 for w in set(of_query) if size[w] <= max(2.0, 0.02 * n)}
            for of_query in words
        ]

    def others(self, pair: Pair, queries: Iterable[int]) -> list[Pair]:
        """The pairs of this document with these queries in other folds."""
        found = [(q, pair[1]) for q in queries if (q, pair[1]) in self.clicks]
        return [one for one in found if self.fold[one] != self.fold[pair]]

    def document_rate(self, pair: Pair) -> float:
        rest = self.others(pair, range(len(self.small.texts)))
        return (sum(self.clicks[r] for r in rest) + 1.0 * self.mean) / (
            sum(self.expected[r] for r in rest) + 1.0
        )

    def of_group(self, pair: Pair, kind: str) -> dict[str, float]:
        if kind == "clicked":  # the queries that clicked another document g; said of every document but g
            found = [
                {q for q, a in self.pairs if a == g and self.clicks[q, a] > 0}
                for g in range(self.small.p.shape[1])
                if g != pair[1]
            ]
        else:
            found = self.groups[kind]
        rates, clicks, expected, sizes, queries = [], [], [], [], []
        for group in found:
            rest = self.others(pair, group)
            if pair[0] not in group or len(group) < 2 or not rest:
                continue
            clicks.append(sum(self.clicks[r] for r in rest))
            expected.append(sum(self.expected[r] for r in rest))
            rates.append((clicks[-1] + 0.3 * self.document_rate(pair)) / (expected[-1] + 0.3))
            sizes.append(len(group))
            queries.append(sum(self.clicks[r] > 0 for r in rest))
        best = max(range(len(rates)), key=lambda n: rates[n], default=None)
        weight = sum(n / size for n, size in zip(clicks, sizes, strict=True))
        expected_weight = sum(d / size for d, size in zip(expected, sizes, strict=True))
        return {
            "best_rate": 0.0 if best is None else rates[best],
            "best_clicks": 0.0 if best is None else clicks[best],
            "best_expected_clicks": 0.0 if best is None else expected[best],
            "second_rate": sorted([0.0, 0.0, *rates])[-2],
            "clicking_queries": float(max(queries, default=0)),
            "clicking_share": max(
                (n / (size - 1) for n, size in zip(queries, sizes, strict=True)), default=0.0
            ),
            "log_lift": sum(log(rate / self.document_rate(pair)) for rate in rates),
            "rate": (weight + 0.1 * self.mean) / (expected_weight + 0.1),
            "clicks": weight,
        }

    def of_neighbours(
        self, pair: Pair, near: list[list[tuple[int, float]]], counts: Callable[[Pair], tuple[float, float]]
    ) -> tuple[float, float]:
        found = [(counts((q, pair[1])), s) for q, s in near[pair[0]] if (q, pair[1]) in self.clicks]
        return sum(s * c for (c, _), s in found), sum(s * e for (_, e), s in found)

    def of_similar(self, pair: Pair) -> tuple[float, float]:
        found = [((pair[0], a), s) for a, s in self.similar_documents[pair[1]] if (pair[0], a) in self.clicks]
        return (
            sum(s * (self.clicks[r] > 0) for r, s in found),
            sum(s * (1 - exp(-self.expected[r])) for r, s in found),
        )

    def row(self, pair: Pair) -> dict[str, float]:
        q, a = pair
        everywhere = range(len(self.small.texts))
        row = {
            "log_propensity": log(self.small.p[q, a]),
            "document_rate": self.document_rate(pair),
            "document_clicks": sum(self.clicks[r] for r in self.others(pair, everywhere)),
            "other_clicked_documents": float(
                sum(self.clicks[r] > 0 for r in self.pairs if r[0] == q and r[1] != a)
            ),
            "returning_queries": float(sum(r[1] == a for r in self.pairs)),
            "returned_documents": float(sum(r[0] == q for r in self.pairs)),
            "word_count": float(len(self.small.texts[q].split())),
        }
        for kind in GROUPS:
            row |= {f"{kind}_group_{what}": value for what, value in self.of_group(pair, kind).items()}
        both = {"page_neighbours": self.near_pages, "word_neighbours": self.near_words}
        for kind, near in both.items():
            n, d = self.of_neighbours(pair, near, lambda r: (self.clicks[r], self.expected[r]))
            row |= {
                f"{kind}_clicks": n,
                f"{kind}_expected_clicks": d,
                f"{kind}_rate": (n + self.mean) / (d + 1),
            }
            row[f"{kind}_closest"] = max(
                (s for o, s in near[q] if self.clicks.get((o, a), 0) > 0), default=0.0
            )
        n, d = self.of_similar(pair)
        row |= {
            "similar_documents_clicks": n,
            "similar_documents_expected_clicks": d,
            "similar_documents_rate": n / (d + 0.1),
        }
        row["similar_documents_closest"] = max(
            (s for o, s in self.similar_documents[a] if self.clicks.get((q, o), 0) > 0), default=0.0
        )
        for kind, near in (
            ("similar_documents_of_page_neighbours", self.near_pages),
            ("similar_documents_of_word_neighbours", self.near_words),
        ):
            n, d = self.of_neighbours(pair, near, self.of_similar)
            row |= {f"{kind}_clicks": n, f"{kind}_expected_clicks": d, f"{kind}_rate": n / (d + 0.1)}
        for kind, vectors in (("page_cosine", self.pages), ("word_cosine", self.word_vectors)):
            near_by = {r: cosine(vectors[q], vectors[r[0]]) for r in self.others(pair, everywhere)}
            n, d = (sum(s * counts[r] for r, s in near_by.items()) for counts in (self.clicks, self.expected))
            rate = (n + 0.3 * self.mean) / (d + 0.3)
            row |= {f"{kind}_clicks": n, f"{kind}_expected_clicks": d, f"{kind}_rate": rate}
        return row | slow_text_match(self.small, pair) | {"word_interactions": 0.0}


def groups(tokens: Iterable[Iterable[object]]) -> list[set[int]]:
    found: dict[object, set[int]] = {}
    for query, of_query in enumerate(tokens):
        for token in of_query:
            found.setdefault(token, set()).add(query)
    return list(found.values())


def cosine(one: Vector, other: Vector) -> float:
    lengths = sqrt(sum(v * v for v in one.values())) * sqrt(sum(v * v for v in other.values()))
    return sum(v * other[key] for key, v in one.items() if key in other) / lengths if lengths else 0.0


def nearest(vectors: list[Vector]) -> list[list[tuple[int, float]]]:
    """The twenty nearest others by cosine."""
    found = []
    for i, one in enumerate(vectors):
        near = {j: cosine(one, other) for j, other in enumerate(vectors) if j != i and set(one) & set(other)}
        found.append(sorted(near.items(), key=lambda row: (-row[1], row[0]))[:20])
    return found


@settings(max_examples=60, deadline=None)
@given(smalls())
def test_every_column_is_that_of_the_slow_reference(small: Small) -> None:
    slow, found = Slow(small), rows_of(small)
    assert found.shape == (len(slow.pairs), len(NAMES))
    for at, pair in enumerate(slow.pairs):
        expected = slow.row(pair)
        assert list(expected) == list(NAMES)
        assert dict(zip(NAMES, found[at].tolist(), strict=True)) == pytest.approx(
            expected, rel=2e-5, abs=2e-5
        )


@settings(max_examples=30, deadline=None)
@given(smalls(), st.integers(1, 12))
def test_features_are_the_same_in_blocks(small: Small, size: int) -> None:
    """Blocks are files; pairs are taken from several of them, in any blocks."""
    pairs = small.pairs()
    data = ClickData.of(
        pairs, small.of_pairs(pairs), small.query_rate, small.similarity(pairs), np.zeros(len(pairs))
    )
    whole = feature_matrix(Signals.of(data), dtype=np.float16).astype(np.float32)
    with TemporaryDirectory() as folder:
        blocks = FeatureBlocks.of(data, Path(folder), pairs=size, threads=2)
        assert sorted(np.concatenate([np.zeros(0, np.int64), *blocks.rows]).tolist()) == [*range(len(pairs))]
        chosen = np.arange(0, len(pairs), 2)
        assert np.array_equal(blocks.take(chosen), whole[chosen])
        sums = np.zeros(len(pairs))
        with ThreadPoolExecutor(2) as pool:
            blocks.for_each_slice(lambda part: part.sum(axis=1, dtype=np.float64), sums, pool)
        assert np.array_equal(sums, whole.sum(axis=1, dtype=np.float64))


@settings(max_examples=10, deadline=None)
@given(smalls())
def test_any_number_of_threads_gives_the_same(small: Small) -> None:
    assert np.array_equal(rows_of(small), rows_of(small, threads=3))


def test_half_precision_keeps_three_digits_and_bounds_what_is_larger() -> None:
    clicks = np.array([[1e6, 1.0], [0.0, 3.0]])
    small = Small(["a b", "a c"], np.full((2, 2), 1 / 3), clicks, np.full(2, 2.0))
    pairs = small.pairs()
    signals = Signals.of(
        ClickData.of(
            pairs, small.of_pairs(pairs), small.query_rate, small.similarity(pairs), np.zeros(len(pairs))
        )
    )
    exact, half = (feature_matrix(signals, dtype=dtype) for dtype in (np.float32, np.float16))
    assert exact.max() > 1e6
    assert half.astype(np.float64) == pytest.approx(np.clip(exact, -65504, 65504), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("monotone", [False, True])
def test_an_entry_of_the_list_is_a_feature_of_the_model(
    monkeypatch: pytest.MonkeyPatch, monotone: bool
) -> None:
    """The recipe "Add a feature" of CONTRIBUTING. Documents of low numbers are relevant, those of high ones are not:
    the model learns so from the new feature, unless it must not decrease with it."""

    def document_number(signals: Signals) -> NDArray[np.float64]:
        return signals.observations.document.astype(np.float64)

    others = [feature for feature in FEATURES if feature.name == "log_propensity"]
    monkeypatch.setattr(
        listed, "FEATURES", [*others, Feature("document_number", document_number, monotone=monotone)]
    )
    rng = np.random.default_rng(0)
    p = np.full((300, 20), 0.5)
    clicks = rng.poisson(np.where(np.arange(20) < 5, 2.0, 0.02) * p).astype(np.float64)
    small = Small([f"q{n}" for n in range(300)], p, clicks, np.full(300, 4.0))
    pairs, matrix = small.pairs(), rows_of(small)
    assert matrix[:, 1].tolist() == pairs.document.tolist()
    relevance = relevance_prior.fit(
        FeatureBlocks.in_memory(matrix), pairs, small.of_pairs(pairs), small.query_rate
    )
    low, high = relevance[pairs.document < 5].mean(), relevance[pairs.document >= 5].mean()
    if monotone:
        assert low <= high
    else:
        assert low > 5 * high


@settings(max_examples=60, deadline=None)
@given(smalls(), st.data())
def test_no_click_on_a_pair_enters_its_own_row(small: Small, data: st.DataObject) -> None:
    """The mean rate of all pairs, a number that all rows share, is held: what the pair gains, a query without any
    relation to the others loses."""
    queries, documents = small.p.shape
    p, clicks = np.zeros((queries + 1, documents + 1)), np.zeros((queries + 1, documents + 1))
    p[:queries, :documents], clicks[:queries, :documents] = small.p, small.clicks
    p[-1, -1], clicks[-1, -1] = 0.5, 10.0
    apart = Small([*small.texts, "elsewhere"], p, clicks, np.r_[small.query_rate, 2.0])
    pairs = apart.pairs()
    own = data.draw(st.integers(0, len(pairs) - 1))
    at = (int(pairs.query[own]), int(pairs.document[own]))
    if at == (queries, documents):
        return
    more = data.draw(st.integers(1, 8))
    changed = clicks.copy()
    changed[at] += more
    changed[-1, -1] -= more
    before, after = rows_of(apart), rows_of(replace(apart, clicks=changed))
    assert np.array_equal(before[own], after[own])


@settings(max_examples=60, deadline=None)
@given(smalls(), st.data())
def test_other_numbers_for_queries_and_documents_give_the_same_rows(
    small: Small, data: st.DataObject
) -> None:
    queries = data.draw(st.permutations(range(small.p.shape[0])))
    documents = data.draw(st.permutations(range(small.p.shape[1])))
    other = small.permuted(queries, documents)
    found, pairs = rows_of(small), other.pairs()
    row = {
        pair: at
        for at, pair in enumerate(
            zip(small.pairs().query.tolist(), small.pairs().document.tolist(), strict=True)
        )
    }
    same = [
        row[queries[q], documents[a]]
        for q, a in zip(pairs.query.tolist(), pairs.document.tolist(), strict=True)
    ]
    fold = folds(small.pairs())[same]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click_data, "folds", lambda _: fold)
        matrix = rows_of(other)
    assert matrix == pytest.approx(found[same], rel=1e-5, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(smalls(), st.data())
def test_more_clicks_elsewhere_never_lower_what_must_not_fall(small: Small, data: st.DataObject) -> None:
    """A click of another query on the document raises, or leaves, the rates of the document and of its groups."""
    pairs = small.pairs()
    fold = folds(pairs)
    own = data.draw(st.sampled_from(range(len(pairs)))) if len(pairs) else None
    others = (
        []
        if own is None
        else np.flatnonzero((pairs.document == pairs.document[own]) & (fold != fold[own])).tolist()
    )
    if not others or own is None:
        return
    other = data.draw(st.sampled_from(others))
    clicks = small.clicks.copy()
    clicks[pairs.query[other], pairs.document[other]] += 2.0
    before, after = rows_of(small), rows_of(replace(small, clicks=clicks))
    groups_of_texts = [
        n for n in NAMES if not n.startswith("clicked")
    ]  # a click changes who is in these groups
    for column, name in enumerate(NAMES):
        if name in MONOTONE and name in groups_of_texts and not name.startswith("similar_documents"):
            assert after[own, column] >= before[own, column] - 1e-6, name
    assert after[own, NAMES.index("document_clicks")] == before[own, NAMES.index("document_clicks")] + 2


def test_nearest_are_the_largest_cosines_and_ties_go_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 0 meets row 3 before rows 1 and 2, which are as near."""
    monkeypatch.setattr(similarity, "NEIGHBOURS", 2)
    near = Neighbours.of(csr_array(np.array([[1.0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])))
    assert near.other[0].tolist() == [1, 2]
    assert near.similarity[0].tolist() == pytest.approx([sqrt(0.5)] * 2)
    assert near.other[1].tolist() == [2, 0]
    assert near.other[4].tolist() == [-1, -1]


def test_a_group_too_large_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code keeps the constants of its time, so the plain function is asked."""
    small = Small(["a b", "a c", "a d"], np.full((3, 1), 0.5), np.array([[1.0], [2.0], [0.0]]), np.ones(3))
    column = NAMES.index("word_group_best_clicks")
    assert rows_of(small)[:, column].tolist() == [2.0, 1.0, 3.0]
    plain = getattr(click_sums.group_clicks, "py_func", click_sums.group_clicks)
    monkeypatch.setattr(module, "group_clicks", plain)
    monkeypatch.setattr(click_sums, "LARGEST_GROUP", 2)
    assert rows_of(small)[:, column].tolist() == [0.0, 0.0, 0.0]


def test_what_too_many_share_makes_nobody_near(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = csr_array(np.array([[1.0, 0], [1, 1], [1, 1]]))
    assert Neighbours.of(vectors).other[0, :3].tolist() == [1, 2, -1]
    plain = getattr(similarity._nearest, "py_func", similarity._nearest)
    monkeypatch.setattr(similarity, "_nearest", plain)
    monkeypatch.setattr(similarity, "LARGEST_GROUP", 2)
    assert Neighbours.of(vectors).other[:, :2].tolist() == [[-1, -1], [2, -1], [1, -1]]


def test_of_many_others_those_that_share_rare_words_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Column 0 has all rows, column 1 rows 0 to 3, column 2 rows 0 and 4: six entries are compared, and the first."""
    vectors = np.zeros((8, 3))
    vectors[:, 0], vectors[:4, 1], vectors[[0, 4], 2] = 1.0, 1.0, 1.0
    near = Neighbours.of(csr_array(vectors))
    assert sorted(near.other[0].tolist()[:7]) == [1, 2, 3, 4, 5, 6, 7]
    plain = getattr(similarity._nearest, "py_func", similarity._nearest)
    monkeypatch.setattr(similarity, "_nearest", plain)
    monkeypatch.setattr(similarity, "MOST_COMPARED", 6)
    few = Neighbours.of(csr_array(vectors))
    assert sorted(few.other[0].tolist()[:5]) == [-1, 1, 2, 3, 4]
    assert few.other[5].tolist()[:7] == near.other[5].tolist()[:7]


def test_a_pasted_text_begins_few_groups() -> None:
    small = Small(
        [" ".join(map(str, range(5000))), "0 1"], np.full((2, 1), 0.5), np.zeros((2, 1)), np.ones(2)
    )
    assert small.similarity(small.pairs()).groups["prefix"].shape == (8, 2)


def test_what_was_clicked_says_nothing_of_who_is_alike() -> None:
    """Clicks were logged at other ranks than the page has now, one on a document that it no longer has."""
    returned = csr_array(np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5]]))
    moved = Observations.of(returned, clicked((0, 1, 3.0, 3.0), (1, 0, 1.0, 4.0)))
    names, titles = ["fox", "bird", "fish"], [""] * 3
    before, after = (
        Similarity.of(["a b", "b c"], names, titles, pairs)
        for pairs in (Observations.of(returned, clicked()), moved)
    )
    assert np.array_equal(before.page_vectors.toarray(), after.page_vectors.toarray())
    assert before.text_match.first.tolist() == after.text_match.first.tolist() == [0, 1]
    assert before.text_match.titles.values.tolist() == after.text_match.titles.values.tolist()
    on_page = moved.current_propensity > 0
    assert on_page.tolist() == [True, True, False, True, True]
    clicks = np.array([0.0, 3.0, 1.0, 0.0, 0.0])
    found = matrix_of(moved, clicks, np.ones(2), after)[on_page]
    assert np.exp(found[:, NAMES.index("log_propensity")]).tolist() == [1.0, 0.5, 1.0, 0.5]
    assert found[:, NAMES.index("returned_documents")].tolist() == [2.0] * 4


def test_few_documents_with_many_clicks_do_not_give_the_pair_away() -> None:
    """Whether a document is wanted is a coin's doing, so nothing tells which pairs were clicked at the same place.

    Where only the pair itself is left out, those with a click are told by what their document lacks elsewhere: of the
    others 0.13 is learned instead of 0.3.
    """
    rng = np.random.default_rng(1)
    queries, documents, page = 1500, 30, 10
    p = np.zeros((queries, documents))
    for q in range(queries):
        p[q, rng.choice(documents, page, replace=False)] = 1 / np.arange(1, page + 1)
    clicks = rng.poisson(2.0 * p * (rng.random(p.shape) < 0.3)).astype(np.float64)
    small = Small([f"x{q}" for q in range(queries)], p, clicks, np.full(queries, 2.0))
    pairs = small.pairs()
    own = small.of_pairs(pairs)
    learned = relevance_prior.fit(FeatureBlocks.in_memory(rows_of(small)), pairs, own, small.query_rate)
    for place in (1.0, 0.5):
        at = pairs.propensity == place
        assert learned[at & (own == 0)].mean() == pytest.approx(0.3, abs=0.06)
        assert learned[at & (own > 0)].mean() == pytest.approx(0.3, abs=0.1)


def test_a_script_without_spaces_is_known_by_its_pages() -> None:
    small = Small(
        ["赤い靴", "赤靴"], np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[2.0, 0], [0, 0]]), np.ones(2)
    )
    found = rows_of(small)
    assert found[:, NAMES.index("word_group_best_clicks")].tolist() == [0, 0, 0, 0]
    assert found[2, NAMES.index("page_neighbours_clicks")] == pytest.approx(2.0 * (0.5 + 0.5) / (1.0 + 0.25))


def test_no_pair_no_row() -> None:
    small = Small(["a", "b"], np.zeros((2, 3)), np.zeros((2, 3)), np.ones(2))
    assert rows_of(small).shape == (0, len(NAMES))
