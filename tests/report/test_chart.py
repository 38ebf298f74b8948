"""Marks of a chart: each is legible, however near its point is to others."""

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from wayword.report.chart import BOTTOM, HEIGHT, LEFT, RADIUS, RIGHT, TOP, WIDTH, Chart, Mark, apart

POINTS = st.tuples(st.floats(LEFT + 20, WIDTH - RIGHT - 20), st.floats(TOP + 20, HEIGHT - BOTTOM - 20))


@given(st.lists(POINTS, max_size=5))
def test_no_mark_covers_another_or_leaves_the_plot(points: list[tuple[float, float]]) -> None:
    places = apart(points)
    assert all(math.dist(*pair) >= 2 * RADIUS for pair in combinations(places, 2))
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in places)


@given(st.lists(POINTS, max_size=5))
def test_marks_that_are_far_apart_stay_at_their_points(points: list[tuple[float, float]]) -> None:
    far = all(math.dist(*pair) > 3 * RADIUS for pair in combinations(points, 2))
    assert (apart(points) == points) or not far


def test_two_equal_points_have_both_letters_beside_them() -> None:
    drawn = Chart("name", "text", "x", "y", marks=[Mark(1, 1, "p"), Mark(1, 1, "w"), Mark(9, 9, "e")])
    p, w, e = drawn.placed
    assert p.moved
    assert w.moved
    assert not e.moved
    assert p.point == w.point
    assert min(math.dist(one.place, one.point) for one in (p, w)) > RADIUS  # the point stays visible
