"""Finished lists: written from arrays, found by text, against plain dictionaries."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.completion import Completion
from wayword.index.completion_lists import Lists, StoredLists, write
from wayword.store.strings import Strings

KEPT = 13
SHOWN = [f"query {n} ü" for n in range(30)]


@st.composite
def many_lists(draw: st.DrawFn) -> list[list[int]]:
    one = st.lists(st.integers(0, len(SHOWN) - 1), unique=True, max_size=KEPT)
    return draw(st.lists(one, min_size=1, max_size=8))


def _lists(queries: list[list[int]]) -> Lists:
    context = np.repeat(np.arange(len(queries), dtype=np.int32), [*map(len, queries)])
    query = np.array([q for of_one in queries for q in of_one], np.int32)
    score = np.linspace(2, 1, len(query), dtype=np.float32)
    return Lists.of(Candidates(context, query, score, np.full(len(query), 4, np.int8)), len(queries))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(many_lists(), st.sets(st.integers(0, len(SHOWN) - 1), max_size=6), st.integers(1, KEPT + 3), st.data())
def test_a_text_finds_its_list(
    tmp_path: Path, queries: list[list[int]], hidden: set[int], k: int, data: st.DataObject
) -> None:
    lists = _lists(queries)
    keys = data.draw(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
            unique=True,
            max_size=9,
        )
    )
    numbers = data.draw(st.lists(st.integers(0, len(queries) - 1), min_size=len(keys), max_size=len(keys)))
    shown = Strings.of(SHOWN)
    write(tmp_path, keys, {"any": np.array(numbers, np.int64)}, lists, shown)
    found = StoredLists(tmp_path, shown, ["any"], KEPT)
    assert len(found) == len(keys)
    for key, number in zip(keys, numbers, strict=True):
        assert key in found
        score = lists.queries.weights[lists.queries.span(number)].tolist()
        whole = [
            Completion(SHOWN[q], s, SOURCES[4])
            for q, s in zip(queries[number], score, strict=True)
            if q not in hidden
        ]
        may_go_on = len(queries[number]) == KEPT and len(whole) < k and bool(hidden or k > 10)
        assert found.find(key, k, "any", hidden) == (None if may_go_on else whole[:k])
    assert found.find("no such text \x1f", k, "any") is None


@pytest.mark.parametrize("harm", ["list_of_any", "lists.values", "lists.offsets", "source", "lines.offsets"])
def test_numbers_that_lead_outside_are_refused(harm: str, tmp_path: Path) -> None:
    shown = Strings.of(SHOWN)
    write(tmp_path, ["a", "b"], {"any": np.array([0, 1])}, _lists([[1, 2], [3]]), shown)
    array = np.load(tmp_path / f"{harm}.npy")
    array[1] = 100
    np.save(tmp_path / f"{harm}.npy", array)
    with pytest.raises(ValueError, match="found"):
        StoredLists(tmp_path, shown, ["any"], KEPT)
