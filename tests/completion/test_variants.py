"""Variants of one query are one suggestion, other queries are not: by example, by property, against a generator."""

import importlib
import sys
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.completion.misspellings import Misspellings
from wayword.completion.variants import Variants
from wayword.completion.variants_table import as_table, read_corrections
from wayword.errors import WaywordError
from wayword.store.compressed_rows import WeightedRows


@pytest.fixture(scope="module")
def made_variants() -> ModuleType:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        return importlib.import_module("made_variants")
    finally:
        sys.path.pop(0)


def pages_of(pages: list[list[int]]) -> WeightedRows:
    lengths = np.array([len(page) for page in pages], np.int64)
    values = np.array([document for page in pages for document in page], np.int32)
    weights = np.array([1 / rank for page in pages for rank in range(1, len(page) + 1)], np.float32)
    return WeightedRows.from_lengths(values, lengths, weights)


def shown(searches: dict[str, int], pages: dict[str, list[int]] | None = None) -> dict[str, str]:
    texts = list(searches)
    found = Variants.of(
        texts,
        np.array(list(searches.values())),
        None if pages is None else pages_of([pages.get(text, []) for text in texts]),
    )
    return {text: texts[number] for text, number in zip(texts, found.shown_as.tolist(), strict=True)}


@pytest.mark.parametrize(
    "pair",
    [
        ("tv stand", "stand tv"),
        ("tv stand", "tv stand tv"),
        ("backpack", "back pack"),
        ("email client", "e mail client"),
        ("iphone 7s", "iphone 7 s"),
        ("black & decker", "black decker"),
        ("café table", "cafe table"),
        ("ice cream maker", "icecreammaker"),
        ("laptop sleeve", "latpop sleeve"),
        ("refrigerator", "refrigertaor"),
        ("refrigerator", "refridgerater"),
        ("холодильник", "холодилник"),
    ],
)
def test_variants_are_shown_as_the_most_searched(pair: tuple[str, str]) -> None:
    right, other = pair
    found = shown({right: 400, other: 3, "something else": 50})
    assert found[other] == found[right] == right
    assert found["something else"] == "something else"


@pytest.mark.parametrize(
    "pair",
    [
        ("iphone 7", "iphone 7s"),
        ("iphone 14", "iphone 15"),
        ("ab 1 0", "ab 10"),
        ("gtx 1080", "gtx 1081"),
        ("car", "card"),
        ("car", "cart"),
        ("tv", "tvs stand"),
        ("手机壳", "手机套"),
    ],
)
def test_other_queries_stay(pair: tuple[str, str]) -> None:
    right, other = pair
    assert shown({right: 4000, other: 30})[other] == other


def test_a_rare_word_with_a_page_of_its_own_is_no_misspelling() -> None:
    searches = {"board": 900, "boar": 5}
    assert shown(searches, {"board": [1, 2, 3, 4]})["boar"] == "board"
    assert shown(searches, {"board": [1, 2, 3, 4], "boar": [1, 2, 3, 4]})["boar"] == "board"
    assert shown(searches, {"board": [1, 2, 3, 4], "boar": [7, 8, 9]})["boar"] == "boar"
    both = {"board": 900, "boar": 5, "board game": 400, "boar game": 2}
    pages = {"board": [1, 2, 3], "boar": [7, 8, 9], "board game": [1, 5, 6], "boar game": [7, 5, 6]}
    assert shown(both, pages)["boar game"] == "boar game"


def test_what_is_searched_often_is_no_misspelling() -> None:
    assert shown({"board": 40, "boardd": 30})["boardd"] == "boardd"


def test_forms_with_rich_pages_that_share_nothing_are_two_queries() -> None:
    plurals = {noun + end: 10 for noun in ("cable", "lamp", "ladder", "table", "phone") for end in ("", "s")}
    searches = plurals | {"new": 50, "news": 40}
    same = {text: [int(text == "news"), 2, 3, 4] for text in searches}
    assert shown(searches, same)["news"] == "new"
    other = same | {"new": [11, 12, 13], "news": [21, 22, 23]}
    assert shown(searches, other)["news"] == "news"
    assert shown(searches, other)["lamps"] == "lamp"


def test_a_journey_and_its_return_are_two_queries() -> None:
    both = {"london to paris": 60, "paris to london": 50}
    assert shown(both) == {text: text for text in both}
    assert shown({"shoes for men": 60, "men for shoes": 2})["men for shoes"] == "shoes for men"


def test_a_query_that_may_not_be_shown_is_shown_as_one_that_may() -> None:
    texts = ["back pack", "backpack", "lamp"]
    found = Variants.of(texts, np.array([9, 2, 4]), showable=np.array([False, True, True]))
    assert found.shown_as.tolist() == [1, 1, 2]


def test_people_correct_variants(tmp_path: Path) -> None:
    texts = ["back pack", "backpack", "bag", "lamp", "lapm"]
    searches = np.array([3, 90, 40, 80, 1])
    found = Variants.of(texts, searches)
    table = as_table(texts, found, searches)
    assert table.to_pylist() == [
        {
            "query": "back pack",
            "shown_as": "backpack",
            "reason": "spacing",
            "searches": 3,
            "searches_of_shown": 90,
        },
        {"query": "lapm", "shown_as": "lamp", "reason": "misspelt", "searches": 1, "searches_of_shown": 80},
    ]
    corrected = pa.table({"query": ["Back-Pack", "lapm", "never seen"], "shown_as": ["Bag", "", "lamp"]})
    pc.write_csv(corrected, tmp_path / "corrected.csv")
    pq.write_table(corrected, tmp_path / "corrected.parquet")
    for name in ("corrected.csv", "corrected.parquet"):
        corrections, unknown = read_corrections(tmp_path / name, texts)
        assert (corrections, unknown) == ({0: 2, 4: 4}, ["never seen"])
    again = Variants.of(texts, searches, corrections=corrections)
    assert again.shown_as.tolist() == [2, 1, 2, 3, 4]
    assert as_table(texts, again, searches)["reason"].to_pylist() == ["corrected by people"]


def test_separating_the_shown_query_leaves_the_others_together() -> None:
    texts = ["back pack", "backpack", "pack back"]
    found = Variants.of(texts, np.array([5, 90, 2]), corrections={1: 1})
    assert found.shown_as.tolist() == [0, 1, 0]


@pytest.mark.parametrize("content", [b"", b"query,other\na,b\n", b"\xff\xfe\x00"])
def test_bad_files_of_corrections_say_what_is_expected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(WaywordError, match="query and shown_as"):
        read_corrections(tmp_path / "bad.csv", ["a"])
    with pytest.raises(WaywordError, match="Cannot read"):
        read_corrections(tmp_path / "none.csv", ["a"])


def slow_distance(a: str, b: str) -> int:
    """Optimal string alignment, by recursion."""
    if not a or not b:
        return len(a) + len(b)
    best = min(slow_distance(a[1:], b) + 1, slow_distance(a, b[1:]) + 1)
    best = min(best, slow_distance(a[1:], b[1:]) + (a[0] != b[0]))
    if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]:
        best = min(best, slow_distance(a[2:], b[2:]) + 1)
    return best


@settings(max_examples=40)
@given(st.lists(st.text("abc", min_size=4, max_size=6), min_size=2, max_size=8, unique=True))
def test_misspellings_are_all_pairs_within_one_edit(words: list[str]) -> None:
    searched = np.array([100.0 ** (place % 3) for place in range(len(words))])
    pairs = Misspellings.of(words, searched, np.ones(len(words), bool))
    expected = {
        (wrong, right)
        for wrong in range(len(words))
        for right in range(len(words))
        if searched[right] >= 100 * searched[wrong] and slow_distance(words[wrong], words[right]) == 1
    }
    assert set(zip(pairs.wrong.tolist(), pairs.right.tolist(), strict=True)) == expected


TEXTS = st.lists(
    st.lists(
        st.sampled_from(
            [
                "lamp",
                "lamps",
                "tent",
                "tents",
                "red",
                "rde",
                "7",
                "7s",
                "&",
                "café",
                "cafe",
                "backpack",
                "back",
                "pack",
            ]
        ),
        min_size=1,
        max_size=4,
    ).map(" ".join),
    min_size=1,
    max_size=30,
    unique=True,
)


@given(TEXTS, st.randoms(use_true_random=False))
def test_what_is_shown_is_shown_as_itself_and_does_not_depend_on_the_order(
    texts: list[str], random: Random
) -> None:
    searches = np.array([random.randrange(100) for _ in texts])
    found = Variants.of(texts, searches)
    assert (found.shown_as[found.shown_as] == found.shown_as).all()
    assert (found.group == found.group[found.shown_as]).all()
    order = list(range(len(texts)))
    random.shuffle(order)
    again = Variants.of([texts[place] for place in order], searches[order])
    assert [texts[order[number]] for number in again.shown_as] == [
        texts[found.shown_as[place]] for place in order
    ]


def test_variants_put_in_by_a_generator_are_found(made_variants: ModuleType) -> None:
    rng = np.random.default_rng(0)
    syllables = [
        "ba",
        "ker",
        "lin",
        "mo",
        "nu",
        "ra",
        "tis",
        "sol",
        "ven",
        "pal",
        "der",
        "gim",
        "hon",
        "jut",
        "cra",
    ]
    nouns = sorted({"".join(rng.choice(syllables, 3)) for _ in range(150)})
    queries = sorted({f"{rng.choice(nouns)} {rng.choice(nouns)}" for _ in range(1500)} | set(nouns))
    made = made_variants.make_variants(queries, rng)
    found = Variants.of(made.texts, made.searches)
    put_in = made.origin != np.arange(len(made.texts))
    together = found.group == found.group[made.origin]
    for kind, least in {
        "word order": 0.97,
        "spacing": 0.97,
        "accents": 0.99,
        "repeated": 0.99,
        "misspelt": 0.8,
    }.items():
        chosen = np.array([one == kind for one in made.kind]) & put_in
        assert together[chosen].mean() >= least, kind
    words = [frozenset(text.split()) for text in made.texts]
    merged = np.flatnonzero(~put_in & (made.searches >= 20) & (found.shown_as != np.arange(len(words))))
    wrong = [made.texts[query] for query in merged if words[query] != words[found.shown_as[query]]]
    assert len(wrong) < 0.005 * len(queries), wrong
