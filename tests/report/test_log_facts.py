"""Facts about the log that are taken from tables."""

import pyarrow as pa
import pytest

from wayword.engines import Engine
from wayword.report.log_facts import days, shown_so


@pytest.mark.parametrize(
    "times", [["2025-03-03 16:47:45.901+00", "2024-12-10T00:01:29Z"], ["1741020465901", "1733788889000"]]
)
def test_the_first_and_the_last_day(engine: Engine, times: list[str]) -> None:
    engine.load("numbered_searches", pa.table({"time_text": [*times, None]}))
    assert days(engine) == ("2024-12-10", "2025-03-03")


def test_a_log_without_times_has_no_days(engine: Engine) -> None:
    engine.load("numbered_searches", pa.table({"time_text": pa.nulls(2, pa.string())}))
    assert days(engine) is None


def test_impressions_confirm_the_rank_of_a_click(engine: Engine) -> None:
    """Three clicks on document 7, which the rankings have at rank 2: two at rank 1, where one search showed it."""
    engine.load("numbered_searches", pa.table({"search": [0, 1, 2], "query": [5, 5, 5]}))
    engine.load("numbered_clicks", pa.table({"search": [0, 1, 2], "document": [7, 7, 7], "rank": [1, 1, 2]}))
    engine.load("rankings", pa.table({"query": [5], "document": [7], "rank": [2]}))
    shown = pa.table({"search": [0, 1, 2], "document": [7, 7, 7], "rank": [1, 2, 2]})
    engine.load("numbered_impressions", shown)
    assert shown_so(engine) == 1
