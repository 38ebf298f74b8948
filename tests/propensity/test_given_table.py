from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inputs import Row, write
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.propensity.given_table import GivenTable
from wayword.store.input_file import InputFile

CURVE: list[Row] = [{"rank": k, "p": 4 / k**0.5} for k in (1, 2, 4, 8)]


def read(engine: Engine, path: Path, rows: list[Row]) -> GivenTable:
    return GivenTable.read(engine, InputFile(write(path, rows)))


def p_at(table: GivenTable, *ranks: int) -> list[float]:
    return [float(p) for p in table.at(np.array(ranks))["p"].to_pylist()]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_p_is_scaled_so_that_rank_1_has_1(engine: Engine, tmp_path: Path, suffix: str) -> None:
    table = read(engine, tmp_path / f"p.{suffix}", CURVE[::-1])
    assert p_at(table, 1, 2, 4, 8) == pytest.approx([1, 2**-0.5, 1 / 2, 8**-0.5], rel=1e-12)
    assert not table.has_interval
    assert table.at(np.arange(1, 20))["low"].equals(table.at(np.arange(1, 20))["high"])


def test_ranks_that_the_table_lacks_have_the_law_beyond_it_and_are_interpolated_within(
    engine: Engine, tmp_path: Path
) -> None:
    rows: list[Row] = [{"rank": 1, "p": 1}, {"rank": 2, "p": 0.9}, {"rank": 8, "p": 0.1}]
    table = read(engine, tmp_path / "p.csv", rows)
    middle, beyond = p_at(table, 4, 16)
    assert middle == pytest.approx((0.9 * 0.1) ** 0.5)  # log p is linear in log rank
    assert beyond < 0.1
    law = read(engine, tmp_path / "law.csv", CURVE)
    assert p_at(law, 3, 16, 100) == pytest.approx([3**-0.5, 16**-0.5, 100**-0.5])
    assert law.law.alpha == pytest.approx(0.5)


def test_intervals_are_scaled_too_and_widen_beyond_the_table(engine: Engine, tmp_path: Path) -> None:
    rows: list[Row] = [{"rank": k, "p": 2 / k, "low": 1.5 / k, "high": 3 / k} for k in range(2, 11)]
    rows = [{"rank": 1, "p": 2, "low": 2, "high": 2}, *rows]
    found = read(engine, tmp_path / "p.parquet", rows).at(np.array([1, 2, 50])).to_pylist()
    assert found[0] == {"rank": 1, "p": 1.0, "low": 1.0, "high": 1.0}
    assert found[1] == pytest.approx({"rank": 2, "p": 1 / 2, "low": 0.75 / 2, "high": 1.5 / 2})
    assert 0 < found[2]["low"] < found[2]["p"] < found[2]["high"]


def test_where_p_rises_is_known_and_not_refused(engine: Engine, tmp_path: Path) -> None:
    rows = [{"rank": k, "p": p} for k, p in enumerate((1, 0.5, 0.6, 0.4, 0.45), start=1)]
    assert read(engine, tmp_path / "p.csv", rows).rises.tolist() == [3, 5]


@given(
    st.dictionaries(st.integers(1, 60), st.floats(1e-6, 1e6), min_size=1, max_size=8),
    st.floats(1e-3, 1e3),
    st.lists(st.integers(1, 200), min_size=1, unique=True),
)
def test_scaling_changes_nothing_and_known_ranks_keep_their_ratio(
    p: dict[int, float], scale: float, asked: list[int]
) -> None:
    p = {1: 1.0, 2: 0.5} | p
    known = np.array(sorted(p))
    values = np.array([p[rank] for rank in sorted(p)])
    table, scaled = (GivenTable.of(known, *[values * by] * 3) for by in (1.0, scale))
    ranks = np.array(sorted(asked))
    one, other = (each.at(ranks)["p"].to_numpy() for each in (table, scaled))
    assert np.allclose(one, other, rtol=1e-6)
    assert np.all(one > 0)
    assert table.at(known)["p"].to_numpy() == pytest.approx(values / p[1])


BAD: list[tuple[list[Row], str]] = [
    (
        [{"rank": 1, "p": 1}, {"rank": 2, "p": 0}],
        r"found a p that is not a finite number above 0 \(1 in all\)",
    ),
    ([{"rank": 1, "p": 1}, {"rank": 2, "p": "high"}], "found a p that is not a finite number"),
    ([{"rank": 1, "p": 1}, {"rank": 2, "p": float("inf")}], "found a p that is not a finite number"),
    ([{"rank": 1, "p": 1}, {"rank": 2, "p": float("nan")}], "found a p that is not a finite number"),
    ([{"rank": 1, "p": 1}, {"rank": 1, "p": 0.5}], "found a rank with two values of p"),
    ([{"rank": 0, "p": 1}, {"rank": 1, "p": 0.5}], "found a rank that is not a whole number from 1 up"),
    ([{"rank": 2, "p": 1}, {"rank": 3, "p": 0.5}], "has the ranks 2, 3; expected rank 1"),
    ([{"rank": 1, "p": 1}], "has the ranks 1; expected rank 1, which is the unit of p, and others"),
    ([{"rank": 1}], "lacks the column p"),
    (
        [{"rank": k, "p": float(k)} for k in (1, 2, 4)],
        r"rises with the rank, from 1 at rank 1 to 4 at rank 4 \(relative to rank 1\); expected .* not its inverse",
    ),
    ([{"rank": 1, "p": 1, "low": 1}], "lacks the column high"),
    (
        [{"rank": 1, "p": 1, "low": 1, "high": 1}, {"rank": 2, "p": 0.5, "low": 0.6, "high": 0.7}],
        "found an interval that does not contain its p",
    ),
]


@pytest.mark.parametrize(("rows", "said"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_a_table_that_cannot_be_used_is_refused_with_the_reason(
    engine: Engine, tmp_path: Path, rows: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(LogError, match=said):
        read(engine, tmp_path / "p.csv", rows)
