"""The prefix matcher, against a loop over all prefixes of all queries."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wayword.completion import prefix_matcher as module
from wayword.completion import word_index
from wayword.completion.prefix_matcher import (
    SOURCES,
    Matches,
    PrefixMatcher,
    allowed_edits,
)
from wayword.completion.trie import code_points, within_edits

Counted = dict[str, bool]

small = st.text(alphabet="ab ", max_size=9).map(lambda text: " ".join(text.split()))
wide = st.text(alphabet="abcé語🙂 ", max_size=9).map(lambda text: " ".join(text.split()))
text = small | wide
queries = st.dictionaries(text.filter(bool), st.sampled_from([True, True, False]), max_size=14)


def distance(left: str, right: str) -> int:
    """Insertions, deletions, replacements, swaps of adjacent characters; no substring is edited twice."""
    table = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i in range(1, len(left) + 1):
        for j in range(1, len(right) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (left[i - 1] != right[j - 1]),
            )
            if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(left), len(right)]


def from_beginning(typed: str, query: str) -> int:
    return min(distance(typed, query[:end]) for end in range(len(query) + 1))


def after_the_first(typed: str, query: str) -> float:
    """As `from_beginning`, with no edit in the first character."""
    return from_beginning(typed[1:], query[1:]) if typed and typed[:1] == query[:1] else np.inf


def corrections(typed: str, query: str) -> float:
    """Number of typed words that need one edit for the query to contain them all; in the first character only words
    of eight or more."""
    *complete, last = typed.split()

    def needed(word: str, apart: Callable[[str, str], int]) -> float:
        others = query.split()
        if any(apart(word, other) == 0 for other in others):
            return 0
        kept = len(word) < 8
        close = (apart(word[kept:], other[kept:]) == 1 for other in others if word[:kept] == other[:kept])
        return 1 if len(word) >= 4 and any(close) else np.inf

    return needed(last, from_beginning) + sum(needed(word, distance) for word in complete)


def all_known(matchable: list[str], typed: str) -> bool:
    """Whether every typed word is a word of some query, the last at least a prefix of one."""
    *complete, last = typed.split()
    words = {word for query in matchable for word in query.split()}
    return words.issuperset(complete) and any(word.startswith(last) for word in words)


def similarity(matchable: dict[int, str], typed: str) -> dict[int, float]:
    """Relative similarity of the typed text and each query that shares a word with it; the largest is 1."""
    words = {number: set(query.split()) for number, query in matchable.items()}
    texts_of = {w: [n for n in words if w in words[n]] for of_query in words.values() for w in of_query}
    *complete, last = typed.split() or [""]
    stands_for = [[w for w in texts_of if w == word] for word in complete]
    begun = next(
        (last[:end] for end in range(len(last), 0, -1) if any(w.startswith(last[:end]) for w in texts_of)), ""
    )
    if begun and (begun == last or len(begun) >= max(4, 3 / 4 * len(last))):
        stands_for.append([w for w in texts_of if w.startswith(begun)])
    score: dict[int, float] = {}
    for meant in filter(None, stands_for):
        rarity = math.log1p(len(matchable) / sum(len(texts_of[w]) for w in meant))
        for number in {n for w in meant for n in texts_of[w]}:
            score[number] = score.get(number, 0) + rarity**2
    for number in score:
        lengths = [math.log1p(len(matchable) / len(texts_of[w])) ** 2 for w in words[number]]
        score[number] /= math.sqrt(sum(lengths))
    return {number: (score[number] / max(score.values())) ** 4 for number in sorted(score)}


def cascade(counted: Counted, typed: str) -> tuple[list[int], str]:
    """Specification of `PrefixMatcher.matches`."""
    matchable = {number: query for number, query in enumerate(sorted(counted)) if counted[query]}

    def those(needed: dict[int, float], at_most: float) -> list[int]:
        return [number for number, edits in needed.items() if edits <= at_most]

    edits: dict[int, float] = {number: from_beginning(typed, query) for number, query in matchable.items()}
    later: dict[int, float] = {number: after_the_first(typed, query) for number, query in matchable.items()}
    words = {number: corrections(typed, query) for number, query in matchable.items()} if typed else {}
    ways = [
        ("exact", those(edits, 0)),
        ("words", those(words, 0)),
        ("typo", those(edits if len(typed) >= 8 else later, 1) if len(typed) >= 4 else []),
        (
            "typo",
            those(later, 2) if len(typed) >= 8 and not all_known(list(matchable.values()), typed) else [],
        ),
        ("words", those(words, min([*words.values(), len(typed)]))),
        ("similar", list(similarity(matchable, typed))),
    ]
    return next(((queries, source) for source, queries in ways if queries), ([], "similar"))


def built(counted: Counted) -> PrefixMatcher:
    texts = sorted(counted)
    return PrefixMatcher.build(texts, np.array([counted[query] for query in texts], dtype=bool))


def plain(matches: Matches) -> tuple[list[int], str]:
    assert matches.query.dtype == np.int32
    assert matches.weight.dtype == np.float32
    assert (matches.weight == 1).all() or matches.source == "similar"
    assert len(matches.weight) == len(matches.query)
    assert (np.diff(matches.query) > 0).all()
    assert matches.source in SOURCES
    return matches.query.tolist(), matches.source


@given(queries, text, st.sampled_from([1, 2]))
@settings(max_examples=500)
def test_corrections_are_those_of_the_loop(counted: Counted, typed: str, edits: int) -> None:
    expected = [
        number
        for number, query in enumerate(sorted(counted))
        if counted[query] and (from_beginning if edits == 1 else after_the_first)(typed, query) <= edits
    ]
    matcher = built(counted)
    rows = matcher.within_edits(code_points([typed]).read_only().values, edits, first=edits == 1)
    assert matcher.matchable[rows].tolist() == expected


@given(queries, text)
@settings(max_examples=500)
def test_the_first_strategy_that_matches_is_used(counted: Counted, typed: str) -> None:
    assert plain(built(counted).matches(typed)) == cascade(counted, typed)


@given(queries, text)
@settings(max_examples=300)
def test_similarity_is_that_of_the_loop(counted: Counted, typed: str) -> None:
    matchable = {number: query for number, query in enumerate(sorted(counted)) if counted[query]}
    matcher = built(counted)
    rows, weight = matcher._words.similar(code_points([typed]).values)
    assert dict(zip(matcher.matchable[rows].tolist(), weight.tolist(), strict=True)) == pytest.approx(
        similarity(matchable, typed), rel=1e-5
    )


def test_the_most_similar_are_kept_and_too_common_words_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compiled code keeps the values of constants, so the uncompiled functions are tested."""
    for name in ("_most_similar", "_texts_of_words"):
        function = getattr(word_index, name)
        monkeypatch.setattr(word_index, name, getattr(function, "py_func", function))
    texts = [f"shoe number {n}" for n in range(9)] + ["shoe", "red boot"]
    index = word_index.WordIndex.build(sorted(texts))
    monkeypatch.setattr(word_index, "MOST_SIMILAR", 1)
    assert index.similar(code_points(["shoe xyz"]).values)[0].tolist() == [sorted(texts).index("shoe")]
    monkeypatch.setattr(word_index, "TOO_COMMON", 5)
    assert index.similar(code_points(["shoe xyz"]).values)[0].tolist() == []
    assert index.similar(code_points(["shoe red xyz"]).values)[0].tolist() == [0]


@pytest.mark.parametrize(
    ("typed", "expected", "source"),
    [
        ("video p", ["video player"], "exact"),
        ("viedo pl", ["video player"], "typo"),
        ("ideo", [], "similar"),  # errors in the first character of short texts are rare
        ("ideo play", ["video player"], "typo"),
        ("vo", [], "similar"),  # too short to be corrected
        ("videos", ["video call", "video player"], "typo"),
        ("video2024", [], "similar"),  # five of nine characters
        ("video 2024", ["video call", "video player"], "similar"),
        ("player vid", ["video player"], "words"),
        ("call", ["video call"], "words"),
        ("vedeo plyer", ["video player"], "typo"),
        (
            "video mail",
            ["mail", "video call", "video player"],
            "similar",
        ),  # known words are not corrected twice
        ("plyer video", ["video player"], "words"),
        ("plyer vidoe", ["video player"], "words"),
        ("mail server for many", ["mail"], "similar"),
        ("x", [], "similar"),
        ("", ["mail", "video call", "video player"], "exact"),
    ],
)
def test_examples(typed: str, expected: list[str], source: str) -> None:
    texts = ["mail", "mailbox", "video call", "video player"]
    matches = PrefixMatcher.build(texts, np.array([True, False, True, True])).matches(typed)
    assert ([texts[number] for number in matches.query], matches.source) == (expected, source)


def test_fewest_corrected_words_win() -> None:
    texts = ["email from", "email form", "emails from"]
    matches = PrefixMatcher.build(sorted(texts), np.ones(3, bool)).matches("from emial")
    assert [sorted(texts)[number] for number in matches.query] == ["email from", "emails from"]


@pytest.mark.parametrize("typed", ["", "a", "abc", "some words", "some longer words"])
@pytest.mark.parametrize("texts", [[], ["abc", "abd", "some words"]])
def test_without_matchable_queries_there_are_no_matches(typed: str, texts: list[str]) -> None:
    matcher = PrefixMatcher.build(texts, np.zeros(len(texts), bool))
    assert plain(matcher.matches(typed)) == ([], "similar")


@given(counted=queries, typed=st.lists(text, max_size=5))
@settings(max_examples=30)
def test_what_is_loaded_is_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory, counted: Counted, typed: list[str]
) -> None:
    folder: Path = tmp_path_factory.mktemp("beginnings")
    saved = built(counted)
    saved.save(folder)
    loaded = PrefixMatcher.load(folder)
    assert {path.suffix for path in folder.iterdir()} == {".npy"}
    for prefix in typed:
        assert plain(loaded.matches(prefix)) == plain(saved.matches(prefix))


def hostile() -> list[str]:
    """Texts over two letters, so that nearly every node is near the typed text."""
    rng = np.random.default_rng(0)
    letters = np.where(rng.random((4000, 300)) < 0.02, "b", "a")
    return sorted({"".join(row) for row in letters.tolist()})


@pytest.mark.parametrize("typed", ["a" * 1000, "ab" * 500, "a " * 500 + "a", "aaa " * 250 + "aab"])
@pytest.mark.parametrize("budget", [1, 100, module.MAX_VISITS])
def test_visits_are_bounded(typed: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[int] = []

    def counting(*arguments: Any) -> tuple[NDArray[np.int64], int]:
        ranges, visits = within_edits(*arguments)
        visited.append(visits)
        return ranges, visits

    monkeypatch.setattr(module, "within_edits", counting)
    monkeypatch.setattr(module, "MAX_VISITS", budget)
    texts = hostile()
    matcher = PrefixMatcher.build(texts, np.ones(len(texts), bool))
    first, second = matcher.matches(typed), matcher.matches(typed)
    assert plain(first) == plain(second)
    assert max(visited) <= budget
    assert len(visited) <= 2 * 4  # one and two edits, each perhaps again with the first character kept; twice


def test_without_visits_enough_the_first_character_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sorted(chr(0x4E00 + number) + "video" for number in range(500))
    matcher = PrefixMatcher.build(texts, np.ones(500, bool))
    typed = texts[400].replace("video", "vidoe")
    assert plain(matcher.matches(typed)) == ([400], "typo")
    monkeypatch.setattr(module, "MAX_VISITS", 50)
    assert plain(matcher.matches(typed)) == ([400], "typo")


def test_comparisons_of_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sorted(f"{number:04} common word" for number in range(1000))
    matcher = PrefixMatcher.build(texts, np.ones(1000, bool))
    assert plain(matcher.matches("word comm")) == (list(range(1000)), "words")
    monkeypatch.setattr(word_index, "MAX_CANDIDATES", 100)
    assert plain(matcher.matches("word comm")) == (list(range(100)), "words")
    monkeypatch.setattr(word_index, "MAX_COMPARISONS", 60)
    assert plain(matcher.matches("word comm")) == (list(range(60 // (2 * 3))), "words")


def test_edits_by_length() -> None:
    assert [allowed_edits(length) for length in range(9)] == [0, 0, 0, 0, 1, 1, 1, 1, 2]
