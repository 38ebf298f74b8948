"""The theory's section: its sentences follow from the numbers, also when these say no."""

from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from wayword.reproduction.report.exhibits import Figure, Section, Table, Text
from wayword.reproduction.theory import Theory, theory

pytest.importorskip("matplotlib")

from wayword.reproduction.experiments import theory_figures as drawn
from wayword.reproduction.experiments.theory import section


@pytest.fixture(scope="module")
def small() -> Theory:
    return theory(0, effort=0.02)


@pytest.fixture(scope="module")
def shown(small: Theory) -> Section:
    return section(small)


def test_every_part_has_a_figure_or_a_table_of_its_own(shown: Section) -> None:
    names = Counter((type(e), e.name) for e in shown.exhibits if not isinstance(e, Text))
    assert max(names.values()) == 1
    assert {name for kind, name in names if kind is Table} == {
        f"theory-{part}"
        for part in ("unbiasedness", "variance", "unbounded", "bounding", "generalization", "padding")
    }
    assert sum(kind is Figure for kind, _ in names) == 5


def test_tables_have_a_cell_for_every_column(shown: Section) -> None:
    for table in shown.exhibits:
        if isinstance(table, Table):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}
            assert all(0 <= row < len(table.rows) for row in table.strong)


def test_figures_are_drawings_with_one_sentence(shown: Section) -> None:
    for figure in shown.exhibits:
        if isinstance(figure, Figure):
            assert ElementTree.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314
            assert figure.conclusion.endswith(".")
            assert "fails" not in figure.conclusion


def test_a_check_that_fails_is_said(small: Theory) -> None:
    one = small.unbiasedness
    assert "fails" in drawn.unbiasedness_conclusion(replace(one, z=one.z + 9))
    two = small.variance
    assert "fails" in drawn.variance_conclusion(replace(two, exact=two.bound * 2 + 1))
    three = small.unbounded
    assert "fails" in drawn.unbounded_conclusion(replace(three, exact=three.exact[::-1]))
    four = small.bounding
    turned = np.where(four.searches == 100, 10_000, 100)
    assert "Not as expected" in drawn.bounding_conclusion(replace(four, searches=turned))
    five = small.generalization
    assert "fails" in drawn.generalization_conclusion(replace(five, bound=five.excess))
    slow = replace(five, slope=-0.1, slope_low=-0.2, slope_high=0.0)
    assert "not shown to be as fast as" in drawn.generalization_conclusion(slow)
    assert "It says nothing about the size here" in drawn.generalization_conclusion(five)
    tight = replace(five, bound=np.full_like(five.bound, 2 * five.high.max()), best_gain=five.high.max())
    assert "It says nothing" not in drawn.generalization_conclusion(tight)


def test_where_the_theorem_is_broken_stands_in_the_text(shown: Section) -> None:
    items = [e.text for e in shown.exhibits if isinstance(e, Text) and e.kind == "item"]
    assert len(items) == 9
    assert "K = 16, 32 the excess is above the stated bound" in items[-1]
    assert "the bound holds. (B is taken over what q̄ returns" in items[-1]
