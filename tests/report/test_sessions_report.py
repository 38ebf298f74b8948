"""The picture of found against keystrokes."""

import math
from typing import Any

import pytest

from wayword.evaluation.typing_sessions import MODEL
from wayword.report.sessions import HEIGHT, WIDTH, picture

Row = dict[str, Any]


def estimates(people: str, found: float, keystrokes: float) -> list[Row]:
    """Of `wayword`; `popular` finds 0.9 with 0.4 of the keystrokes."""
    values = {("wayword", "found"): found, ("wayword", "keystrokes"): keystrokes}
    values |= {("popular", "found"): 0.9, ("popular", "keystrokes"): 0.4}
    return [
        {"policy": policy, "metric": metric, "value": value, "people": people}
        for (policy, metric), value in values.items()
    ]


def curve(*points: tuple[float, float, float]) -> list[Row]:
    return [{"keystroke_value": v, "keystrokes": x, "found": y} for v, x, y in points]


def test_the_picture_has_every_policy_and_the_curve() -> None:
    drawn = picture(curve((0.1, 0.6, 0.99), (3.2, 0.2, 0.8)), estimates(MODEL, 0.95, 0.41))
    title, *lines = drawn.splitlines()
    assert title.endswith("from 3.2 (left) to 0.1; w wayword, p popular")
    body = "\n".join(lines[:HEIGHT])
    assert body.count("·") == 2
    assert body.count("w") == body.count("p") == 1
    assert all(len(line) == len(lines[0]) for line in lines[:HEIGHT])
    assert len(lines[0].split("│")[1]) == WIDTH
    rows = {mark: n for n, line in enumerate(lines[:HEIGHT]) for mark in "wp" if mark in line}
    assert rows["w"] < rows["p"]  # wayword finds more


@pytest.mark.parametrize(
    ("points", "rows"),
    [
        (curve((1.0, 0.5, 0.9)), []),
        ([], estimates(MODEL, 0.9, 0.4)[:2]),
        (curve((1.0, math.nan, 0.9), (2.0, 0.5, math.inf)), estimates(MODEL, math.nan, 0.4)),
        (curve((1.0, 0.5, 0.9), (2.0, 0.5, 0.9)), estimates(MODEL, 0.9, 0.4)),
    ],
)
def test_one_point_and_unknown_numbers_are_drawn(points: list[Row], rows: list[Row]) -> None:
    assert len(picture(points, rows).splitlines()) == HEIGHT + 3


def test_without_a_point_there_is_no_picture() -> None:
    assert picture([], []) == ""
    assert picture(curve((1.0, math.nan, math.nan)), []) == ""


def test_without_a_click_there_is_a_picture_of_the_curve_only() -> None:
    rows = [row for row in estimates(MODEL, 0.9, 0.4) if row["metric"] == "keystrokes"]
    assert picture(curve((1.0, 0.5, 0.0)), rows)
