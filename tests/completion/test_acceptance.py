"""Acceptance: features by arithmetic on three queries, what is saved and loaded, and damaged files."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wayword.completion.acceptance import FEATURES, PRIOR, Acceptance
from wayword.completion.query_pairs import SMALL, acceptance_of_slots, matrices
from wayword.completion.query_words import QueryWords
from wayword.completion.suggested_queries import SuggestedQueries
from wayword.completion.trie import code_points
from wayword.errors import WorkspaceError
from wayword.store.compressed_rows import WeightedRows

TEXTS = ["tv", "tv stand", "tv wall mount"]
PAGES = [[(d, 1 / (rank + 1)) for rank, d in enumerate(order)] for order in ([0, 1], [1, 2], list(range(12)))]
"""Documents and p[rank] of each query."""
WANTED = [[(0, 1.0), (1, 3.0)], [(2, 2.0)], [(0, 1.0), (11, 1.0)]]
"""Documents and how often people want them who intend each query."""


def rarity(count: int) -> float:
    """The weight of a word that so many of the three queries have."""
    return math.log((len(TEXTS) + 1) / count)


def rows(entries: list[list[tuple[int, float]]]) -> WeightedRows:
    flat = [entry for row in entries for entry in row]
    return WeightedRows.from_lengths(
        np.array([document for document, _ in flat], np.int32),
        np.array([len(row) for row in entries]),
        np.array([weight for _, weight in flat], np.float32),
    )


def wanted_on_page(intended: int, page: int) -> float:
    """⟨demand, exposure⟩."""
    shown = dict(PAGES[page])
    return sum(rate * shown.get(document, 0.0) for document, rate in WANTED[intended])


CERTAINTY = np.array([1.0, 0.5, 0.8], np.float32)
OWN = np.array([wanted_on_page(query, query) for query in range(len(TEXTS))], np.float32)


def suggested(group: list[int] | None = None) -> SuggestedQueries:
    numbers = np.arange(len(TEXTS), dtype=np.int32)
    groups = numbers if group is None else np.array(group, np.int32)
    return SuggestedQueries(QueryWords.of(TEXTS), rows(PAGES), code_points(TEXTS), groups, groups, numbers)


def scratch(queries: SuggestedQueries) -> tuple[Any, Any]:
    return np.zeros(queries.words.vocabulary, np.int32), np.zeros(12, np.int32)


def accepted(queries: SuggestedQueries, typed: str, corrected: bool = False) -> Any:
    """a(q | x, q̄) of all pairs, as lists compute it."""
    every = np.arange(len(TEXTS), dtype=np.int32)
    factors = np.ones((0, 0), np.float32), np.full(1, -1, np.int32)
    found, _ = matrices(
        every,
        every,
        code_points([typed]).arrays,
        corrected,
        queries.arrays(np.ones(len(TEXTS)), CERTAINTY),
        rows(WANTED).arrays,
        OWN,
        factors,
        PRIOR.coefficients[None],
        scratch(queries),
    )
    return found


def scaled(share: float) -> float:
    return math.log(1 + min(share, 1) / SMALL) / math.log(1 + 1 / SMALL)


def served(intended: int, page: int) -> float:
    return wanted_on_page(intended, page) / wanted_on_page(intended, intended)


def expected(continues: bool, intended: float, other: float, utility: float, corrected: bool) -> float:
    features = [1.0, continues, scaled(intended), scaled(other), scaled(utility), corrected]
    return float(PRIOR.probability(np.array([features]))[0])


@pytest.mark.parametrize("corrected", [False, True])
def test_features_of_three_queries_by_arithmetic(corrected: bool) -> None:
    found = accepted(suggested(), "tv s", corrected)
    tv, stand, wall = rarity(3), rarity(1), rarity(1)
    of_stand, of_mount = tv / (tv + stand), tv / (tv + 2 * wall)
    assert np.diag(found).tolist() == [1, 1, 1]
    by_hand = {
        (0, 1): expected(True, 1.0, of_stand, 1.0 * served(0, 1), corrected),
        (1, 0): expected(False, of_stand, 1.0, 0.5 * served(1, 0), corrected),
        (1, 2): expected(False, of_stand, of_mount, 0.5 * served(1, 2), corrected),
        (2, 1): expected(True, of_mount, of_stand, 0.8 * served(2, 1), corrected),
    }
    for pair, value in by_hand.items():
        assert found[pair] == pytest.approx(value, rel=1e-5)
    assert served(0, 1) == pytest.approx(
        (3 * 1) / (1 * 1 + 3 * 1 / 2)
    )  # better than their own page: counts as 1
    assert served(1, 0) == 0


def test_slots_are_accepted_as_in_lists() -> None:
    queries = suggested()
    of_lists = accepted(queries, "tv s")
    begins = np.array([text.startswith("tv s") for text in TEXTS])
    of_slots = acceptance_of_slots(
        np.arange(3),
        np.array([0, 3, 6, 9]),
        np.tile(np.arange(3), 3),
        np.tile(begins, 3),
        queries.arrays(np.ones(3), CERTAINTY),
        rows(WANTED).arrays,
        OWN,
        PRIOR.coefficients[None],
        scratch(queries)[0],
        np.zeros(12),
    )
    np.testing.assert_allclose(of_slots.reshape(3, 3), of_lists, rtol=1e-6)


def test_variants_are_one_suggestion_and_accepted_as_such() -> None:
    found = accepted(suggested([0, 1, 1]), "tv")
    assert found[1, 2] == found[2, 1] == 1
    assert 0 < found[0, 1] < 1


def test_weights_of_words_sum_to_one_for_each_query() -> None:
    words = QueryWords.of([*TEXTS, "tv tv stand"]).words
    np.testing.assert_allclose(np.bincount(words.owner, words.weights), np.ones(4), rtol=1e-6)
    assert words.lengths.tolist() == [1, 2, 3, 2]


def test_the_prior_is_a_model_and_reading_never_increases() -> None:
    PRIOR.check("the prior")
    assert len(PRIOR.coefficients) == len(FEATURES)
    assert (np.diff(PRIOR.reading_at(30)) <= 0).all()
    assert PRIOR.reading_at(3).tolist() == PRIOR.reading[:3].tolist()
    assert replace(PRIOR, reading=np.array([0.5])).reading_at(4).tolist() == [0.5] * 4


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    replace(PRIOR, careless=0.1, kept=-0.2).save(tmp_path / "acceptance.json")
    found = Acceptance.load(tmp_path / "acceptance.json")
    assert (found.careless, found.kept) == (0.1, -0.2)
    assert found.coefficients.tolist() == PRIOR.coefficients.tolist()
    assert found.reading.tolist() == PRIOR.reading.tolist()


_VALUES = {
    "coefficients": dict.fromkeys(FEATURES, 0.5),
    "reading": [0.8, 0.5],
    "careless": 0.03,
    "kept": 0.5,
}


def _without(name: str) -> str:
    return json.dumps({key: value for key, value in _VALUES.items() if key != name})


def _changed(name: str, value: object) -> str:
    return json.dumps({**_VALUES, name: value})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        "null",
        _without("careless"),
        _without("kept"),
        _changed("careless", -0.1),
        _changed("careless", 1),
        _changed("careless", math.nan),
        _changed("careless", None),
        _changed("kept", math.inf),
        _changed("kept", [0.5]),
        _changed("reading", []),
        _changed("reading", 0.5),
        _changed("reading", [[0.5]]),
        _changed("reading", [0.5, 0.6]),
        _changed("reading", [1.5, 0.6]),
        _changed("reading", [0.5, -0.1]),
        _changed("reading", [math.nan]),
        _changed("reading", ["half"]),
        _changed("reading", {"1": 0.5}),
        _changed("coefficients", [1.0] * len(FEATURES)),
        _changed("coefficients", {"constant": 1.0}),
        _changed("coefficients", dict.fromkeys(FEATURES, math.nan)),
        _changed("coefficients", dict.fromkeys(FEATURES, math.inf)),
        _changed("coefficients", dict.fromkeys(FEATURES, 10**400)),
        _changed("coefficients", dict.fromkeys(FEATURES)),
    ],
)
def test_a_file_that_is_no_model_is_named(content: str, tmp_path: Path) -> None:
    file = tmp_path / "acceptance.json"
    file.write_text(content)
    with pytest.raises(WorkspaceError, match=r"acceptance\.json"):
        Acceptance.load(file)
