"""Figures: text that can be read, bytes that stay the same, and cases that drawings meet sooner or later."""

import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
import sample

from wayword.paper import figures
from wayword.paper.figures import COLOURS, DASHES, MARKERS, Series
from wayword.report.exhibits import Figure, Interval

NAN = math.nan
LONG = "a policy whose name goes on and on, as if there were no end to the line on which it stands at all"
SVG = "{http://www.w3.org/2000/svg}"


def chart(*series: Series, **options: object) -> Figure:
    return figures.chart("name", series, x_title="across", y_title="up", **options)  # type: ignore[arg-type]


def points(*series: Series, **options: object) -> Figure:
    return chart(*(Series(s.name, s.x, s.y, s.low, s.high, joined=False) for s in series), **options)


def intervals(*rows: tuple[str, Interval, bool], **options: object) -> Figure:
    return figures.intervals("name", rows, x_title="across", **options)  # type: ignore[arg-type]


DRAWN: dict[str, Callable[[], Figure]] = {
    "one point": lambda: chart(Series("one", [1], [0.3])),
    "no point": lambda: chart(Series("none", [], [])),
    "no series": chart,
    "unknown ends": lambda: chart(Series("s", [1, 2, 3], [1, NAN, 2], [NAN, NAN, 1], [NAN, NAN, 3])),
    "all the same": lambda: chart(*(Series(f"policy {i}", [1, 2], [0.5, 0.5]) for i in range(8))),
    "long names": lambda: chart(*(Series(f"{i} {LONG}", [1, 2], [0.5, 0.5]) for i in range(8))),
    "one long word": lambda: chart(Series("a" * 90, [1, 2], [0.5, 0.7])),
    "zero": lambda: chart(Series("zero", [0, 0], [0, 0])),
    "zero on a log scale": lambda: chart(Series("z", [0, 1, 2], [0, 1e-8, 1e8]), x_log=True, y_log=True),
    "nothing for a log scale": lambda: chart(Series("z", [1, 2], [0, -1]), y_log=True),
    "infinite": lambda: chart(Series("i", [1, 2, 3], [math.inf, 1, 2])),
    "references": lambda: chart(Series("s", [1, 2], [1, 1]), reference={"same": 1.0, LONG: 1.0, "off": 9.0}),
    "marks in names": lambda: chart(Series("<b> & $x_1$ \\frac", [1, 2], [1, 2]), reference={"$": 1.5}),
    "another script": lambda: chart(Series("検索 ранг", [1, 2], [1, 2])),
    "many points": lambda: chart(Series("s", range(200), [i % 7 for i in range(200)])),
    "no rows": intervals,
    "a row without interval": lambda: intervals(("a", Interval(0.3, NAN, NAN), True)),
    "rows of nothing": lambda: intervals(("a", Interval(NAN, NAN, NAN), False), reference=0),
    "long rows": lambda: intervals(*((f"{i} {LONG}", Interval(1.0, 1.0, 1.0), i == 3) for i in range(8))),
    "points at one place": lambda: points(*(Series(f"s{i}", [0.5], [0.5]) for i in range(8)), diagonal=True),
    "points over decades": lambda: points(
        *(Series(f"s{i}", [10.0**-i], [3 * 10.0**-i]) for i in range(8)),
        diagonal=True,
        x_log=True,
        y_log=True,
    ),
    "no points": lambda: points(Series("s", [], []), diagonal=True),
    **{made.__name__: made for made in (sample.positions, sample.training, sample.policies, sample.truth)},
}
ALL = pytest.mark.parametrize("draw", [pytest.param(made, id=name) for name, made in DRAWN.items()])


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


@ALL
def test_whatever_is_drawn_is_an_svg_with_a_title_and_the_same_bytes_again(
    draw: Callable[[], Figure],
) -> None:
    drawn = draw()
    root = ET.fromstring(drawn.svg)  # noqa: S314
    assert root.tag == f"{SVG}svg"
    assert (root.findtext(f"{SVG}title") or "") == drawn.description
    assert texts(drawn.svg)
    assert draw() == drawn


def test_another_process_gives_the_same_bytes_whatever_its_settings() -> None:
    code = (
        "import matplotlib as m; m.rcParams.update({'font.size': 30, 'axes.grid': False, 'svg.fonttype': 'path'})\n"
        "import sample, sys; sys.stdout.write(sample.positions().svg)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert told.stdout == sample.positions().svg


def test_drawing_changes_no_settings_of_others() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    sample.positions()
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from wayword.errors import MissingExtra\nfrom wayword.paper import figures\n"
        "try: figures.chart('n', [], x_title='', y_title='')\n"
        "except MissingExtra as problem: print(problem)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert "pip install '.[report]'" in told.stdout


def test_names_stay_text() -> None:
    found = texts(DRAWN["marks in names"]().svg)
    assert "<b> & $x_1$ \\frac" in found
    assert "$" in found


def test_intervals_stand_in_numbers_beside_their_rows() -> None:
    found = texts(sample.policies().svg)
    assert "0.931 (0.919–0.942)" in found
    assert "unbiased" in found


def test_series_differ_by_more_than_colour() -> None:
    assert len(set(COLOURS)) == len(set(MARKERS)) == len(set(DASHES)) == 8
    styled = chart(Series("a", [1, 2], [1, 2], style=3)).svg
    assert COLOURS[3].lower() in styled
    assert COLOURS[0].lower() not in styled


def test_values_of_another_number_than_points_are_refused() -> None:
    with pytest.raises(ValueError, match="same first dimension"):
        chart(Series("s", [1, 2], [1]))


def test_an_axis_of_positive_numbers_starts_at_zero_or_says_that_it_does_not() -> None:
    note = "does not start at 0"
    assert note not in chart(Series("s", [1, 2], [0.1, 0.9])).svg
    assert note in chart(Series("s", [1, 2], [0.8, 0.9])).svg
    assert note not in chart(Series("s", [1, 2], [0.8, 0.9]), y_log=True).svg


def test_the_description_gives_the_values() -> None:
    assert (
        chart(Series("a", [1, 2], [0.5, 0.25]), Series("b", [1], [1])).description
        == "a: 0.500, 0.250; b: 1.000"
    )
