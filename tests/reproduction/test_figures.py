"""Figures: text that can be read, bytes that stay the same, and cases that drawings meet sooner or later."""

import itertools
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
import sample
from hypothesis import given
from hypothesis import strategies as st

from wayword.reproduction import figures
from wayword.reproduction.figures import Series
from wayword.reproduction.figures.labels import Box, place, spread
from wayword.reproduction.figures.scale import scale
from wayword.reproduction.figures.series import COLOURS, DASHES, MARKERS, looks
from wayword.reproduction.figures.sheet import WIDTH, width, wrap
from wayword.reproduction.report.exhibits import Interval

NAN = math.nan
LONG = "a policy whose name goes on and on, as if there were no end to the line on which it stands at all"
SVG = "{http://www.w3.org/2000/svg}"


def lines(*series: Series, **options: object) -> str:
    return figures.lines("name", series, x_title="across", y_title="up", description="d", **options)  # type: ignore[arg-type]


def points(*series: Series, **options: object) -> str:
    return figures.points("name", series, x_title="across", y_title="up", description="d", **options)  # type: ignore[arg-type]


def intervals(*rows: tuple[str, Interval, bool], **options: object) -> str:
    return figures.intervals("name", rows, x_title="across", description="d", **options)  # type: ignore[arg-type]


HARD: dict[str, Callable[[], str]] = {
    "one point": lambda: lines(Series("one", [1], [0.3])),
    "no point": lambda: lines(Series("none", [], [])),
    "no series": lines,
    "unknown ends": lambda: lines(Series("s", [1, 2, 3], [1, None, 2], [None, NAN, 1], [NAN, None, 3])),
    "all the same": lambda: lines(*(Series(f"policy {i}", [1, 2], [0.5, 0.5]) for i in range(8))),
    "long names": lambda: lines(*(Series(f"{i} {LONG}", [1, 2], [0.5, 0.5]) for i in range(8))),
    "one long word": lambda: lines(Series("a" * 90, [1, 2], [0.5, 0.7])),
    "tiny": lambda: lines(*(Series(f"s{i}", [1, 2], [1e-250 * (i + 1), 2e-250]) for i in range(8))),
    "huge": lambda: lines(Series("big", [1e6, 2e6], [1e300, -3e300])),
    "zero": lambda: lines(Series("zero", [0, 0], [0, 0])),
    "zero on a log scale": lambda: lines(Series("z", [0, 1, 2], [0, 1e-8, 1e8]), x_log=True, y_log=True),
    "nothing for a log scale": lambda: lines(Series("z", [1, 2], [0, -1]), y_log=True),
    "infinite": lambda: lines(Series("i", [1, 2, 3], [math.inf, 1, 2])),
    "references": lambda: lines(Series("s", [1, 2], [1, 1]), reference={"same": 1.0, LONG: 1.0, "off": 9.0}),
    "marks in names": lambda: lines(Series("<b> & $x_1$ \\frac", [1, 2], [1, 2]), reference={"$": 1.5}),
    "another script": lambda: lines(Series("検索 ранг", [1, 2], [1, 2])),
    "many points": lambda: lines(Series("s", range(200), [i % 7 for i in range(200)])),
    "cramped ticks": lambda: lines(Series("s", range(1, 60), range(1, 60)), x_ticks=list(range(1, 60))),
    "no rows": intervals,
    "a row without interval": lambda: intervals(("a", Interval(0.3, NAN, NAN), True)),
    "rows of nothing": lambda: intervals(("a", Interval(NAN, NAN, NAN), False), reference=0),
    "long rows": lambda: intervals(*((f"{i} {LONG}", Interval(1.0, 1.0, 1.0), i == 3) for i in range(8))),
    "tiny rows": lambda: intervals(
        ("a", Interval(1e-9, -1e-9, 3e-9), False), reference={"none": 0.0}, sign=True
    ),
    "long reference": lambda: intervals(("a", Interval(1, 0, 2), False), reference={"far to the left": 0.0}),
    "eight points at one place": lambda: points(
        *(Series(f"estimator {i}", [0.5], [0.5]) for i in range(8)), diagonal=True
    ),
    "points in a row": lambda: points(*(Series(LONG, [10.0**i], [1.0]) for i in range(8)), x_log=True),
    "points over decades": lambda: points(
        *(Series(f"s{i}", [10.0**-i], [3 * 10.0**-i]) for i in range(8)),
        diagonal=True,
        x_log=True,
        y_log=True,
    ),
    "a curve of one point": lambda: points(Series("s", [1], [1]), curve=Series("curve", [1], [1])),
    "no points": lambda: points(Series("s", [], []), curve=Series("curve", [], [])),
    "clouds": lambda: points(*(Series(f"s{j}", range(30), [i * j for i in range(30)]) for j in range(4))),
}
SAMPLES: dict[str, Callable[[], str]] = {
    made.__name__: made
    for made in (
        *(sample.positions, sample.training, sample.theory, sample.policies),
        *(sample.gains, sample.dial, sample.truth),
    )
}
ALL = pytest.mark.parametrize(
    "draw", [pytest.param(made, id=name) for name, made in (HARD | SAMPLES).items()]
)


def texts(svg: str) -> list[tuple[str, float, Box]]:
    """Every text of a drawing with its size and the box that it takes at most."""
    found = []
    for text in ET.fromstring(svg).iter(f"{SVG}text"):  # noqa: S314
        style = text.attrib["style"]
        (size,) = re.findall(r"([\d.]+)px", style)
        words = "".join(text.itertext())
        wide = width(words, float(size), bold="700" in style)
        share = 1.0 if "anchor: end" in style else 0.5 if "anchor: middle" in style else 0.0
        left = float(text.attrib["x"]) - share * wide
        box = Box(left, float(text.attrib["y"]) - 0.75 * float(size), wide, 0.95 * float(size))
        found.append((words, float(size), box))
    return found


@ALL
def test_no_text_lies_over_another_or_is_cut_off(draw: Callable[[], str]) -> None:
    svg = draw()
    found = texts(svg)
    height = float(ET.fromstring(svg).attrib["height"])  # noqa: S314
    for (one, _, a), (two, _, b) in itertools.combinations(found, 2):
        assert a.overlap(b) == 0, (one, two)
    for words, size, box in found:
        assert size >= 11
        assert box.outside(Box(0, 0, WIDTH, height)) <= 1, words


@ALL
def test_a_drawing_fits_into_a_page(draw: Callable[[], str]) -> None:
    svg = draw()
    root = ET.fromstring(svg)  # noqa: S314
    assert svg.startswith("<svg ")
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == root.findtext(f"{SVG}title")
    assert root.find(f".//{SVG}style") is None
    ids = [one.attrib["id"] for one in root.iter() if "id" in one.attrib]
    assert len(set(ids)) == len(ids)
    assert all(re.match(r"figure-[a-z]+\.", one) for one in ids)
    used = re.findall(r'xlink:href="#([^"]+)"|url\(#([^)]+)\)', svg)
    assert {one or two for one, two in used} <= set(ids)
    assert set(re.findall(r"https?://[^\"]+", svg)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }


@ALL
def test_the_same_values_give_the_same_bytes(draw: Callable[[], str]) -> None:
    assert draw() == draw()


def test_another_process_gives_the_same_bytes_whatever_its_settings() -> None:
    code = (
        "import matplotlib as m; m.rcParams.update({'font.size': 30, 'axes.grid': False, 'svg.fonttype': 'path'})\n"
        "import sample, sys; sys.stdout.write(sample.positions())\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert told.stdout == sample.positions()


def test_drawing_changes_no_settings_of_others() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    sample.positions()
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from wayword.errors import MissingExtra\nfrom wayword.reproduction import figures\n"
        "try: figures.lines('n', [], x_title='', y_title='', description='')\n"
        "except MissingExtra as problem: print(problem)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert "pip install 'wayword[report]'" in told.stdout


def test_names_stay_text() -> None:
    found = [words for words, _, _ in texts(HARD["marks in names"]())]
    assert "<b> & $x_1$ \\frac" in found
    assert "$" in found


def test_series_differ_by_more_than_colour() -> None:
    assert len(set(COLOURS)) == len(set(MARKERS)) == len(set(DASHES)) == 8
    styled = looks([Series("a", [], [], style=3), Series("b", [], [])])
    assert [look.marker for _, look in styled] == [MARKERS[3], MARKERS[1]]


def test_values_of_another_number_than_points_are_refused() -> None:
    with pytest.raises(ValueError, match="'s': found 1 values for 2 points"):
        Series("s", [1, 2], [1])


def test_an_axis_of_positive_numbers_starts_at_zero_or_says_that_it_does_not() -> None:
    note = "does not start at 0"
    assert note not in lines(Series("s", [1, 2], [0.1, 0.9]))
    assert note in lines(Series("s", [1, 2], [0.8, 0.9]))
    assert note not in lines(Series("s", [1, 2], [0.8, 0.9]), y_log=True)


numbers = st.floats(-1e12, 1e12).filter(lambda value: value == 0 or abs(value) > 1e-12)


@given(st.lists(numbers, min_size=1), st.booleans(), st.booleans())
def test_a_scale_holds_every_value_and_names_few_ticks_apart(
    values: list[float], log: bool, zero: bool
) -> None:
    found = scale(values, log=log, zero=zero)
    drawn = [value for value in values if not found.log or value > 0]
    assert found.low < found.high
    assert all(found.low <= value <= found.high for value in drawn)
    assert len(found.ticks) <= 7
    assert len(set(found.labels)) == len(found.labels)


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(1, 40)), max_size=8))
def test_spread_labels_keep_apart_in_order_and_inside(wanted: list[tuple[float, float]]) -> None:
    at, sizes = [a for a, _ in wanted], [size for _, size in wanted]
    found = spread(at, sizes, 0, 320)
    order = sorted(range(len(at)), key=lambda index: at[index])
    for before, after in itertools.pairwise(order):
        assert found[after] - found[before] >= (sizes[before] + sizes[after]) / 2 - 1e-6
    assert all(
        size / 2 - 1e-6 <= middle <= 320 - size / 2 + 1e-6 for middle, size in zip(found, sizes, strict=True)
    )


def test_spread_labels_stay_where_there_is_room() -> None:
    assert spread([30, 10, 50], [15, 15, 15], 0, 100) == [30, 10, 50]


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=8))
def test_placed_labels_keep_apart_and_inside(at: list[tuple[float, float]]) -> None:
    bounds = Box(0, 0, 400, 300)
    boxes = [box for _, box in place([[point] for point in at], [(60, 16)] * len(at), [], bounds)]
    assert all(box.outside(bounds) == 0 for box in boxes)
    assert all(a.overlap(b) == 0 for a, b in itertools.combinations(boxes, 2))


@given(st.text(max_size=60), st.booleans())
def test_wrapped_lines_fit(text: str, bold: bool) -> None:
    found = wrap(text, 120, bold=bold)
    assert 1 <= len(found) <= 3
    assert all(width(line, bold=bold) <= 120 for line in found)
