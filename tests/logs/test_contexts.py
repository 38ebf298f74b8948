from pathlib import Path

import numpy as np
import pyarrow as pa

from wayword.logs.contexts import MAX_CATEGORIES, ContextColumns, from_prefixes

TABLE = pa.table(
    {"prefix": ["a", "b", "c", "d"], "shop": ["x", "y", "x", None], "price": [1.0, 3.0, None, 2.0]}
)


def test_text_is_one_hot_and_numbers_are_standardised() -> None:
    columns = ContextColumns.fit(TABLE)
    assert columns.names == ["shop", "price"]
    assert columns.categories == {"shop": ["x", "y"]}
    mean, deviation = columns.scales["price"]
    assert (mean, deviation) == ((1 + 3 + 2) / 3, float(np.std([1, 3, 2])))
    expected: list[list[float]] = [
        [1, 0, (1 - mean) / deviation],
        [0, 1, (3 - mean) / deviation],
        [1, 0, 0],
        [0, 0, (2 - mean) / deviation],
    ]
    assert columns.matrix(TABLE).tolist() == np.array(expected, np.float32).tolist()
    assert columns.matrix(TABLE).shape == (4, columns.width)


def test_what_is_unknown_or_left_out_is_zeros() -> None:
    columns = ContextColumns.fit(TABLE)
    assert not columns.matrix(from_prefixes(["a", "b"])).any()
    other = pa.table({"prefix": ["a"], "shop": ["never seen"], "price": pa.array([None], pa.float64())})
    assert not columns.matrix(other).any()


def test_a_constant_and_an_empty_column_do_no_harm() -> None:
    table = pa.table({"prefix": ["a", "b"], "same": [5.0, 5.0], "none": pa.array([None, None], pa.float64())})
    assert np.isfinite(ContextColumns.fit(table).matrix(table)).all()
    assert not ContextColumns.fit(table).matrix(table).any()


def test_the_most_frequent_values_are_known_ties_by_text() -> None:
    values = [f"v{n:03}" for n in range(MAX_CATEGORIES + 1)] + ["v256"]
    table = pa.table({"prefix": values, "c": values})
    assert ContextColumns.fit(table).categories["c"] == ["v256", *values[: MAX_CATEGORIES - 1]]


def test_saved_columns_read_back_equal(tmp_path: Path) -> None:
    table = TABLE.append_column('my "列"', pa.array(["é", "ü", "\n", "'"]))
    columns = ContextColumns.fit(table)
    columns.save(tmp_path / "columns.json")
    assert ContextColumns.load(tmp_path / "columns.json") == columns
