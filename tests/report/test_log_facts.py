"""Facts about the log that are taken from tables."""

import pyarrow as pa
import pytest

from wayword.engines import Engine
from wayword.report.log_facts import days, shown_so, withheld


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


def test_searches_that_the_limits_of_the_index_concern_are_counted(engine: Engine) -> None:
    """Query 1 has three searches of two users, query 2 has two of one, query 3 one of an unknown user."""
    table = pa.table({"query": [1, 1, 1, 2, 2, 3], "user_id": ["a", "b", "b", "a", "a", None]})
    engine.load("numbered_searches", table)
    assert withheld(engine, min_searches=0, min_users=0) == {}
    assert withheld(engine, min_searches=3, min_users=2) == {"min_searches": 3, "min_users": 3}
    engine.load("numbered_searches", table.set_column(1, "user_id", pa.nulls(6, pa.string())))
    assert withheld(engine, min_searches=2, min_users=9) == {"min_searches": 1}  # without users nobody is few
