"""The theory's section: its fixed sentences stand beside the numbers, and a check that fails is said."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from wayword.paper.report.markdown import render
from wayword.report.exhibits import Figure, Section, Table

pytest.importorskip("matplotlib")

from wayword.paper.experiments.theory import Theory, section_of, theory

CHECKS = ("unbiasedness", "variance", "unbounded", "bounding", "generalization", "padding")
FAILS = "no, the check fails"


@pytest.fixture(scope="module")
def small() -> Theory:
    return theory(0, effort=0.02)


@pytest.fixture(scope="module")
def shown(small: Theory) -> Section:
    return section_of(small)


def text_of(section: Section) -> str:
    return render("t", [section])[0]


def test_every_part_has_a_figure_or_a_table_of_its_own(shown: Section) -> None:
    names = [(type(one), one.name) for one in shown.exhibits]
    assert len(set(names)) == len(names)
    assert {name for kind, name in names if kind is Table} == {f"theory-{check}" for check in CHECKS}
    assert {name for kind, name in names if kind is Figure} == {f"theory-{check}" for check in CHECKS[:-1]}


def test_tables_have_a_cell_for_every_column(shown: Section) -> None:
    for table in shown.exhibits:
        if isinstance(table, Table):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}
            assert all(0 <= row < len(table.rows) for row in table.strong)


def test_figures_are_drawings_and_every_check_holds(shown: Section) -> None:
    for figure in shown.exhibits:
        if isinstance(figure, Figure):
            assert ElementTree.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314
            assert figure.description.endswith(".")
    text = text_of(shown)
    assert FAILS not in text
    assert text.count(": **yes**") == 8


def test_the_statements_stand_beside_their_numbers(small: Theory, shown: Section) -> None:
    text = text_of(shown)
    one = small.unbiasedness
    assert f"Every mean of û meets the truth: **yes** (the largest |z| of 20 is {one.largest_z:.2f}" in text
    assert (
        f"No û is above B and no variance above its bound: **yes** (largest û {small.variance.ratio:.1f}"
        in text
    )
    assert "The variance grows with the rank without end, as B·u − u² does: **yes**" in text
    assert "The longer the log, the less of a bound it needs: **yes**" in text
    assert f"({small.generalization.rankers} in all) is found exactly" in text


@pytest.mark.parametrize(
    ("check", "change", "failing"),
    [
        ("unbiasedness", lambda c: {"z": c.z + 9}, "Every mean of û meets the truth"),
        ("variance", lambda c: {"exact": c.bound * 2 + 1}, "no variance above its bound"),
        ("unbounded", lambda c: {"exact": c.exact[::-1]}, "as B·u − u² does"),
        (
            "bounding",
            lambda c: {"searches": np.where(c.searches == 100, 10_000, 100)},
            "less of a bound it needs",
        ),
        ("generalization", lambda c: {"bound": c.excess}, "The bound holds at every n"),
        (
            "generalization",
            lambda _: {"slope": -0.1, "slope_high": 0.0},
            "Learning is no slower than promised",
        ),
        ("padding", lambda c: {"mended": c.excess / 2}, "the bound holds"),
    ],
)
def test_a_check_that_fails_is_said(
    small: Theory, check: str, change: Callable[[Any], dict[str, Any]], failing: str
) -> None:
    part = getattr(small, check)
    changed: Any = {check: replace(part, **change(part))}
    assert f"{failing}: **{FAILS}**" in text_of(section_of(replace(small, **changed)))


def test_whether_the_bound_says_anything_about_the_size_is_said(small: Theory, shown: Section) -> None:
    statement = "so that it tests the rate and not the size"
    assert f"{statement}: **yes**" in text_of(shown)
    part = small.generalization
    tight = replace(part, bound=np.full_like(part.bound, 2 * part.high.max()), best_gain=part.high.max())
    assert f"{statement}: **no**" in text_of(section_of(replace(small, generalization=tight)))


def test_where_the_theorem_is_broken_stands_in_the_text(shown: Section) -> None:
    items = [line for line in text_of(shown).splitlines() if line.startswith("* ")]
    assert len(items) == 9
    assert "the excess is above the stated bound at K = 16, 32" in items[-1]
    assert "counting those pairs, the bound holds: **yes**. (B is taken over what q̄ returns" in items[-1]
