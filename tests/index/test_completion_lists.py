"""Finished lists: written from arrays, found by text, against plain dictionaries."""

from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.completion import Completion
from wayword.errors import WorkspaceError
from wayword.index.completion_lists import Lists, StoredLists, write
from wayword.store.strings import Strings

KEPT = 13
KEYS = ["v", "vi", "vid", "vide", "viola", "über", "x" * 40]
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
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
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


def _written(folder: Path) -> Strings:
    shown = Strings.of(SHOWN)
    lists = _lists([[*range(12)], [3], [], [5, 1]])
    write(folder, KEYS, {"any": np.array([0, 1, 1, 3, 2, 3, 0])}, lists, shown)
    return shown


def test_all_keys_are_listed_and_no_others(tmp_path: Path) -> None:
    found = StoredLists(tmp_path, _written(tmp_path), ["any"], KEPT)
    assert found.keys() == sorted(KEYS)
    assert len(found) == len(KEYS)
    assert all(found.find(text, 1, "any") is None for text in ("", "vio", "video", "x" * 39, "x" * 41))


def test_keys_whose_hashes_are_equal_are_told_apart(tmp_path: Path) -> None:
    keys = ["plumless", "buckeroo"]
    assert crc32(keys[0].encode()) == crc32(keys[1].encode())
    shown = Strings.of(SHOWN)
    write(tmp_path, keys, {"any": np.array([0, 1])}, _lists([[1, 2], [3]]), shown)
    found = StoredLists(tmp_path, shown, ["any"], KEPT)
    assert [[one.query for one in found.find(key, 10, "any") or []] for key in keys] == [
        [SHOWN[1], SHOWN[2]],
        [SHOWN[3]],
    ]


def _ask_everything(folder: Path, shown: Strings) -> None:
    found = StoredLists(folder, shown, ["any"], KEPT)
    for key in KEYS:
        for k, hidden in ((3, ()), (3, {1}), (12, ())):
            found.find(key, k, "any", hidden)


@pytest.mark.parametrize(("file", "head"), [("slots_any.npy", 128), ("records_any", 0)])
def test_a_changed_byte_is_an_error_or_another_list_but_never_a_crash(
    file: str, head: int, tmp_path: Path
) -> None:
    shown = _written(tmp_path)
    whole, refused = (tmp_path / file).read_bytes(), 0
    for place in range(head, len(whole)):
        byte = (0, 0xDD, 0xFF)[place % 3]
        (tmp_path / file).write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        try:
            _ask_everything(tmp_path, shown)
        except (ValueError, WorkspaceError):
            refused += 1
    assert refused > (len(whole) - head) // 12


@pytest.mark.parametrize("file", ["slots_any.npy", "records_any"])
def test_a_cut_file_is_refused(file: str, tmp_path: Path) -> None:
    shown = _written(tmp_path)
    whole = (tmp_path / file).read_bytes()
    for size in range(0, len(whole) - 8, 8):
        (tmp_path / file).write_bytes(whole[:size])
        with pytest.raises((ValueError, WorkspaceError, EOFError)):
            _ask_everything(tmp_path, shown)
