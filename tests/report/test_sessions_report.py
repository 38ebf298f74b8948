"""What is said about typing sessions: who is better for people, for whom it does not hold, and the picture."""

import math
from typing import Any

import pytest

from wayword.evaluation.typing_sessions import MODEL, PEOPLE
from wayword.report.sessions import HEIGHT, WIDTH, picture, verdicts

Row = dict[str, Any]


def estimates(people: str, found: float, keystrokes: float) -> list[Row]:
    """Of `wayword`; `popular` finds 0.9 with 0.4 of the keystrokes."""
    values = {("wayword", "found"): found, ("wayword", "keystrokes"): keystrokes}
    values |= {("popular", "found"): 0.9, ("popular", "keystrokes"): 0.4}
    return [
        {"policy": policy, "metric": metric, "value": value, "people": people}
        for (policy, metric), value in values.items()
    ]


def gains(people: str, found: tuple[float, float], keystrokes: tuple[float, float]) -> list[Row]:
    """Intervals of `wayword` − `popular`."""
    return [
        {
            "policy": "wayword",
            "other": "popular",
            "people": people,
            "metric": metric,
            "value": (low + high) / 2,
            "low": low,
            "high": high,
        }
        for metric, (low, high) in (("found", found), ("keystrokes", keystrokes))
    ]


MORE, LESS, SAME = (0.01, 0.03), (-0.03, -0.01), (-0.01, 0.01)


@pytest.mark.parametrize(
    ("found", "keystrokes", "ratio", "said"),
    [
        (MORE, SAME, 1.0, "wayword is better."),
        (MORE, LESS, 0.9, "wayword is better."),
        (SAME, LESS, 0.9, "wayword is better."),
        (LESS, SAME, 1.0, "popular is better."),
        (SAME, MORE, 1.2, "popular is better."),
        (LESS, MORE, 1.2, "popular is better."),
        (MORE, MORE, 1.2, "one finds more, the other takes fewer keystrokes."),
        (LESS, LESS, 0.9, "one finds more, the other takes fewer keystrokes."),
        (SAME, SAME, 1.0, "no significant difference."),
        (MORE, MORE, 1.04, "wayword is better."),  # as many keystrokes, for all practical purposes
        (SAME, LESS, 0.99, "the difference in keystrokes is significant, but small."),
        (SAME, MORE, 1.03, "the difference in keystrokes is significant, but small."),
    ],
)
def test_the_verdict(
    found: tuple[float, float], keystrokes: tuple[float, float], ratio: float, said: str
) -> None:
    rows = estimates(MODEL, 0.9 + sum(found) / 2, 0.4 * ratio)
    (line,) = verdicts(rows, gains(MODEL, found, keystrokes))
    assert line.endswith(said)
    assert f"with {ratio:.2f} times the keystrokes" in line
    assert f"{found[0]:+.3f} to {found[1]:+.3f}" in line
    assert line.startswith("People who accept as the acceptance model says find ")


def test_for_whom_the_conclusion_does_not_hold() -> None:
    rows = [row for people in PEOPLE for row in estimates(people, 0.92, 0.4)]
    intervals = dict.fromkeys(PEOPLE, MORE) | {"everything": LESS, "own query only": SAME}
    lines = verdicts(rows, [row for people in PEOPLE for row in gains(people, intervals[people], SAME)])
    assert len(lines) == len(PEOPLE) + 1
    assert lines[-1] == "This conclusion does not hold for people who accept whatever they read."
    agreeing = verdicts(rows, [row for people in PEOPLE for row in gains(people, MORE, SAME)])
    assert len(agreeing) == len(PEOPLE)


def test_nothing_is_said_without_the_numbers() -> None:
    assert verdicts([], []) == []
    rows = estimates(MODEL, 0.92, 0.4)
    assert verdicts(rows, gains(MODEL, MORE, SAME)[1:]) == []


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
