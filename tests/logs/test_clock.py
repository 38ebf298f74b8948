"""The recency of searches, against the formula in plain Python."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inputs import Row, built, click, refused, write
from wayword.engines import Engine
from wayword.logs.clock import OLDEST

NEWEST = datetime(2026, 3, 1, 12, tzinfo=UTC)
ages = st.lists(st.integers(0, 5000), min_size=1, max_size=12)
SAME_ENGINE = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def recencies(engine: Engine, path: Path, times: list[Any], **config: Any) -> list[float]:
    rows: list[Row] = [click(n, search_id=f"s{n}", time=time) for n, time in enumerate(times)]
    searches, _ = built(engine, write(path / "log.parquet", rows), **config)
    return [search["recency"] for search in searches]


def before(days: float) -> str:
    return (NEWEST - timedelta(days=days)).isoformat()


def test_a_search_that_is_a_half_life_older_weighs_half(engine: Engine, tmp_path: Path) -> None:
    found = recencies(engine, tmp_path, [before(0), before(30), before(60), before(15)], half_life_days=30)
    assert found == pytest.approx([1.0, 1 / 2, 1 / 4, 2 ** -(15 / 30)], rel=1e-12)


@SAME_ENGINE
@given(days=ages, half_life=st.floats(0.5, 1000))
def test_the_recency_is_the_formula(
    engine: Engine, tmp_path: Path, days: list[int], half_life: float
) -> None:
    found = recencies(engine, tmp_path, [before(day) for day in days], half_life_days=half_life)
    expected = [2 ** -min((day - min(days)) / half_life, OLDEST) for day in days]
    assert found == pytest.approx(expected, rel=1e-9)
    assert min(found) > 0


@SAME_ENGINE
@given(days=ages, half_life=st.floats(0.5, 100), factor=st.integers(2, 9))
def test_all_ages_and_the_half_life_times_the_same_factor_change_nothing(
    engine: Engine, tmp_path: Path, days: list[int], half_life: float, factor: int
) -> None:
    once = recencies(engine, tmp_path, [before(day) for day in days], half_life_days=half_life)
    more = [before(day * factor) for day in days]
    assert recencies(engine, tmp_path, more, half_life_days=half_life * factor) == pytest.approx(once)


@SAME_ENGINE
@given(days=st.lists(st.integers(0, 300), min_size=1, max_size=12))
def test_a_long_half_life_is_none(engine: Engine, tmp_path: Path, days: list[int]) -> None:
    times = [before(day) for day in days]
    assert recencies(engine, tmp_path, times) == [1.0] * len(days)
    assert recencies(engine, tmp_path, times, half_life_days=100_000) == pytest.approx(
        [1.0] * len(days), rel=3e-3
    )


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_numbers_are_unix_times_in_the_unit_of_their_size(
    engine: Engine, tmp_path: Path, unit: float
) -> None:
    times = [(NEWEST - timedelta(days=days)).timestamp() * unit for days in (0, 3, 6)]
    found = recencies(engine, tmp_path, [int(time) for time in times], half_life_days=3)
    assert found == pytest.approx([1, 1 / 2, 1 / 4])


def test_a_half_life_needs_the_time_of_every_row(engine: Engine, tmp_path: Path) -> None:
    assert "half_life_days needs the time of every row" in refused(
        engine, tmp_path, [click(0)], half_life_days=3
    )
    rows = [click(0, time="2026-01-01"), click(1, time="yesterday")]
    message = refused(engine, tmp_path, rows, half_life_days=3)
    assert "1 times that cannot be read" in message
    assert "time='yesterday'" in message
    rows = [click(0, time=3), click(1, time=4)]
    assert (
        "the newest time is 4; with [log] half_life_days, a number is expected to be a Unix time"
        in refused(engine, tmp_path, rows, half_life_days=3)
    )
