"""Stored nodes of a trie: against a loop, and search results do not depend on them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.completion import trie as module
from wayword.completion.trie import (
    Trie,
    bare_trie,
    build_trie,
    code_points,
    walk,
    within_edits,
    word_ranges,
)
from wayword.store.arrays import read_only

small = st.text(alphabet="ab ", max_size=9)
wide = st.text(alphabet="aé語🙂 ", max_size=5)
texts = st.lists(small | wide, unique=True, max_size=14).map(sorted)
sizes = st.sampled_from([1, 2, 3, 6, 1 << 20])


def tries(texts: list[str], listed_from: int, listed: int) -> tuple[Trie, Trie]:
    """Build a trie with stored nodes, and one without."""
    code = code_points(texts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "LISTED_FROM", listed_from)
        patched.setattr(module, "LISTED", listed)
        return build_trie(code), bare_trie(code)


@given(texts, st.sampled_from([1, 2, 4]))
@settings(max_examples=200)
def test_all_nodes_of_many_texts_have_their_children_in_the_list(texts: list[str], least: int) -> None:
    (_, (character, low, high, child)), _ = tries(texts, least, 1 << 20)
    beginnings = [""]
    for node, beginning in enumerate(beginnings):
        these = [n for n, text in enumerate(texts) if text.startswith(beginning)]
        further = {texts[n][: len(beginning) + 1] for n in these} - {beginning}
        assert list(range(low[node], high[node])) == these
        assert character[node] == (ord(beginning[-1]) if beginning else -1)
        assert child[node] == len(beginnings)
        beginnings += sorted(further) if len(these) >= least else []
        assert child[node + 1] == len(beginnings)
    assert len(low) == len(beginnings)


@given(texts, sizes)
def test_the_list_is_bounded_and_begins_as_the_whole_one(texts: list[str], most: int) -> None:
    (_, bounded), (_, whole) = tries(texts, 1, most)[0], tries(texts, 1, 1 << 20)[0]
    assert len(bounded[0]) <= most
    for some, every in zip(bounded[:3], whole[:3], strict=True):
        assert some.tolist() == every[: len(some)].tolist()


@given(texts, small | wide, sizes, sizes, st.sampled_from([1, 2]), st.sampled_from([0, 1]), st.booleans())
@settings(max_examples=500)
def test_results_do_not_depend_on_stored_nodes(
    texts: list[str], typed: str, least: int, most: int, edits: int, kept: int, whole: bool
) -> None:
    listed, bare = tries(texts, least, most)
    given = read_only(code_points([typed]).values)
    assert walk(listed, given)[:3] == walk(bare, given)[:3]
    kept = min(kept, len(typed))
    assert same(
        within_edits(listed, given, edits, kept, whole, 1000),
        within_edits(bare, given, edits, kept, whole, 1000),
    )
    assert same(word_ranges(listed, given, 3, 1000), word_ranges(bare, given, 3, 1000))


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(map(np.array_equal, one, other))
