"""Keys of contexts: different contexts have different keys, and nothing in a value breaks them."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from wayword.index.keys import Columns

VALUES = ["", "de", "d", "e", "\0", "\x1e", "\x1f", "\x1e0", "a\0b", "a\x1fb", "日本", "x\x1e"]
value = st.sampled_from([*VALUES, None, "unknown"])


@given(st.lists(st.tuples(st.sampled_from(["a", "ab", "b"]), value, value), max_size=40))
def test_contexts_that_differ_in_what_is_known_have_different_keys(rows: list[tuple[str, str, str]]) -> None:
    columns = Columns({"shop": VALUES, "device": VALUES})
    known = {(typed, *(v if v in VALUES else None for v in values)) for typed, *values in rows}
    keys = {columns.key(typed, {"shop": shop, "device": device}) for typed, shop, device in rows}
    assert len(keys) == len(known)
    for typed, shop, device in rows:
        given = {"shop": shop, "device": device}
        said = {column: value for column, value in given.items() if value in VALUES}
        assert columns.split(columns.key(typed, given)) == (typed, said)
    assert not any("\0" in key for key in keys)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), value, value), min_size=1, max_size=20))
def test_the_logs_contexts_have_the_keys_that_they_are_asked_by(rows: list[tuple[str, str, str]]) -> None:
    columns = Columns({"shop": VALUES, "device": VALUES})
    names = ("prefix", "shop", "device", "hour")
    table = pa.table(
        {name: pa.array([(*row, "9")[n] for row in rows], pa.string()) for n, name in enumerate(names)}
    )
    logged = columns.logged(table, 1000)
    keys = columns.keys(logged)
    assert len(set(keys)) == len(keys) == logged.num_rows
    asked = {columns.key(typed, {"shop": shop, "device": device}) for typed, shop, device in rows}
    assert set(keys) == {key for key in asked if key not in ("a", "b")}
    assert columns.logged(table, 1).num_rows <= 1
