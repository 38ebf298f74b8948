"""Affinity: factors of context values, against counting."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.completion import context_affinity as affinity
from wayword.completion.context_affinity import Affinity

SHOPS = ("north", "south", "west")


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(SHOPS), st.integers(0, 2)), min_size=3, max_size=30),
    strength=st.sampled_from([0.5, 3.0, 30.0]),
)
def test_factors_are_ratios_of_shares_shrunk_to_one(rows: list[tuple[str, int]], strength: float) -> None:
    contexts = pa.table({"shop": [shop for shop, _ in rows]})
    owner = np.array([o for _, o in rows])
    fitted = Affinity.fit(contexts, owner, 3, strength)
    if not fitted.values:  # a column of one value has no factors
        assert len({shop for shop, _ in rows}) == 1
        return
    assert set(fitted.values["shop"]) == {shop for shop, _ in rows}
    for place, shop in enumerate(fitted.values["shop"]):
        share = sum(s == shop for s, _ in rows) / len(rows)
        for o in range(3):
            here, everywhere = sum(r == (shop, o) for r in rows), sum(r[1] == o for r in rows)
            expected = (here + strength * share) / (everywhere + strength) / share
            assert fitted.factors["shop"][place, o] == pytest.approx(expected, rel=1e-5)
    assert fitted.factors["shop"][-1].tolist() == [1.0, 1.0, 1.0]


def test_columns_multiply_and_what_is_unknown_says_nothing() -> None:
    fitted = Affinity(
        {"shop": ["north"], "device": ["phone"]},
        {
            "shop": np.array([[2.0, 0.5], [1, 1]], np.float32),
            "device": np.array([[3.0, 1.0], [1, 1]], np.float32),
        },
    )
    contexts = pa.table(
        {
            "prefix": ["a"] * 4,
            "shop": pa.array(["north", "north", None, "moon"], pa.string()),
            "device": ["phone", "desk", "phone", "desk"],
        }
    )
    factor, row = fitted.rows(contexts)
    assert factor[row].tolist() == [[6.0, 0.5], [2.0, 0.5], [3.0, 1.0], [1.0, 1.0]]
    factor, row = fitted.rows(pa.table({"prefix": ["a"], "shop": ["north"]}))
    assert factor[row].tolist() == [[2.0, 0.5]]


def test_numbers_are_no_categories() -> None:
    fitted = Affinity.fit(pa.table({"hour": [1.0, 2.0, 3.0]}), np.array([0, 1, 0]), 2, 3.0)
    assert fitted.values == {}
    factor, row = fitted.rows(pa.table({"hour": [1.0, 2.0]}))
    assert (len(factor), row.tolist()) == (0, [-1, -1])


def test_no_more_factors_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most frequent values are kept."""
    monkeypatch.setattr(affinity, "LARGEST", 4)
    shops = ["north"] * 5 + ["south"] * 4 + ["west"]
    fitted = Affinity.fit(pa.table({"shop": shops}), np.zeros(10, np.int64), 2, 1.0)
    assert sorted(fitted.values["shop"]) == ["north", "south"]
    assert fitted.factors["shop"].shape == (3, 2)
